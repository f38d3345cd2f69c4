"""`gatehouse check`: configuration and sidecar entries in files, with every fault at its line.

Exit codes: 0 fine, 1 faults (with --strict: also doubts), 2 wrong use.
"""

from __future__ import annotations

import argparse
import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from controllers.checking.files import Report, check
from controllers.checking.remarks import Remark
from controllers.cli.offline import STDIN, add_namespace_flag, read_source, shown
from controllers.cli.text import RED, YELLOW, painted, visible, wants_colour
from controllers.cli.usage import UsageError
from controllers.config.flags import add_config_flag
from controllers.local.cluster import SUFFIXES
from controllers.wording import count, one_line

EXAMPLES: Final = """\
examples:
  gatehouse check examples/sidecars
                     every configuration and sidecar ConfigMap below that folder
  gatehouse check --config gatehouse.yaml sidecars.yaml
                     the entries, for a process with that configuration
  kubectl get configmaps -A -o yaml | gatehouse check -
                     what is in a cluster: the installation's configuration, and entries; other ConfigMaps are passed over
  gatehouse check --strict -o json manifests/ | jq -r '.[].message'

rules and controllers of plug-ins are imported and their settings read, but not built: that needs a cluster, as files for
gatehouse review --local DIR

exit codes: 0 fine, 1 faults (with --strict: also warnings), 2 wrong use
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's flags."""
    parser.add_argument("files", nargs="+", metavar="FILE|DIR", help="YAML or JSON, several documents or a List; - reads stdin")
    add_config_flag(parser)
    add_namespace_flag(parser)
    parser.add_argument("--strict", action="store_true", help="warnings are faults")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="json: a list of faults and warnings")


def run(options: argparse.Namespace) -> int:
    """Check every file and print what is wrong; the exit code says whether anything is. Raises UsageError."""
    names, unread = list[str](), list[Remark]()
    for file in options.files:
        for name, fault in _expanded(file):
            if fault:
                unread.append(Remark(name, 1, 1, "", fault))
            else:
                names.append(name)
    obstacles = len(unread)
    if options.config and not any(_is_same(options.config, name) for name in names):
        names.insert(0, options.config)
    config = next((name for name in names if options.config and _is_same(options.config, name)), "")
    report = check(((shown(name), read_source(name)) for name in names), options.namespace, shown(config))
    named = {shown(file) for file in options.files}
    unread += (Remark(name, 1, 1, "", "is empty: there is nothing to check") for name in report.empty if name in named)
    remarks = tuple(sorted((*report.remarks, *unread)))
    report = attrs.evolve(report, remarks=remarks, files=report.files + obstacles)
    if options.output == "json":
        print(json.dumps([_json(remark) for remark in report.remarks]))
    else:
        _print(report, wants_colour(sys.stdout))
    return 1 if report.faults or (options.strict and report.warnings) else 0


def _expanded(file: str) -> Iterator[tuple[str, str]]:
    """*file*, or the files below it that may hold objects, in the order of their paths; hidden ones are left out.

    With why one below a folder cannot be read, or "". A pipe that is named itself is meant: `check <(kubectl get …)`.
    """
    if file == STDIN or not os.path.isdir(file):
        yield file, ""
        return
    found = False
    for place, folders, names in os.walk(file):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and name.lower().endswith(SUFFIXES):
                found = True
                path = Path(place, name)
                yield str(path), _obstacle(path)
    if not found:
        raise UsageError(f"{file}: no file below it ends in {', '.join(SUFFIXES)}")


def _obstacle(path: Path) -> str:
    """Why *path* cannot be read; "" when it can. Reading a pipe would wait for ever, and a link may lead nowhere."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return "not a regular file"
        path.open("rb").close()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return ""


def _is_same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _print(report: Report, colour: bool) -> None:
    for remark in report.remarks:
        print(painted(visible(one_line(str(remark))), YELLOW if remark.is_warning else RED, colour))
    print(
        f"{count(report.files, 'file')}: {count(report.configurations, 'configuration')}, "
        f"{count(report.entries, 'entry', 'entries')} in {count(report.config_maps, 'sidecar ConfigMap')}; "
        f"{count(len(report.faults), 'fault')}, {count(len(report.warnings), 'warning')}; "
        f"{count(report.passed_over, 'other object')} passed over"
    )


def _json(remark: Remark) -> dict[str, str | int]:
    found: dict[str, str | int] = attrs.asdict(remark)
    return {"severity": "warning" if found.pop("is_warning") else "fault", **found}
