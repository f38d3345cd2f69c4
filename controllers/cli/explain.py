"""`gatehouse explain`: what every rule would answer about an object, why, and what would change it.

Decided by the services of the registry, as the server would: over files, over a live cluster, or by a running replica with what
that one believes. Exit codes: 0 nothing would be refused, 1 refused, undecided, in conflict or not answered, 2 wrong use.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Final

from controllers.cli import pages
from controllers.cli.explain_sources import Source, source_of
from controllers.cli.explain_targets import KINDS, Wanted, kind_word
from controllers.cli.offline import add_namespace_flag, add_offline_flags
from controllers.cli.text import BOLD, GREEN, RED, YELLOW, painted, visible, wants_colour
from controllers.cli.usage import UsageError
from controllers.explaining.explainer import Explanation, Query, Tone, Unknown
from controllers.wording import one_line
from webhook.admission.review import User
from webhook.errors import MalformedObject
from webhook.names import PROJECT

EXAMPLES: Final = """\
examples:
  gatehouse explain pod examples/sidecars/pod.yaml --local examples/sidecars --config examples/sidecars/gatehouse.yaml
                     who asks, which entries, what changes, what would refuse it, and what would change that
  gatehouse explain node edge-1 --local examples/edge-health --config examples/edge-health/gatehouse.yaml
                     its vote, its guard, and what becomes of its taint; a name is looked up in the files
  gatehouse explain node edge-7
                     the same of the live cluster, with your own kubeconfig; nothing is written
  gatehouse explain node edge-7 --from-replica
                     what a running replica believes: kubectl -n kube-system port-forward deploy/gatehouse 8080
  gatehouse explain endpoint shop/web --local examples/edge-health
                     a Service's Endpoints and EndpointSlices, address by address
  gatehouse explain deployment shop/web --as jane --as-group developers
                     a workload of any kind, applied by somebody
  gatehouse explain address 10.20.0.7            whose it is, why, and what comes next
  kubectl get pod web -o yaml | gatehouse explain pod - --local cluster/ -o json | jq .advice

where facts come from:
  --local DIR        files that stand for the cluster
  --kubeconfig FILE  the cluster, read live with your own rights; what is given by name and not in files is read so anyway
  --from-replica     a running replica: its configuration, its caches, its memory

exit codes: 0 nothing would be refused, 1 refused, undecided, in conflict or not answered, 2 wrong use
"""

_TONES: Final = {Tone.GOOD: GREEN, Tone.DOUBTFUL: YELLOW, Tone.BAD: RED}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's flags."""
    # The choices are for completion: `kind_word` takes what manifests and kubectl write, too.
    words = f"one of {', '.join(KINDS)}; as kubectl writes them, too: deploy, pods, sts"
    parser.add_argument("what", type=kind_word, choices=tuple(KINDS), metavar="KIND", help=words)
    parser.add_argument(
        "targets",
        nargs="+",
        metavar="FILE|[NAMESPACE/]NAME",
        help="objects in a file (- reads stdin), or names; addresses",
    )
    add_offline_flags(parser)
    parser.add_argument("--kubeconfig", metavar="FILE", help="read the cluster live (default for names: as kubectl)")
    parser.add_argument("--from-replica", action="store_true", help="ask a running replica, on its metrics port")
    pages.add_arguments(parser.add_argument_group("of the replica that --from-replica asks"))
    add_namespace_flag(parser)
    parser.add_argument(
        "--as", dest="user", metavar="USER", default="", help="who creates or deletes it, for rules about users"
    )
    parser.add_argument("--as-group", action="append", default=[], metavar="GROUP", help="a group of theirs; may be repeated")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="json: one explanation per line")


def run(options: argparse.Namespace) -> int:
    """Explain every object; the exit code says whether anything would be refused. Raises UsageError."""
    wanted = Wanted(KINDS[options.what], options.what, options.namespace)
    user = User(options.user, tuple(options.as_group))
    with source_of(options, wanted) as source:
        code, noted, found = 0, set[str](), list[Query]()
        faults = []
        for target in options.targets:
            try:
                found += source.queries(target, user)
            except UsageError as error:
                faults.append(str(error))
        for index, query in enumerate(found):
            _note(source, noted)
            code = max(code, _tell(source, query, options.output, first=index == 0))
        _note(source, noted)
        if faults:  # what is there has been explained
            raise UsageError("\n".join(faults))
        return code


def _note(source: Source, noted: set[str]) -> None:
    """Say what should be known of the answers, once."""
    for note in source.notes():
        if note not in noted:
            noted.add(note)
            print(visible(f"{PROJECT}: {note}"), file=sys.stderr)


def _tell(source: Source, query: Query, output: str, *, first: bool) -> int:
    try:
        explained = source.explain(query)
    except (MalformedObject, Unknown) as error:
        print(visible(one_line(f"{f'{query.where}: ' if query.where else ''}{error}")), file=sys.stderr)
        return 1
    if output == "json":
        print(json.dumps(explained.json), flush=True)
    else:
        print(("" if first else "\n") + _coloured(explained, wants_colour(sys.stdout)), flush=True)
    return 0 if explained.is_fine else 1


def _coloured(explained: Explanation, colour: bool) -> str:
    """The text with its verdict and headings in colour."""
    lines = visible(explained.text).split("\n")
    codes = [BOLD, _TONES[explained.tone], *("" if line.startswith((" ", ">")) else BOLD for line in lines[2:])]
    return "\n".join(painted(line, code if line else "", colour) for line, code in zip(lines, codes, strict=True))
