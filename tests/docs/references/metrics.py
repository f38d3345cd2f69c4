"""docs/reference/metrics.md: every metric that a process with everything switched on registers.

The process is wired as `gatehouse serve` wires it, and opens nothing. What only a started part would register is read from the
sources, so that no metric is missed.
"""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import Counter, Gauge, Histogram

from controllers.config.document import Configuration, parse
from controllers.process.assembly import Options, Process
from controllers.runtime.queue_metrics import QueueMetrics
from tests.docs.pages import ROOT
from tests.docs.references.tables import code, page, table
from webhook.clock import SystemClock
from webhook.serving.ledger import Ledger
from webhook.serving.tls import Certificates, HeldCertificates
from webhook.telemetry import Telemetry

EVERYTHING = """
apiVersion: gatehouse.dev/v1alpha1
kind: GatehouseConfiguration
webhook: {certificate: {source: self, secretName: gatehouse-tls}, verifyPatches: true}
leaderElection: {enabled: true}
features: {podIP: {enabled: true}, resourceTuning: {enabled: true}}
controllers: {coverage: {evict: true}, databaseInstance: {enabled: true}}
"""
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: nowhere
clusters: [{name: nowhere, cluster: {server: "https://nowhere.example.com"}}]
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
users: [{name: nobody, user: {token: none}}]
"""
INTRODUCTION = """
What `/metrics` serves, with everything switched on; of what is off there is nothing. Names are as Prometheus has them:
counters end in `_total`, a histogram has `_bucket`, `_sum` and `_count`. Those that begin with `controller_runtime`,
`workqueue`, `leader_election` and `rest_client` have the names and labels of controllers written in Go, so that dashboards
made for those serve. Figures of led controllers are zero, or absent, on replicas that do not lead. What to alert on:
[alerts.yaml](../../manifests/components/monitoring/alerts.yaml), with a [runbook](../runbooks.md) for each.
"""
Row = tuple[str, tuple[str, ...], str]  # kind, labels, text
_KINDS = {Counter: "counter", Gauge: "gauge", Histogram: "histogram"}


def wired(text: str = EVERYTHING) -> Process:
    """A process with the configuration *text*, whose API server is nowhere."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        kubeconfig.write_text(KUBECONFIG)
        config: Configuration = parse(f"{text.rstrip()}\nclientConnection: {{kubeconfig: {kubeconfig}}}\n", "everything")
        return Process(Options(config), SystemClock())


def registered() -> dict[str, Row]:
    """Name -> its row, of what a wired process has."""
    telemetry: Telemetry = wired()._telemetry
    # What parts register once they are started.
    Ledger(telemetry, SystemClock())
    Certificates(HeldCertificates(), telemetry, SystemClock())
    QueueMetrics("any", telemetry, list)
    return {
        name: (_KINDS[type(metric)], tuple(metric._labelnames), metric._documentation)
        for name, metric in telemetry._metrics.items()
    }


def written() -> dict[str, Row | None]:
    """Name -> its row, of what the sources ask for by a plain name; None where labels or text are no plain values."""
    found: dict[str, Row | None] = {}
    for file in sorted([*(ROOT / "webhook").rglob("*.py"), *(ROOT / "controllers").rglob("*.py")]):
        for node in ast.walk(ast.parse(file.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            if node.func.attr in _KINDS.values() and isinstance(node.args[0], ast.Constant):
                found[str(node.args[0].value)] = _row(node.func.attr, node.args[1:])
    return found


def _row(kind: str, arguments: list[ast.expr]) -> Row | None:
    try:
        text, *labels = (ast.literal_eval(argument) for argument in arguments[:2])
    except ValueError:
        return None
    return kind, tuple(labels[0]) if labels else (), text


def markdown() -> str:
    """The whole page."""
    metrics = registered()
    for name, row in written().items():
        if name in metrics:
            continue
        if row is None:
            raise ValueError(f"{name}: registered by nothing that this generator wires, and its labels are no plain values")
        metrics[name] = row
    mute = sorted(name for name, (_, _, text) in metrics.items() if not text.strip())
    if mute:
        raise ValueError(f"{', '.join(mute)}: no help text says what it counts")
    return page("Metrics", "the metrics that a process registers", INTRODUCTION, _groups(metrics))


def _groups(metrics: dict[str, Row]) -> Iterator[str]:
    groups: dict[str, list[tuple[str, str, str, str]]] = {}
    for name, (kind, labels, text) in sorted(metrics.items()):
        exposed = f"{name.removesuffix('_total')}_total" if kind == "counter" else name
        row = (code(exposed), kind, ", ".join(map(code, labels)), text.rstrip("."))
        groups.setdefault(_group(name), []).append(row)
    for group, rows in groups.items():
        yield f"## {group}\n"
        yield table(("name", "type", "labels", "what it counts"), rows)


def _group(name: str) -> str:
    words = name.split("_")
    return "_".join(words[:2]) if words[0] in ("gatehouse", "controller", "leader", "rest") else words[0]
