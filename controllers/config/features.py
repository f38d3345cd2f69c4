"""The sections `features` and `controllers`: which services answer, what the leader acts on, and how."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

import attrs

from controllers.config.addresses import PodIPControllerSection, PodIPSection
from controllers.config.bounds import CreatorPolicySection, ResourceLimitsSection, label_fault
from controllers.config.compliance import PodComplianceSection
from controllers.config.databases import DatabaseInstanceSection
from controllers.config.decoder import Rule, choice, duration, flag, section, setting, text, texts
from controllers.config.defaults import PodDefaultsSection, ResourceTuningSection
from controllers.coverage.plan import GRACE_S
from webhook.names import ARTICLE_CONFIG_MAP
from webhook.sidecars.selection import Missing, Policy

_DEFAULT: Final = Policy()
_RULE_OF_SERVICE: Final = {"sidecar": "mutate"}  # the service that a feature's rule stands in, where the names differ
# Switched off, these only leave their service less to decide. It never answers 404: a registration that is still there refuses
# what cannot be decided.
_RULES_ONLY: Final = frozenset(
    {"pod_defaults", "resource_tuning", "resource_limits", "creator_policy", "pod_compliance", "pod_ip"}
)


def _optional_label_fault(value: str) -> str | None:
    return label_fault(value) if value else None


@attrs.frozen
class FeatureSection:
    """One feature"""

    #: off: it answers 404 and is left out of `gatehouse manifests`
    enabled: bool = setting(True, flag())


@attrs.frozen
class SidecarSection:
    """features.sidecar: what is injected where nothing is named"""

    #: off: nothing is injected, and `/mutate` answers 404
    enabled: bool = setting(True, flag())
    #: the entries that "true" stands for
    default: tuple[str, ...] = setting((ARTICLE_CONFIG_MAP,), texts(check=label_fault))
    #: of a pod's entry that is nowhere, or was never good. `DenyNamed`: refused if the pod names it
    on_missing_entry: Missing = setting(_DEFAULT.on_missing, choice(Missing))
    #: whose ConfigMaps reach every pod; empty: the one that this process runs in
    namespace: str = setting("", text(check=_optional_label_fault))

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            ("default",),
            lambda it, given: not it.default,
            "must name an entry: without one `true` would mean nothing",
        ),
        Rule(
            ("default",),
            lambda it, given: len(set(it.default)) < len(it.default),
            "names an entry twice",
        ),
    )

    def policy(self, home: str) -> Policy:
        """The same for `webhook`; *home* is the namespace where no other is set."""
        return Policy(self.default, self.namespace or home, self.on_missing_entry)


@attrs.frozen
class FeaturesSection:
    """features: which services answer"""

    node_taint: FeatureSection = section(FeatureSection)
    endpoint: FeatureSection = section(FeatureSection)
    pod_status: FeatureSection = section(FeatureSection)
    sidecar: SidecarSection = section(SidecarSection)
    pod_defaults: PodDefaultsSection = section(PodDefaultsSection)
    resource_tuning: ResourceTuningSection = section(ResourceTuningSection)
    resource_limits: ResourceLimitsSection = section(ResourceLimitsSection)
    creator_policy: CreatorPolicySection = section(CreatorPolicySection)
    pod_compliance: PodComplianceSection = section(PodComplianceSection)
    workload_warnings: FeatureSection = section(FeatureSection)
    pod_ip: PodIPSection = section(PodIPSection, key="podIP")

    def disabled(self) -> frozenset[str]:
        """The names of the services that are switched off, as the registry has them."""
        off = [name for name in _services() if not getattr(self, name).enabled]
        return frozenset(_RULE_OF_SERVICE.get(name, name.replace("_", "-")) for name in off)

    def injects(self) -> bool:
        """Whether anything asks what is injected where."""
        return self.sidecar.enabled or self.workload_warnings.enabled

    def completes(self) -> bool:
        """Whether pods get defaults, or their requests are tuned."""
        return (self.pod_defaults.enabled and bool(self.pod_defaults.sets)) or self.resource_tuning.enabled


def _services() -> Iterator[str]:
    """The features that are services, or without whom one has no sense."""
    return (field.name for field in attrs.fields(FeaturesSection) if field.name not in _RULES_ONLY)


@attrs.frozen
class ControllerSection:
    """One led controller"""

    #: off: the leader does nothing of it
    enabled: bool = setting(True, flag())


@attrs.frozen
class CoverageSection:
    """controllers.coverage: pods that should carry a sidecar and do not"""

    #: bare pods are counted, and told of on their owner
    enabled: bool = setting(True, flag())
    #: for how long a new pod is left out of it
    grace_s: float = setting(GRACE_S, duration(at_most_s=24 * 3600.0))
    #: evict them, slowly, so that their owners make new ones; needs manifests/evictions
    evict: bool = setting(False, flag())


@attrs.frozen
class ControllersSection:
    """controllers: what the leader acts on"""

    edge_health: ControllerSection = section(ControllerSection)
    coverage: CoverageSection = section(CoverageSection)
    pod_ip: PodIPControllerSection = section(PodIPControllerSection, key="podIP")
    database_instance: DatabaseInstanceSection = section(DatabaseInstanceSection)
    certificates: ControllerSection = section(ControllerSection)
