"""The section features.podCompliance: security rules of pods beyond their namespace's Pod Security level.

docs/pod-bounds.md is the reference. Pure; faults are found by `controllers.config.decoder`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import attrs

from controllers.config.bounds import NamespacesSection, label_fault, mode_reader, repeats
from controllers.config.decoder import Reader, Rule, flag, section, sections, setting, takes, text, texts
from webhook.objects.compliance import Capabilities, CompliancePolicy, HostPaths, Labels, Registries, Tags
from webhook.objects.enforcement import Mode
from webhook.objects.faults import Faults, json_type
from webhook.objects.selectors import key_fault, value_fault

_CAPABILITY: Final = re.compile(r"[A-Z][A-Z0-9_]*")
_REGISTRY: Final = re.compile(r"[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)*/?")
_TAG: Final = re.compile(r"[\w.-]*\*?", re.ASCII)


def _path_fault(value: str) -> str | None:
    if value.startswith("/") and ".." not in value.split("/"):
        return None
    return 'must be an absolute path without ".."'


def _capability_fault(value: str) -> str | None:
    if value.startswith("CAP_"):
        return f"is written without CAP_: {value.removeprefix('CAP_')}"
    return None if _CAPABILITY.fullmatch(value) else "must be a capability, such as NET_ADMIN"


def _registry_fault(value: str) -> str | None:
    if not _REGISTRY.fullmatch(value):
        return 'must be a registry with or without a path, such as "ghcr.io/team" (no scheme, no tag)'
    host = value.split("/")[0]
    if "." not in host and ":" not in host and host != "localhost":
        return f'must begin with a registry: for Docker Hub write "docker.io/{value if "/" in value else f"library/{value}"}"'
    return None


def _tag_fault(value: str) -> str | None:
    return None if _TAG.fullmatch(value) else 'must be a tag, or its beginning with "*" behind it'


def _label_values() -> Reader:
    """{team: [shop, pay], owner: []} as keys with their allowed values."""
    values = texts(check=value_fault)

    @takes("object of lists of strings by label")
    def read(value: Any) -> dict[str, tuple[str, ...]]:
        if not isinstance(value, dict):
            raise ValueError(f"must be an object of label keys, not {json_type(value)}")
        faults: list[tuple[tuple[str | int, ...], str]] = []
        found = {}
        for key, allowed in value.items():
            if fault := key_fault(key):
                faults.append(((key,), fault))
            try:
                found[key] = values([] if allowed is None else allowed)
            except Faults as error:
                faults += [((key, *inside), message) for inside, message in error.faults]
            except ValueError as error:
                faults.append(((key,), f"{error} (an empty list takes any value)"))
        if faults:
            raise Faults(*faults)
        return found

    return read


def _needs_a_mode(name: str) -> Rule:
    """*name* is the attribute that says what. Switched off by a word, the rest may stay."""
    return Rule(
        ("mode", name),
        lambda it, given: bool(given) and "mode" not in given,
        "must be Warn or Deny: without it the rest says nothing",
    )


@attrs.frozen
class HostPathsSection:
    """Volumes of the node's own files"""

    #: of volumes of the kind `hostPath`
    mode: Mode = setting(Mode.OFF, mode_reader())
    #: paths, and what lies below them
    allow: tuple[str, ...] = setting((), texts(check=_path_fault))

    rules: ClassVar[tuple[Rule, ...]] = (_needs_a_mode("allow"),)


@attrs.frozen
class CapabilitiesSection:
    """Linux capabilities"""

    #: of capabilities that are added, or not dropped
    mode: Mode = setting(Mode.OFF, mode_reader())
    #: asks for `drop: [ALL]`, after which only NET_BIND_SERVICE may be added
    drop_all: bool = setting(False, flag())
    #: may be added all the same, written without CAP_
    allow: tuple[str, ...] = setting((), texts(check=_capability_fault))

    rules: ClassVar[tuple[Rule, ...]] = (_needs_a_mode("allow"),)


@attrs.frozen
class RegistriesSection:
    """Where images come from"""

    #: of where images come from
    mode: Mode = setting(Mode.OFF, mode_reader())
    #: registries, with or without a path; whole parts count
    allow: tuple[str, ...] = setting((), texts(check=_registry_fault))

    rules: ClassVar[tuple[Rule, ...]] = (
        _needs_a_mode("allow"),
        Rule(
            ("allow", "mode"),
            lambda it, given: it.mode is not Mode.OFF and not it.allow,
            "must name a registry: without one no image could be used",
        ),
    )


