"""The command line of each program of a control plane: what a kubeadm cluster sets, less what one machine does not need.

Pure. A flag given last wins, so the caller's extra flags override these.
Source: kubernetes.io/docs: command line tools reference; etcd.io/docs: configuration options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cluster.network import ADDRESS

ETCD = "etcd"
APISERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
CONTROL_PLANE = (ETCD, APISERVER, CONTROLLER_MANAGER)  # in the order of starting

ETCD_PORT = 2379
APISERVER_PORT = 6443
SERVER = f"https://{ADDRESS}:{APISERVER_PORT}"

# Everything at level Metadata: who asked for what, the answer's code, and which webhook changed the object.
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
"""


def kubeconfig(folder: Path, user: str) -> Path:
    """Where the kubeconfig of *user* (a key of credentials.USERS) is."""
    return folder / f"{user}.kubeconfig"


def audit_log(folder: Path) -> Path:
    """Where the API server writes its audit log, one JSON event per line."""
    return folder / "audit.log"


def command(component: str, folder: Path, extra: Mapping[str, Sequence[str]]) -> list[str]:
    """The arguments of *component* (its own name first) for a cluster whose state is in *folder*."""
    flags = {ETCD: _etcd, APISERVER: _apiserver, CONTROLLER_MANAGER: _controller_manager}[component](folder)
    return [component, *(f"--{name}={value}" for name, value in flags.items()), *extra.get(component, ())]


def _etcd(folder: Path) -> dict[str, str]:
    client, peer = f"http://127.0.0.1:{ETCD_PORT}", "http://127.0.0.1:2380"
    return {
        "data-dir": str(folder / "etcd"),
        "unsafe-no-fsync": "true",  # the state is thrown away; a disk that is slow to sync would only blur timings
        "log-level": "warn",
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
    }


def _apiserver(folder: Path) -> dict[str, str]:
    secrets = folder / "credentials"
    return {
        "etcd-servers": f"http://127.0.0.1:{ETCD_PORT}",
        "secure-port": str(APISERVER_PORT),
        "bind-address": "0.0.0.0",
        "advertise-address": ADDRESS,
        "tls-cert-file": str(secrets / "apiserver.pem"),
        "tls-private-key-file": str(secrets / "apiserver.pem"),
        "cert-dir": str(folder),
        "token-auth-file": str(secrets / "tokens.csv"),
        "authorization-mode": "Node,RBAC",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": str(secrets / "service-accounts.pub"),
        "service-account-signing-key-file": str(secrets / "service-accounts.key"),
        "service-cluster-ip-range": "10.0.0.0/24",
        "allow-privileged": "true",
        "kubelet-preferred-address-types": "InternalIP",
        "audit-policy-file": str(folder / "audit-policy.yaml"),
        "audit-log-path": str(audit_log(folder)),
    }


def _controller_manager(folder: Path) -> dict[str, str]:
    secrets = folder / "credentials"
    own = str(kubeconfig(folder, "controller-manager"))
    return {
        "kubeconfig": own,
        "authentication-kubeconfig": own,
        "authorization-kubeconfig": own,
        "service-account-private-key-file": str(secrets / "service-accounts.key"),
        "root-ca-file": str(secrets / "ca.crt"),
        # One account per controller, as on real clusters: the endpoint and node controllers are told apart by it, and the
        # controller manager's own user may create hardly anything.
        "use-service-account-credentials": "true",
        "leader-elect": "false",
        "bind-address": "127.0.0.1",
        "cert-dir": str(folder),
    }
