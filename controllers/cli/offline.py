"""What the commands that decide without a server share: the cluster as files, the configuration, the clock, the input.

Used by `review`, `inject`, `check` and `explain`. Errors: UsageError, with what to mend.
"""

from __future__ import annotations

import argparse
import errno
import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import attrs

from controllers.cli.text import visible
from controllers.cli.usage import UsageError, configuration
from controllers.config.document import Configuration
from controllers.config.flags import add_config_flag
from controllers.inputs import read_file, read_stream
from controllers.local.addresses import LocalAddresses
from controllers.local.cluster import LocalCluster, LocalError
from webhook.admission.gate import Gate
from webhook.admission.registry import by_name
from webhook.admission.review import User
from webhook.admission.service import BoundService, Context
from webhook.admission.settings import Settings
from webhook.clock import Clock, Deadline, SystemClock
from webhook.cluster import Cluster
from webhook.logs import ROOT
from webhook.objects.meta import parse_time_s
from webhook.telemetry import Telemetry

STDIN: Final = "-"


class Moment(SystemClock):
    """A wall clock that stands still."""

    def __init__(self, now_s: float) -> None:
        self._now_s = now_s

    def wall_s(self) -> float:
        return self._now_s


@attrs.frozen
class Offline:
    """Everything that a decision needs, without a server."""

    config: Configuration
    settings: Settings
    cluster: Cluster
    clock: Clock
    addresses: LocalAddresses | None = None  # as the files have them

    def gate(self) -> Gate:
        """The whole of admission, as the server has it."""
        return Gate(self.settings, self.cluster, Telemetry(), self.clock)

    def service(self, name: str) -> BoundService | None:
        """The service *name* of the registry, bound to these facts; None when the configuration switches it off."""
        return None if name in self.settings.disabled else by_name(name).bind(self.settings, self.cluster)

    def context(self, service: BoundService) -> Context:
        """What surrounds one request to *service* that the operator sends. Its time starts now."""
        name, timeout_s = service.service.name, service.service.timeout_s
        return Context(name, Deadline.after(timeout_s, self.clock), self.clock.wall_s(), User("", ()), True)


def add_offline_flags(parser: argparse.ArgumentParser) -> None:
    """Declare --local, --config and --now."""
    parser.add_argument("--local", metavar="DIR", help="the cluster's objects, as files (default: an empty cluster)")
    add_config_flag(parser)
    parser.add_argument("--now", metavar="TIME", help="decide as if it were this moment (RFC 3339)")


def add_namespace_flag(parser: argparse.ArgumentParser) -> None:
    """Declare --namespace; parsing raises UsageError on an empty one."""

    def name(text: str) -> str:
        if not text:
            raise UsageError('--namespace "": expected a name')
        return text

    parser.add_argument(
        *("-n", "--namespace"), type=name, default="default", metavar="NS", help="of objects that name none (default: default)"
    )


def offline(options: argparse.Namespace) -> Offline:
    """The cluster, the configuration and the clock that the flags ask for. Raises UsageError with every fault."""
    config = configuration(options)
    # Who calls is proved to the server by TLS; here the operator is the caller.
    settings = attrs.evolve(config.settings(), client_subjects=None, verify_patches=True, watch_rules=True)
    clock = clock_of(options.now)
    if options.local == "":
        raise UsageError('--local "": no such folder')
    facts = LocalCluster(options.local or ".", settings.votes, clock)
    if options.local is not None:
        try:
            facts.read()
        except LocalError as error:
            raise UsageError(str(error)) from error
    addresses = LocalAddresses(facts)
    return Offline(config, settings, attrs.evolve(facts.cluster, addresses=addresses), clock, addresses)


@contextmanager
def tracebacks() -> Iterator[None]:
    """Print the traceback of what a rule raises on standard error, as the server has it in its log."""
    handler = _Tracebacks()
    logger = logging.getLogger(f"{ROOT}.admission")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Tracebacks(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            print(visible("".join(traceback.format_exception(record.exc_info[1]))), file=sys.stderr, end="")


def read_source(file: str) -> bytes:
    """What *file* holds, standard input for "-". Raises UsageError when it cannot be read."""
    try:
        return read_stream(sys.stdin.buffer, "stdin") if file == STDIN else read_file(file)
    except OSError as error:
        if not file:
            raise UsageError('"": expected the name of a file, and this one is empty') from error
        why = "a loop of symbolic links" if error.errno == errno.ELOOP else error.strerror
        raise UsageError(f"{shown(file)}: cannot be read: {why}") from error


def shown(file: str) -> str:
    """The name of *file* in messages."""
    return "stdin" if file == STDIN else file


def clock_of(now: str | None) -> SystemClock:
    """The clock that --now asks for. Raises UsageError."""
    if now is None:
        return SystemClock()
    now_s = parse_time_s(now)
    if now_s is None:
        raise UsageError(f'--now {now}: not an RFC 3339 time such as "2026-11-29T10:00:00Z"')
    return Moment(now_s)
