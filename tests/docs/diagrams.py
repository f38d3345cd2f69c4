"""The diagrams and tables of docs/architecture.md: services from the registry, the order of start from the supervisor's parts.

Mermaid, which forges draw and everybody else can read as text.
"""

from __future__ import annotations

from collections.abc import Iterator

from controllers.process.assembly import Process
from tests.docs.references.metrics import wired
from tests.docs.references.tables import code, table
from webhook.admission.registry import SERVICES
from webhook.admission.service import Service
from webhook.admission.settings import Settings

# Every service has something to decide, and so a registration.
EVERYTHING = """
apiVersion: gatehouse.dev/v1alpha1
kind: GatehouseConfiguration
webhook: {certificate: {source: self, secretName: gatehouse-tls}}
leaderElection: {enabled: true}
features:
  podIP: {enabled: true}
  resourceTuning: {enabled: true}
  podDefaults: {sets: [{name: base, labels: {team: none}}]}
  resourceLimits:
    policies:
      - {name: deny, container: {cpu: {limits: {max: 1}}}}
      - {name: warn, container: {cpu: {limits: {max: 1}}}, mode: Warn}
  podCompliance: {policies: [{name: deny, privilege: Deny}, {name: warn, privilege: Warn}]}
  creatorPolicy: {rules: [{name: deny, resources: [pods]}, {name: warn, mode: Warn, resources: [pods]}]}
controllers: {databaseInstance: {enabled: true}}
"""
_SHAPES = {"metrics": "/metrics, /status, /statusz", "healthProbe": "/healthz, /readyz", "webhook": "the services"}


def sections() -> dict[str, str]:
    """Name of the marked section -> what belongs between its markers."""
    process = wired(EVERYTHING)
    settings: Settings = process._config.settings()
    return {
        "services": "\n".join(_services(settings)),
        "table of services": _table(settings, process),
        "order": "\n".join(_order(process)),
    }


def _services(settings: Settings) -> Iterator[str]:
    """Who asks what, and which caches each answer is made from."""
    yield from ("```mermaid", "flowchart LR", '  api["kube-apiserver"]')
    for kind, mutating in (("mutating, one after the other", True), ("validating, all at once", False)):
        yield f'  subgraph {"mutating" if mutating else "validating"}["{kind}"]'
        yield from (f'    {service.name}["{service.path}"]' for service in SERVICES if service.mutating is mutating)
        yield "  end"
    caches = sorted({cache for service in SERVICES for cache in service.caches_with(settings)})
    yield '  subgraph caches["watch caches"]'
    yield from (f'    cache-{cache}[("{cache}")]' for cache in caches)
    yield "  end"
    yield from ("  api --> mutating", "  api --> validating")
    for service in SERVICES:
        yield from (f"  {service.name} -.-> cache-{cache}" for cache in sorted(service.caches_with(settings)))
    yield from ("  caches -.->|list and watch| api", "```")


def _table(settings: Settings, process: Process) -> str:
    rows = []
    for service in SERVICES:
        rules = ", ".join(code(rule.name) for rule in service.build(settings, process.facts.cluster))
        rows.append(
            (code(service.path), rules, _asked(service, settings), _failing(service, settings), _waits(service, settings))
        )
    return table(("path", "rules, in this order", "asked about", "when nobody answers", "503 until these have synced"), rows)


def _asked(service: Service, settings: Settings) -> str:
    asked: dict[str, list[str]] = {}
    for entry in service.entries_with(settings):
        for match in entry.matches:
            resources = asked.setdefault("/".join(operation.name or "" for operation in match.operations), [])
            if code(match.resource) not in resources:
                resources.append(code(match.resource))
    return "; ".join(f"{operations} {', '.join(resources)}" for operations, resources in asked.items())


def _failing(service: Service, settings: Settings) -> str:
    found = {(entry.failure_policy, entry.timeout_s) for entry in service.entries_with(settings)}
    return "; ".join(
        f"{'refused' if policy == 'Fail' else 'passes'} after {timeout_s} s" for policy, timeout_s in sorted(found)
    )


def _waits(service: Service, settings: Settings) -> str:
    return ", ".join(sorted(service.caches_with(settings))) or "–"


def _order(process: Process) -> Iterator[str]:
    """The parts of the process from left to right as they start; they stop from right to left."""
    assert process.leading is not None
    parts = [part.name for part in process.supervisor._parts]
    yield from ("```mermaid", "flowchart LR")
    for index, name in enumerate(parts):
        shown = f"{name}<br/>{_SHAPES[name]}" if name in _SHAPES else name
        yield f'  part{index}["{index + 1}. {shown}"]'
    yield "  " + " --> ".join(f"part{index}" for index in range(len(parts)))
    yield '  subgraph led["only while the lease is held"]'
    yield from (f'    led{index}["{one.name}"]' for index, one in enumerate(process.leading._controllers))
    yield "  end"
    yield from (f"  part{parts.index('elector')} --> led", "```")
