"""The command line of the benchmarks at a real API server, and what is done with their figures.

The whole benchmark can be written to docs/performance.json with --write, its short form and parts of it cannot.
The caller's thread. Exit codes: 0 measured, 1 something failed, 2 wrong use.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs

from tests.bench import page, report, results
from tests.cluster.binaries import BuildError
from tests.cluster.cluster import ClusterError
from webhook.objects.meta import Json


@attrs.frozen
class Part:
    """What --only takes, any number of times."""

    metavar: str
    what: str  # for --help
    read: Callable[[str], Any]  # raises argparse.ArgumentTypeError


@attrs.frozen
class Benchmark:
    """One section of the figures."""

    section: str  # of docs/performance.json
    program: str  # what its lines begin with
    what: str  # for --help
    measure: Callable[[bool, Sequence[Any], Path], Json]  # the short form? the parts, none = all; a folder for files
    chapter: Callable[[Json], Iterable[str]]  # of the page
    failures: tuple[type[Exception], ...]  # that `measure` raises, besides those of the cluster
    part: Part | None = None

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Measure; the exit code."""
        options = self._options(arguments)
        machine = report.machine()
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does: the cluster is taken down
        try:
            with tempfile.TemporaryDirectory(prefix="gatehouse-bench-") as name:
                section = results.stamped(self.measure(options.short, options.only or (), Path(name)), machine)
        except (*self.failures, BuildError, ClusterError, KeyboardInterrupt) as error:
            self.say(str(error) or "stopped")
            return 1
        print("\n".join(self.chapter(section)))
        if options.json:
            options.json.write_text(json.dumps(section, indent=1) + "\n")
        if options.write:
            results.write(self.section, section)
            page.render()
        return 0

    def say(self, message: str) -> None:
        """A line of progress."""
        print(f"{self.program}: {message}", file=sys.stderr, flush=True)

    def _options(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        parser = argparse.ArgumentParser(prog=f"python -m tests.bench.{self.section}", description=self.what)
        parser.set_defaults(only=None)
        parser.add_argument("--short", action="store_true", help="few objects and rounds: a glance, no figures to keep")
        if self.part:
            parser.add_argument("--only", metavar=self.part.metavar, type=self.part.read, action="append", help=self.part.what)
        parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured")
        parser.add_argument("--write", action="store_true", help="write docs/performance.json and render the pages from it")
        options = parser.parse_args(arguments)
        if options.write and (options.short or options.only):
            parser.error("--write is for the whole benchmark: without --short and --only")
        return options
