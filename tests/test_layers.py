"""Who may import whom, and which modules are pure: the rules as data, held against the sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*(ROOT / "webhook").rglob("*.py"), *(ROOT / "controllers").rglob("*.py")])

# Prefix of a module -> prefixes of ours that it may import (beside its own).
MAY_IMPORT = {
    "webhook.names": (),
    "webhook.errors": (),
    "webhook.clock": (),
    "webhook.logs": (),
    "webhook.telemetry": (),
    "webhook.objects": ("webhook.names", "webhook.errors", "webhook.cluster"),
    "webhook.addresses": ("webhook.objects", "webhook.names"),
    "webhook.cluster": (
        "webhook.addresses",
        "webhook.errors",
        "webhook.clock",
        "webhook.names",
        "webhook.objects",
        "webhook.sidecars.entries.catalog",
        "webhook.sidecars.wish",
    ),
    "webhook.admission.registry": (
        "webhook.addresses",
        "webhook.admission",
        "webhook.cluster",
        "webhook.defaults",
        "webhook.features",
        "webhook.names",
        "webhook.objects",
        "webhook.sidecars",
    ),
    # entries <- injection <- fitting <- decision
    "webhook.sidecars.entries": (
        "webhook.objects",
        "webhook.names",
        "webhook.errors",
        "webhook.cluster",
        "webhook.sidecars.findings",
    ),
    "webhook.sidecars.injection": (
        "webhook.objects",
        "webhook.names",
        "webhook.errors",
        "webhook.cluster",
        "webhook.sidecars.findings",
        "webhook.admission.draft",
        "webhook.sidecars.entries",
    ),
    "webhook.sidecars.fitting": (
        "webhook.objects",
        "webhook.names",
        "webhook.errors",
        "webhook.cluster",
        "webhook.sidecars.findings",
        "webhook.admission.draft",
        "webhook.sidecars.entries",
        "webhook.sidecars.injection",
    ),
    "webhook.sidecars": (
        "webhook.objects",
        "webhook.names",
        "webhook.errors",
        "webhook.clock",
        "webhook.cluster",
        "webhook.admission.draft",
    ),
    "webhook.defaults": (
        "webhook.objects",
        "webhook.names",
        "webhook.clock",
        "webhook.cluster",
        "webhook.sidecars",
        "webhook.admission.draft",
    ),
    "webhook.admission": (
        "webhook.addresses",
        "webhook.cluster",
        "webhook.defaults",
        "webhook.sidecars",
        "webhook.objects",
        "webhook.names",
        "webhook.errors",
        "webhook.clock",
        "webhook.logs",
        "webhook.telemetry",
    ),
    "webhook.features": (
        "webhook.addresses",
        "webhook.admission",
        "webhook.cluster",
        "webhook.defaults",
        "webhook.errors",
        "webhook.objects",
        "webhook.sidecars",
        "webhook.names",
    ),
    "webhook.serving": (
        "webhook.admission",
        "webhook.errors",
        "webhook.clock",
        "webhook.logs",
        "webhook.telemetry",
        "webhook.objects",
    ),
    "webhook.testing": ("webhook",),
    "controllers.runtime": (
        "webhook.addresses",
        "webhook.objects",
        "webhook.names",
        "webhook.errors",
        "webhook.clock",
        "webhook.logs",
        "webhook.telemetry",
        "webhook.cluster",
        "webhook.sidecars",
    ),
    "controllers.testing": ("controllers", "webhook"),
    "controllers": ("controllers", "webhook"),
}

# Third-party package -> the modules that may import it; the others go through them.
IMPORTERS = {
    "kubernetes": {"controllers.runtime.access", "controllers.runtime.rest"},
    "cheroot": {"webhook.serving.server"},
    "jsonpatch": {"webhook.admission.verify"},
    "jsonpointer": {"webhook.admission.verify"},
    "yaml": {"webhook.objects.documents"},
    "prometheus_client": {"webhook.telemetry"},
    "cryptography": {"webhook.serving.selfsigned"},
}

# The noun decides: no thread, clock, socket, log, lock, file or chance inside.
PURE = (
    "webhook.names",
    "webhook.errors",
    "webhook.addresses",
    "webhook.objects",
    "webhook.features",
    "webhook.sidecars",
    "webhook.defaults",
    "webhook.cluster",
    "webhook.admission.review",
    "webhook.admission.draft",
    "webhook.admission.service",
    "webhook.admission.addresses",
    "webhook.admission.bounds",
    "webhook.admission.defaults",
    "webhook.admission.spared",
    "webhook.admission.registry",
    "webhook.admission.plugin",
    "webhook.admission.sections",
    "webhook.admission.configurations",
    "webhook.admission.verify",
    "webhook.admission.timeouts",
    "webhook.serving.framing",
    "webhook.serving.chunked",
    "webhook.serving.limits",
    "controllers.explaining.pod_advice",
    "controllers.status.answers",
    "controllers.columns",
    "controllers.wording",
    "controllers.status.web",
    "controllers.status.traffic.window",
    "controllers.checking",
    "controllers.explaining.differences",
    "controllers.explaining.pods",
    "controllers.explaining.addresses",
    "controllers.explaining.advice",
    "controllers.explaining.asking",
    "controllers.explaining.conclusion",
    "controllers.explaining.explainer",
    "controllers.explaining.kinds",
    "controllers.explaining.objects",
    "controllers.explaining.questions",
    "controllers.explaining.report",
    "controllers.explaining.sending",
    "controllers.explaining.rendering",
    "controllers.explaining.wire",
    "controllers.cli.completion_scripts",
    "controllers.cli.grammar",
    "controllers.pod_ip.seen",
    "controllers.pod_ip.telling",
    "controllers.config.document",
    "controllers.config.defaults",
    "controllers.config.environment",
    "controllers.config.features",
    "controllers.config.addresses",
    "controllers.config.bounds",
    "controllers.config.compliance",
    "controllers.sidecars.copies",
    "controllers.config.decoder",
    "controllers.config.address",
    "controllers.plugins.rights",
    "controllers.runtime.arriving",
    "controllers.runtime.pruning",
    "controllers.runtime.decoding",
    "controllers.runtime.watch",
    "controllers.runtime.backoff",
    "controllers.runtime.demand",
    "controllers.runtime.fixed",
    "controllers.pod_ip.resources",
    "controllers.runtime.projection",
    "controllers.runtime.projection_cluster",
    "controllers.runtime.candidate",
    "controllers.runtime.election",
    "controllers.runtime.leases",
    "controllers.runtime.event_series",
    "controllers.certificates.called_names",
    "controllers.edge_health.plan",
    "controllers.edge_health.mending",
    "controllers.database_instance.belonging",
    "controllers.database_instance.ending",
    "controllers.database_instance.keeping",
    "controllers.database_instance.overview",
    "controllers.database_instance.plan",
    "controllers.database_instance.resources",
    "controllers.database_instance.shapes",
    "controllers.database_instance.snapshotting",
    "controllers.database_instance.status",
    "controllers.database_instance.values",
    "controllers.pod_ip.bodies",
    "controllers.runtime.finalizers",
    "controllers.authorization.decision",
    "controllers.authorization.kept",
    "controllers.certificates.bundles",
    "controllers.certificates.plan",
    "controllers.certificates.wanted",
    "controllers.cli.bundle",
    "controllers.status.text",
    "controllers.compatibility.requirements",
    "controllers.pod_ip.actions",
    "controllers.pod_ip.failures",
    "controllers.pod_ip.paths",
    "controllers.pod_ip.plan",
    "controllers.runtime.projection_objects",
    "controllers.testing.patches",
    "controllers.testing.selecting",
    "controllers.coverage.plan",
    "controllers.coverage.evictions",
    "controllers.cli.manifests_config",
    "controllers.status.shortening",
)
IMPURE = {
    "threading",
    "time",
    "socket",
    "ssl",
    "select",
    "selectors",
    "random",
    "secrets",
    "os",
    "subprocess",
    "logging",
    "webhook.logs",
}


def module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> Iterator[str]:
    """Every module that *path* imports, also inside functions; not what only the type checker sees."""
    tree = ast.parse(path.read_text())
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where things live"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def rule(name: str) -> tuple[str, tuple[str, ...]]:
    key = max((prefix for prefix in MAY_IMPORT if within(name, prefix)), key=len)
    return key, MAY_IMPORT[key]


@pytest.mark.parametrize("path", SOURCES, ids=module)
def test_a_module_imports_only_what_its_layer_may(path: Path) -> None:
    name = module(path)
    if name in ("webhook", "controllers"):
        return
    own, allowed = rule(name)
    ours = {imported for imported in imports(path) if imported.split(".")[0] in ("webhook", "controllers")}

    wrong = {imported for imported in ours if not any(within(imported, prefix) for prefix in (own, *allowed))}

    # `from webhook.objects import meta` also names the package itself.
    wrong -= {
        imported for imported in wrong if any(within(prefix, imported) for prefix in (own, *allowed)) and imported in PACKAGES
    }
    assert not wrong, f"{name} may import {allowed}"


PACKAGES = {module(path) for path in SOURCES if path.name == "__init__.py"}


@pytest.mark.parametrize("path", SOURCES, ids=module)
def test_a_package_has_one_importer(path: Path) -> None:
    name = module(path)
    for imported in imports(path):
        importers = IMPORTERS.get(imported.split(".")[0])
        assert importers is None or name in importers, f"{name} imports {imported}: go through {importers}"


@pytest.mark.parametrize("path", [path for path in SOURCES if any(within(module(path), prefix) for prefix in PURE)], ids=module)
def test_what_decides_is_pure(path: Path) -> None:
    assert not IMPURE & set(imports(path))


@pytest.mark.parametrize("path", SOURCES, ids=module)
def test_a_module_that_says_that_it_is_pure_is_held_to_it(path: Path) -> None:
    """What is pure but for something says so: "Pure but for …"."""
    says = re.search(r"\bPure[.;:]", ast.get_docstring(ast.parse(path.read_text())) or "")

    assert says is None or any(within(module(path), prefix) for prefix in PURE)


@pytest.mark.parametrize("path", [path for path in SOURCES if within(module(path), "webhook.features")], ids=module)
def test_no_rule_imports_another(path: Path) -> None:
    others = {imported for imported in imports(path) if within(imported, "webhook.features") and imported != module(path)}

    assert not others


@pytest.mark.parametrize("path", SOURCES, ids=module)
def test_no_module_grows_past_its_concept(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert len(path.read_text().splitlines()) <= 400, "which concept is missing?"
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert (node.end_lineno or 0) - node.lineno < 50, f"{node.name} is too long"
