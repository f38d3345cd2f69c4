"""Packets that vanish: TCP connections that are open go dead in both directions, without a reset, while new ones work.

As when a NAT, a balancer or a firewall has lost its table. Rules of policy routing do it, inside the cluster's namespace:
iproute2 is all that it needs.
Source: ip-rule(8); proc(5), /proc/PID/net/tcp.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path

from tests.cluster.network import Namespace

_ESTABLISHED = "01"
_BEFORE_EVERYTHING, _AFTER_THE_HOLES, _HOLES = "0", "20", "10"  # preferences of rules; the smallest is asked first


def connections(pid: int, server_port: int) -> set[int]:
    """The local ports of all connections of the process *pid* to *server_port*."""
    files = Path(f"/proc/{pid}/fd")
    sockets = set()
    for file in files.iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            sockets.add(os.readlink(file))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, local, remote, state, *rest = line.split()
            if state == _ESTABLISHED and _port(remote) == server_port and f"socket:[{rest[5]}]" in sockets:
                found.add(_port(local))
    return found


@contextlib.contextmanager
def swallowing(namespace: Namespace, ports: Collection[int], server_port: int) -> Iterator[None]:
    """Inside the block nothing passes between *ports* and *server_port*; afterwards what both ends still repeat does."""
    holes = [
        ("pref", _HOLES, "ipproto", "tcp", ours, str(port), theirs, str(server_port), "blackhole")
        for port in ports
        for ours, theirs in (("sport", "dport"), ("dport", "sport"))
    ]
    # The rule that finds the machine's own addresses comes first, where no hole could be before it.
    _rule(namespace, "add", "pref", _AFTER_THE_HOLES, "lookup", "local")
    _rule(namespace, "del", "pref", _BEFORE_EVERYTHING)
    try:
        for hole in holes:
            _rule(namespace, "add", *hole)
        yield
    finally:
        _rule(namespace, "add", "pref", _BEFORE_EVERYTHING, "lookup", "local")
        _rule(namespace, "del", "pref", _AFTER_THE_HOLES)
        for hole in holes:
            _rule(namespace, "del", *hole)


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


def _rule(namespace: Namespace, *arguments: str) -> None:
    result = subprocess.run(["ip", "-n", namespace.name, "rule", *arguments], capture_output=True, text=True, timeout=30)
    if result.returncode:
        raise AssertionError(f"ip rule {' '.join(arguments)}: {result.stderr.strip()}")