@attrs.frozen
class TagsSection:
    """How images are named"""

    #: of how images are named
    mode: Mode = setting(Mode.OFF, mode_reader())
    #: tags, or beginnings with "*"; no tag is `latest`
    forbid: tuple[str, ...] = setting(Tags().forbid, texts(check=_tag_fault))
    #: asks for `app@sha256:…`
    require_digest: bool = setting(False, flag())

    rules: ClassVar[tuple[Rule, ...]] = (
        _needs_a_mode("forbid"),
        Rule(
            ("forbid", "require_digest", "mode"),
            lambda it, given: it.mode is not Mode.OFF and not it.forbid and not it.require_digest,
            "must name a tag, or requireDigest must be true: the rule asks for nothing",
        ),
    )


@attrs.frozen
class LabelsSection:
    """Labels that a pod bears"""

    #: of labels that are missing
    mode: Mode = setting(Mode.OFF, mode_reader())
    #: label → values that it may have; none: any but the empty one
    required: Mapping[str, tuple[str, ...]] = setting({}, _label_values())

    rules: ClassVar[tuple[Rule, ...]] = (
        _needs_a_mode("required"),
        Rule(
            ("required", "mode"),
            lambda it, given: it.mode is not Mode.OFF and not it.required,
            "must name a label: the rule asks for nothing",
        ),
        Rule(("required",), lambda it, given: any(map(repeats, it.required.values())), "names a value twice"),
    )


_SIMPLE: Final = ("privilege", "privilege_escalation", "host_namespaces", "host_ports", "run_as_non_root")
_DETAILED: Final = ("host_paths", "capabilities", "registries", "tags", "labels")


def _asks_nothing(it: Any, given: frozenset[str]) -> bool:
    return not given & {*_SIMPLE} and it == CompliancePolicySection(name=it.name, namespaces=it.namespaces)


@attrs.frozen
class CompliancePolicySection:
    """One set of rules"""

    #: messages name the policy by it
    name: str = setting("", text(at_least=1, check=label_fault))
    namespaces: NamespacesSection = section(NamespacesSection)
    #: privileged containers, Windows host processes
    privilege: Mode = setting(Mode.OFF, mode_reader())
    #: asks for `allowPrivilegeEscalation: false`
    privilege_escalation: Mode = setting(Mode.OFF, mode_reader())
    #: the node's network, processes and IPC
    host_namespaces: Mode = setting(Mode.OFF, mode_reader())
    #: ports of the node
    host_ports: Mode = setting(Mode.OFF, mode_reader())
    #: asks for `runAsNonRoot: true`, and for no `runAsUser: 0`
    run_as_non_root: Mode = setting(Mode.OFF, mode_reader())
    host_paths: HostPathsSection = section(HostPathsSection)
    capabilities: CapabilitiesSection = section(CapabilitiesSection)
    registries: RegistriesSection = section(RegistriesSection)
    tags: TagsSection = section(TagsSection)
    labels: LabelsSection = section(LabelsSection)

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("name",), lambda it, given: not it.name, "must be set: messages name the policy by it"),
        Rule(
            ("name", *_SIMPLE, *_DETAILED),
            _asks_nothing,
            "names a policy that asks for nothing: give a rule the mode Warn or Deny",
        ),
    )

    def value(self) -> CompliancePolicy:
        """The same for `webhook`."""
        return CompliancePolicy(
            self.name,
            self.namespaces.value(),
            host_paths=HostPaths(self.host_paths.mode, self.host_paths.allow),
            capabilities=Capabilities(self.capabilities.mode, self.capabilities.drop_all, frozenset(self.capabilities.allow)),
            registries=Registries(self.registries.mode, self.registries.allow),
            tags=Tags(self.tags.mode, self.tags.forbid, self.tags.require_digest),
            labels=Labels(self.labels.mode, self.labels.required),
            **{name: getattr(self, name) for name in _SIMPLE},
        )


@attrs.frozen
class PodComplianceSection:
    """features.podCompliance: security rules of pods"""

    #: off: no policy counts
    enabled: bool = setting(True, flag())
    #: each that is for a namespace counts
    policies: tuple[CompliancePolicySection, ...] = setting((), sections(CompliancePolicySection, name="name"))

    def value(self) -> tuple[CompliancePolicy, ...]:
        """The policies that count."""
        return tuple(one.value() for one in self.policies) if self.enabled else ()
