"""`make schema`: writes webhook/objects/pod_types.json from the OpenAPI of a running test cluster.

The cluster is the one named by CLUSTER_NAME (default: local); without one that is up, a cluster is brought up and ended.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.cluster.cluster import Cluster, ClusterError, Settings
from tests.schema.distill import distill
from webhook.objects import schema

FILE = Path(schema.__file__).with_name(schema.DATA_FILE)


def main() -> int:
    name = os.environ.get("CLUSTER_NAME", "local")
    try:
        write(Cluster.existing(name))
    except ClusterError:
        with Cluster(Settings(f"schema-{os.getpid()}")) as cluster:
            write(cluster)
    return 0


def write(cluster: Cluster) -> None:
    with cluster.api() as api:
        version = api.get("/version")["gitVersion"]
        schemas = api.get("/openapi/v3/api/v1")["components"]["schemas"]
    FILE.write_text(render(distill(schemas, version.removeprefix("v"))))
    print(f"{FILE.name}: Kubernetes {version}, {FILE.stat().st_size} bytes")


def render(data: dict[str, object]) -> str:
    """One line for each type, so that a new version's changes can be read."""
    types = data["types"]
    assert isinstance(types, dict)
    lines = [f"{json.dumps(name)}: {json.dumps(types[name], sort_keys=True)}" for name in sorted(types)]
    return f'{{"kubernetes": {json.dumps(data["kubernetes"])},\n"types": {{\n' + ",\n".join(lines) + "\n}}\n"


if __name__ == "__main__":
    sys.exit(main())
