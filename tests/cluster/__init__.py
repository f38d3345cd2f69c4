"""A real local Kubernetes without Docker, for tests: `python -m tests.cluster` or `Cluster(Settings(name=...))`.

Modules:
    binaries     builds the programs from pinned Go modules, once, into a cache folder
    network      the network namespace that a cluster lives in; sockets into it
    processes    starts, signals and ends programs by pid
    credentials  certificates, tokens, kubeconfigs
    components   the command line of each program
    node         a real node: kubelet, containerd, scheduler, kube-proxy
    image        container images for it, without Docker
    cluster      one cluster: up, restart, suspend, compact, down
    api          a small REST client
    kind         the same questions to a cluster of kind
    kinds        where objects of each kind live in the API
"""

from tests.cluster.api import Api, ApiError, Json
from tests.cluster.cluster import Cluster, ClusterError, Settings

__all__ = ["Api", "ApiError", "Cluster", "ClusterError", "Json", "Settings"]
