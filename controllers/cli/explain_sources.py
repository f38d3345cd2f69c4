"""Where `gatehouse explain` gets objects and facts from: files, a live cluster, or a running replica.

    with source_of(options, wanted) as source:
        for query in source.queries(target, user):
            source.explain(query)

Errors: UsageError, with what to do; `Failed` for what the cluster or the replica did not answer. One thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import attrs

from controllers.cli import pages
from controllers.cli.explain_live import LiveSource
from controllers.cli.explain_replica import ReplicaSource
from controllers.cli.explain_targets import Wanted, in_file, in_folder
from controllers.cli.offline import Offline, clock_of, offline
from controllers.cli.usage import UsageError, configuration, no_cluster
from controllers.explaining.explainer import Explainer, Explanation, Query, address_of
from controllers.runtime.errors import ClientConfigError
from controllers.runtime.rest import RestClient
from webhook.addresses.address import AddressError
from webhook.admission.review import User
from webhook.telemetry import Telemetry


class Source(Protocol):
    """Objects to explain, and their explanations."""

    def notes(self) -> Sequence[str]:
        """What should be known before: a configuration that switches things off, rights that lack."""

    def queries(self, target: str, user: User) -> Sequence[Query]:
        """What *target* means. Raises UsageError when it means nothing."""

    def explain(self, query: Query) -> Explanation:
        """Raises MalformedObject, Unknown."""


@attrs.frozen
class FileSource:
    """Files alone, maybe none."""

    setup: Offline
    folder: Path | None
    wanted: Wanted

    def notes(self) -> Sequence[str]:
        return off_notes(self.wanted, self.setup)

    def queries(self, target: str, user: User) -> Sequence[Query]:
        if self.wanted.kind == "address":
            return [Query("address", target, where=str(self.folder or ""))]
        if self.folder is not None and self.wanted.is_name(target):
            return in_folder(target, self.folder, self.wanted, user)
        return in_file(target, self.wanted, user)

    def explain(self, query: Query) -> Explanation:
        setup = self.setup
        seen = setup.addresses.seen if setup.addresses is not None else None
        return Explainer(setup.gate(), setup.cluster, setup.clock, seen=seen).explain(query)


def off_notes(wanted: Wanted, setup: Offline) -> Sequence[str]:
    """That the configuration switches off what is asked about."""
    if wanted.kind in ("pod", "workload") and not setup.config.features.sidecar.enabled:
        return ["the configuration switches injection off: this is what it would do"]
    if wanted.kind == "databaseinstance" and setup.settings.database_policy is None:
        return ["the configuration switches DatabaseInstances off (controllers.databaseInstance): no rule looks at them"]
    return []


def _check_address(target: str) -> None:
    try:
        address_of(target)
    except AddressError as error:
        raise UsageError(str(error)) from error


@contextmanager
def source_of(options: argparse.Namespace, wanted: Wanted) -> Iterator[Source]:
    """What the flags ask for; what is open is closed. Raises UsageError."""
    given = [flag for flag, value in (("--local", options.local), ("--kubeconfig", options.kubeconfig)) if value is not None]
    if options.local is not None and (options.kubeconfig is not None or options.from_replica):
        other = "--from-replica" if options.from_replica else "--kubeconfig"
        raise UsageError(f"--local and {other}: facts come from files or from a cluster, choose one")
    if options.from_replica and (options.config or options.now):
        raise UsageError("--from-replica: the replica has its own configuration and clock: leave out --config and --now")
    if "" in options.targets:
        raise UsageError('"": a target is a name or a file, and this one is empty')
    if wanted.kind == "address":
        for target in options.targets:
            _check_address(target)
    if options.from_replica:
        yield ReplicaSource(pages.source(options), options.kubeconfig or "", wanted)
        return
    names = any(wanted.is_name(target) for target in options.targets)
    if options.local is not None or not (given or names):
        yield FileSource(offline(options), Path(options.local) if options.local is not None else None, wanted)
        return
    clock = clock_of(options.now)
    # A configuration that is named must be sound before anything is asked.
    own = configuration(options) if options.config else None
    try:
        client = RestClient.auto(options.kubeconfig or "", Telemetry(), clock)
    except ClientConfigError as error:
        raise no_cluster(error, "--local DIR takes files instead") from error
    try:
        yield LiveSource(client, own, clock, wanted)
    finally:
        client.close()
