"""`gatehouse inject`: sidecars in files, as the server would inject them into the pods.

Every workload is decided by the service `mutate`, as the pod that its controller would create; what the template can hold of
the result (labels, annotations, spec) goes back into it. Standard output is the files; all that is said goes to standard error.
Exit codes: 0 fine, 1 something was refused or could not be decided, 2 wrong use.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from controllers.cli.bundle import beside
from controllers.cli.injector import Injector, Line, Outcome
from controllers.cli.offline import add_namespace_flag, add_offline_flags, offline, read_source, shown
from controllers.cli.text import painted, visible, wants_colour
from controllers.cli.usage import UsageError
from webhook.names import PROJECT
from webhook.objects.documents import read_documents, write_yaml
from webhook.objects.rewriting import join

EXAMPLES: Final = """\
examples:
  gatehouse inject --local examples/sidecars --config examples/sidecars/gatehouse.yaml examples/sidecars/pod.yaml
                     with the Namespaces and ConfigMaps of that folder
  gatehouse inject --local cluster/ deployment.yaml | kubectl apply -f -
                     what kubectl applies has its sidecars already
  helm template shop ./chart | gatehouse inject --local cluster/ --namespace shop -
                     every workload of a chart; everything else comes out as it went in
  gatehouse inject --local cluster/ -f a.yaml -f b.yaml -o json
                     each document as one line of JSON
  gatehouse inject --local cluster/ deployment.yaml | diff deployment.yaml -
                     what would change

what comes out:
  A document that does not change keeps its every byte. One that changes is written anew: YAML without its comments, JSON with
  its indentation; comments between documents, `---`, line ends and a byte order mark stay. Several files become one, in UTF-8.
  Of a file in which something is refused nothing comes out; with --keep-going the rest of it does.

what counts:
  Namespaces and ConfigMaps of --local, and the Namespaces of the files themselves. A namespace that neither knows cannot be
  decided about. A pod's name (${pod.name}) differs from pod to pod: in a template the workload's takes its place, and is told.

exit codes: 0 fine, 1 something was refused or could not be decided, 2 wrong use
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's flags."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="manifests, YAML or JSON, several or a List; - reads stdin")
    parser.add_argument("-f", "--filename", action="append", default=[], metavar="FILE", help="the same, as kubectl has it")
    add_namespace_flag(parser)
    add_offline_flags(parser)
    parser.add_argument("-o", "--output", choices=("yaml", "json"), help="write every document so (default: as it was written)")
    parser.add_argument("--keep-going", action="store_true", help="leave out what is refused, and write the rest of its file")


def run(options: argparse.Namespace) -> int:
    """Inject into every file, write what becomes of them, and say by the exit code how it went. Raises UsageError."""
    files = [*options.files, *options.filename]
    if not files:
        raise UsageError("no file: name one, or - for standard input")
    setup = offline(options)
    sources = [(file, read_source(file)) for file in files]
    setup = beside(setup, [source for _, source in sources])
    injector = Injector(setup, options.namespace, keep_going=options.keep_going)
    if injector.is_off:
        print(f"{PROJECT}: the configuration switches injection off: nothing changes", file=sys.stderr)
    outcomes = _outcomes(injector, sources)
    written = [outcome.result for outcome in outcomes]
    sys.stdout.buffer.write(join(written) if options.output is None else _converted(written, options.output))
    sys.stdout.buffer.flush()
    return 1 if any(outcome.failed for outcome in outcomes) else 0


def _outcomes(injector: Injector, sources: Sequence[tuple[str, bytes]]) -> list[Outcome]:
    outcomes = []
    colour = wants_colour(sys.stderr)
    for file, source in sources:
        outcome = injector.inject(source, shown(file))
        for line in outcome.lines:
            print(_told(line, colour), file=sys.stderr, flush=True)
        outcomes.append(outcome)
    return outcomes


def _told(line: Line, colour: bool) -> str:
    return painted(visible(f"{line.where}: {line.text}".replace("\n", " ")), line.colour, colour)


def _converted(written: Sequence[bytes], output: str) -> bytes:
    """Every document of these files, one after the other, as YAML or as JSON."""
    style: Callable[[Iterator[object]], str] = _as_json if output == "json" else _as_yaml
    values = (document.value for part in written for document in read_documents(part, ""))
    return style(values).encode()


def _as_yaml(values: Iterator[object]) -> str:
    return "---\n".join(map(write_yaml, values))


def _as_json(values: Iterator[object]) -> str:
    return "".join(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n" for value in values)
