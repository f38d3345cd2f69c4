"""Command line of the local cluster: `python -m tests.cluster ACTION`. Exit codes: 0 done, 1 failed, 2 wrong use."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from tests.cluster import binaries
from tests.cluster.cluster import Cluster, ClusterError, Settings
from tests.cluster.components import APISERVER, CONTROL_PLANE, CONTROLLER_MANAGER
from tests.cluster.network import NetworkError


def main(arguments: list[str]) -> int:
    """Do what *arguments* say; returns the exit code."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return int(options.action(options) or 0)
    except (ClusterError, NetworkError, binaries.BuildError) as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description="A local Kubernetes without Docker.")
    parser.add_argument("--name", default=os.environ.get("CLUSTER_NAME", "local"), help="which cluster (default: local)")
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    build = actions.add_parser("build", help="build the programs that are missing")
    build.add_argument("node", nargs="?", choices=("node",), help="also those of a real node")
    build.set_defaults(action=_build)

    up = actions.add_parser("up", help="start a cluster; it stays until `down`")
    up.add_argument("node", nargs="?", choices=("node",), help="with a kubelet, containerd, scheduler and kube-proxy")
    up.add_argument("--apiserver-flags", default="", help="more flags for kube-apiserver, as one string")
    up.add_argument("--controller-manager-flags", default="", help="more flags for kube-controller-manager")
    up.set_defaults(action=_up)

    for name, action, text in (
        ("down", _down, "end the cluster and delete its state"),
        ("env", _env, "print KUBECONFIG, NETNS and the folder of logs"),
        ("compact", _compact, "make etcd forget every revision but the last"),
    ):
        actions.add_parser(name, help=text).set_defaults(action=action)

    load = actions.add_parser("load", help="import an image (docker-archive) into the node's containerd")
    load.add_argument("archive", type=Path)
    load.set_defaults(action=_load)

    kubectl = actions.add_parser("kubectl", help="kubectl as administrator", add_help=False)
    kubectl.add_argument("arguments", nargs=argparse.REMAINDER)
    kubectl.set_defaults(action=_kubectl)

    logs = actions.add_parser("logs", help="show a component's log")
    logs.add_argument("component")
    logs.set_defaults(action=_logs)

    for name, text in (
        ("restart", "stop and start one component; flags after it replace its extra flags"),
        ("stop", "SIGSTOP one component: it keeps its sockets and says nothing"),
        ("cont", "SIGCONT it"),
    ):
        one = actions.add_parser(name, help=text)
        one.add_argument("component", choices=CONTROL_PLANE)
        if name == "restart":
            one.add_argument("flags", nargs=argparse.REMAINDER)
        one.set_defaults(action={"restart": _restart, "stop": _stop, "cont": _continue}[name])
    return parser


def _build(options: argparse.Namespace) -> None:
    print(binaries.control_plane())
    if options.node:
        print(binaries.node_programs())


def _up(options: argparse.Namespace) -> None:
    flags = {
        APISERVER: shlex.split(options.apiserver_flags),
        CONTROLLER_MANAGER: shlex.split(options.controller_manager_flags),
    }
    Cluster(Settings(options.name, flags, node=bool(options.node), detached=True)).up()
    _env(options)


def _down(options: argparse.Namespace) -> None:
    Cluster(Settings(options.name)).down()


def _env(options: argparse.Namespace) -> None:
    cluster = Cluster.existing(options.name)
    print(f"KUBECONFIG={cluster.kubeconfig('admin')}")
    print(f"NETNS={cluster.namespace.path}")
    print(f"LOGS={cluster.folder}")


def _load(options: argparse.Namespace) -> None:
    Cluster.existing(options.name).node.load(options.archive)


def _compact(options: argparse.Namespace) -> None:
    print(Cluster.existing(options.name).compact())


def _kubectl(options: argparse.Namespace) -> int:
    return Cluster.existing(options.name).kubectl(*options.arguments).returncode


def _logs(options: argparse.Namespace) -> int:
    path = Cluster.existing(options.name).folder / f"{options.component}.log"
    return subprocess.run(["cat", str(path)]).returncode


def _restart(options: argparse.Namespace) -> None:
    Cluster.existing(options.name).restart(options.component, options.flags or None)


def _stop(options: argparse.Namespace) -> None:
    Cluster.existing(options.name).suspend(options.component)


def _continue(options: argparse.Namespace) -> None:
    Cluster.existing(options.name).resume(options.component)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
