"""The generated files of manifests/: what the table of services registers, for base and for edge-only. See `make manifests`.

python -m tests.manifests.webhooks
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from controllers.config.document import parse
from tests.manifests.files import MANIFESTS, documents
from webhook.admission.configurations import ClientConfig, configurations
from webhook.admission.registry import SERVICES
from webhook.objects.documents import write_yaml
from webhook.objects.meta import Json

BASE = MANIFESTS / "base"
EDGE_ONLY = MANIFESTS / "components" / "edge-only"

_HEAD = """\
# The registrations, from the table in webhook/admission/registry.py: renewed by `make manifests`, held equal to it by a test.
"""
_LAST = "# Apply them last, once replicas are ready and a CA bundle is filled in.\n"


def registered(configuration: str) -> list[Json]:
    """The two webhook configurations of an installation whose configuration is the text *configuration*."""
    settings = parse(configuration, "configuration.yaml").settings()
    left_on = [service for service in SERVICES if service.name not in settings.disabled]
    return configurations(left_on, ClientConfig.service("kube-system", "gatehouse", 443), settings)


def generated() -> Iterator[tuple[Path, str]]:
    """Each file and what has to be in it."""
    (config_map,) = documents(BASE / "30-configuration.yaml")
    found = registered(config_map["data"]["configuration.yaml"])
    yield BASE / "70-webhooks.yaml", _HEAD + _LAST + "---\n".join(map(write_yaml, found))
    (patch,) = documents(EDGE_ONLY / "configuration.yaml")
    for item, name in zip(registered(patch[0]["value"]), ("mutating", "validating"), strict=True):
        operations = [{"op": "replace", "path": "/webhooks", "value": item["webhooks"]}]
        yield EDGE_ONLY / f"{name}-webhooks.yaml", _HEAD + write_yaml(operations)


if __name__ == "__main__":
    for file, text in generated():
        file.write_text(text)
