"""kopf's admission server and its dispatch, without its operator: `python -m tests.bench.kopf_peer CERTIFICATE KEY RULES`.

A handler in kopf's own way injects the sidecar; another says yes to Endpoints. What discovery would have found in a cluster is
given by hand, for which private modules of kopf are used. Needs the extra `bench`.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import sys
import urllib.parse
from pathlib import Path
from typing import Any

import kopf
from kopf._cogs.structs.references import Insights, Resource
from kopf._core.engines.admission import serve_admission_request
from kopf._core.engines.indexing import OperatorIndexers
from kopf._core.reactor.inventory import ResourceMemories

from tests.bench.injecting import injected

_VERBS = frozenset({"list", "watch", "patch", "get", "create", "update", "delete"})


def registry(rules: dict[str, Any]) -> kopf.OperatorRegistry:
    """The handlers."""
    found = kopf.OperatorRegistry()

    @kopf.on.mutate("pods", registry=found, id="mutate")
    def mutate(body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
        changed = injected(dict(body), rules)
        patch.spec["initContainers"] = changed["spec"]["initContainers"]
        patch.spec["volumes"] = changed["spec"]["volumes"]
        patch.metadata.annotations.update(changed["metadata"]["annotations"])

    @kopf.on.validate("endpoints", registry=found, id="endpoint")
    def endpoint(**_: Any) -> None:
        return

    return found


async def serve(certificate: str, key: str, rules: dict[str, Any]) -> None:
    """Serve until killed."""
    insights = Insights()
    for plural, kind in (("pods", "Pod"), ("endpoints", "Endpoints")):
        insights.webhook_resources.add(
            Resource(
                group="",
                version="v1",
                plural=plural,
                kind=kind,
                singular=kind.lower(),
                namespaced=True,
                preferred=True,
                verbs=_VERBS,
            )
        )
    answer = functools.partial(
        serve_admission_request,
        settings=kopf.OperatorSettings(),
        memories=ResourceMemories(),
        memobase=kopf.Memo(),
        registry=registry(rules),
        insights=insights,
        indices=OperatorIndexers().indices,
    )
    server = kopf.WebhookServer(addr="127.0.0.1", certfile=certificate, pkeyfile=key, cadata=b"")
    async for config in server(answer):  # ends when killed
        address = urllib.parse.urlsplit(config["url"]).netloc
        print(json.dumps({"webhook": address}), flush=True)


def main(certificate: str, key: str, rules: str) -> None:
    """Serve until killed."""
    logging.disable(logging.WARNING)  # a line for each admission is its default
    asyncio.run(serve(certificate, key, json.loads(Path(rules).read_text())))


if __name__ == "__main__":
    main(*sys.argv[1:])
