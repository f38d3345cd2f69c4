"""The configuration of the process: one strict document, and flags that take precedence over it.

    apiVersion: gatehouse.dev/v1alpha1
    kind: GatehouseConfiguration
    webhook: {bindAddress: ":9443", certificate: {source: files, certFile: …, keyFile: …}}
    votes: {timeAnnotation: example.com/voted-at, maxAge: 60s}

YAML or JSON, camelCase, Go durations. Unknown keys, wrong types and impossible combinations are all found before anything
starts, each with file, line and path. Errors: ConfigurationError. `load` reads a file; everything else is pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final

import attrs

from controllers.config.decoder import (
    ConfigurationError,
    Decoder,
    Fault,
    Override,
    Rule,
    choice,
    flag,
    section,
    setting,
)
from controllers.config.election import ClientConnectionSection, LeaderElectionSection
from controllers.config.features import ControllersSection, FeaturesSection
from controllers.config.plugins import PluginsSection
from controllers.config.votes import VotesSection
from controllers.config.webhook import ClientAuthMode, MetricsSection, ProbesSection, WebhookSection
from controllers.inputs import read_file
from webhook.admission.settings import Settings
from webhook.defaults.tuning import Tuning
from webhook.names import API_VERSION, CONFIG_KIND
from webhook.objects.documents import Document, DocumentError, read_documents
from webhook.objects.faults import Path
from webhook.sidecars.selection import Policy

__all__ = ["Configuration", "ConfigurationError", "Override", "load", "parse", "read"]


DEFAULT_HOME: Final = Policy().home


class LogFormat(StrEnum):
    """How log lines are written."""

    TEXT = "text"
    JSON = "json"


@attrs.frozen
class LoggingSection:
    """logging: how the process writes its log"""

    #: of a line: for people, or one JSON object
    format: LogFormat = setting(LogFormat.TEXT, choice(LogFormat))
    #: a line for every review
    verbose: bool = setting(False, flag())


def _share_a_port(it: Configuration, _: frozenset[str]) -> bool:
    """Whether two servers want the same port of the same interface (or of all)."""
    found = [it.webhook.bind_address, it.metrics.bind_address, it.probes.bind_address]
    wanted = [address for address in found if address.enabled and address.port]
    return any(
        first.port == second.port and (first.host == second.host or not first.host or not second.host)
        for index, first in enumerate(wanted)
        for second in wanted[index + 1 :]
    )


@attrs.frozen
class Configuration:
    """Everything that an operator may decide. Field for field the document."""

    webhook: WebhookSection = section(WebhookSection)
    metrics: MetricsSection = section(MetricsSection)
    probes: ProbesSection = section(ProbesSection)
    leader_election: LeaderElectionSection = section(LeaderElectionSection)
    client_connection: ClientConnectionSection = section(ClientConnectionSection)
    votes: VotesSection = section(VotesSection)
    features: FeaturesSection = section(FeaturesSection)
    controllers: ControllersSection = section(ControllersSection)
    plugins: PluginsSection = section(PluginsSection)
    logging: LoggingSection = section(LoggingSection)

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            ("webhook", "metrics", "probes"),
            _share_a_port,
            "webhook, metrics and probes need a port each: two of their bindAddresses are the same",
        ),
    )

    def settings(self, home: str = DEFAULT_HOME) -> Settings:
        """The same for the admission core. *home*: the namespace whose sidecars reach every pod, unless one is set."""
        auth = self.webhook.client_auth
        return Settings(
            votes=self.votes.policy(),
            sidecars=self.features.sidecar.policy(home),
            home=home,
            defaults=self.features.pod_defaults.value(),
            tuning=self.features.resource_tuning.value() if self.features.resource_tuning.enabled else Tuning(),
            resource_policies=self.features.resource_limits.value(),
            typo_hints=self.features.resource_limits.typo_hints,
            creators=self.features.creator_policy.value(),
            compliance=self.features.pod_compliance.value(),
            database_policy=self.controllers.database_instance.policy(),
            addresses=self.features.pod_ip.policy(),
            plugins=tuple(rule.service for rule in self.plugins.rules_used),
            disabled=self.features.disabled(),
            max_in_flight=self.webhook.limits.max_in_flight,
            body_limit_bytes=self.webhook.limits.body_bytes,
            verify_patches=self.webhook.verify_patches,
            client_subjects=frozenset(auth.allowed_subjects) if auth.mode is ClientAuthMode.CERTIFICATE else None,
        )


_HEADER: Final = ("apiVersion", "kind")


def load(file: str, overrides: Mapping[Path, Override] | None = None) -> Configuration:
    """The configuration in *file* ("" = none: every default), with *overrides* from flags in place of its values.

    Raises ConfigurationError with every fault, also when the file cannot be read.
    """
    if not file:
        return parse(b"", "", overrides)
    try:
        source = read_file(file)
    except OSError as error:
        faults = [Fault(0, 0, file, "", f"cannot be read: {error.strerror}")]
        try:
            parse(b"", "", overrides)  # the flags' own faults are told at once, too
        except ConfigurationError as more:
            faults += more.faults
        raise ConfigurationError(faults) from error
    return parse(source, file, overrides)


def parse(source: bytes | str, file: str, overrides: Mapping[Path, Override] | None = None) -> Configuration:
    """The configuration that *source* writes; *file* is its name in messages, "" when there is no file.

    Raises ConfigurationError with every fault.
    """
    return read(_only_document(source, file) if file else None, overrides)


def read(document: Document | None, overrides: Mapping[Path, Override] | None = None) -> Configuration:
    """The configuration that *document* writes, read with its positions; None: every default.

    Raises ConfigurationError with every fault.
    """
    decoder = Decoder(document, overrides)
    if document is not None and isinstance(document.value, dict):
        _check_header(document.value, decoder)
    found = decoder.read(Configuration, document.value if document else {}, ignored=_HEADER)
    if decoder.faults:
        raise ConfigurationError(decoder.faults)
    return found


def place_of(file: str, path: Path) -> str:
    """Where *file* has what stands at *path*, as a `Fault` begins: "file:line:column"; "" when it cannot be read (any more)."""
    try:
        line, column = _only_document(read_file(file), file).position(path)
    except (OSError, ConfigurationError):
        return ""
    return f"{file}:{line}:{column}"


def _only_document(source: bytes | str, file: str) -> Document:
    try:
        documents = read_documents(source, file, positions=True)
    except DocumentError as error:
        raise ConfigurationError([Fault(error.line, error.column, file, "", error.message)]) from error
    if not documents:
        raise ConfigurationError([Fault(1, 1, file, "", f"is empty: expected a {CONFIG_KIND}")])
    if len(documents) > 1:
        line, column = documents[1].position(())
        raise ConfigurationError([Fault(line, column, file, "", "a second document: expected one")])
    return documents[0]


def _check_header(value: dict[str, Any], decoder: Decoder) -> None:
    for key, expected in (("apiVersion", API_VERSION), ("kind", CONFIG_KIND)):
        if value.get(key) != expected:
            found = f", not {value[key]!r}" if key in value else ""
            decoder.fault((key,), f"must be {expected}{found}")
