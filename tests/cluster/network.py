"""A network namespace of its own for each cluster: no address, route or port of the machine is touched.

Clusters side by side use the same addresses, each in its own namespace. A process joins with `command` (nsenter, never
`ip netns exec`, which remounts /sys and hides the cgroups); this process reaches in with `connect`, whose socket stays in
the namespace where it was made, whatever thread uses it. Needs root.
Raises NetworkError when the namespace cannot be made or entered.
Source: setns(2), network_namespaces(7), ip-netns(8).
"""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

import attrs

ADDRESS = "172.30.0.1"  # of the machine inside the namespace; private (RFC 1918) and never routed
_GATEWAY = "172.30.0.254"  # nobody there: a default route must exist for kube-apiserver to choose its own address
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


class NetworkError(Exception):
    """The namespace could not be made or entered: not root, or a kernel without namespaces."""


@attrs.frozen
class Namespace:
    """One named network namespace."""

    name: str

    @property
    def path(self) -> Path:
        """The file that names it for nsenter."""
        return Path("/run/netns") / self.name

    def exists(self) -> bool:
        """Whether it has been made."""
        return self.path.exists()

    def create(self) -> None:
        """Make it, with loopback and one bridge that carries ADDRESS (a bridge needs no kernel module for dummies)."""
        if os.geteuid() != 0:
            raise NetworkError("a local cluster needs root: it lives in a network namespace of its own")
        _ip("netns", "add", self.name)
        within = ("-n", self.name)
        _ip(*within, "link", "set", "lo", "up")
        _ip(*within, "link", "add", "eth0", "type", "bridge")
        _ip(*within, "addr", "add", f"{ADDRESS}/24", "dev", "eth0")
        _ip(*within, "link", "set", "eth0", "up")
        _ip(*within, "route", "add", "default", "via", _GATEWAY, "dev", "eth0")

    def join(self, other: Namespace, address: str, pods_cidr: str) -> None:
        """Make it as a machine of its own, *address*, whose one cable leads to the bridge of *other*."""
        cable = f"to-{address.rpartition('.')[2]}"
        _ip("netns", "add", self.name)
        within = ("-n", self.name)
        _ip("-n", other.name, "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        _ip("-n", other.name, "link", "set", cable, "master", "eth0", "up")
        _ip("-n", other.name, "route", "add", pods_cidr, "via", address)
        _ip(*within, "link", "set", "lo", "up")
        _ip(*within, "addr", "add", f"{address}/24", "dev", "eth0")
        self.cable("up")

    def cable(self, state: str) -> None:
        """Pull the cable of a namespace that has been joined ("down"), or plug it in again ("up")."""
        _ip("-n", self.name, "link", "set", "eth0", state)
        if state == "up":
            _ip("-n", self.name, "route", "replace", "default", "via", ADDRESS)

    def delete(self) -> None:
        """Remove its name; the kernel frees it when its last process has ended."""
        if self.exists():
            _ip("netns", "delete", self.name)

    def command(self, argv: Sequence[str]) -> list[str]:
        """*argv* as a command that runs inside. nsenter execs it, so the pid is the program's own."""
        return ["nsenter", f"--net={self.path}", *argv]

    def connect(self, host: str, port: int, timeout_s: float) -> socket.socket:
        """A TCP connection made inside. Any thread; raises OSError as `socket.create_connection` does."""
        connection = self._socket()
        try:
            connection.settimeout(timeout_s)
            connection.connect((host, port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            connection.close()
            raise
        return connection

    def listen(self) -> socket.socket:
        """A TCP socket that listens inside, on a free port of 127.0.0.1. Any thread."""
        listener = self._socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        return listener

    def _socket(self) -> socket.socket:
        # Only the calling thread changes its namespace, and only for as long as it takes to make the socket.
        with open("/proc/thread-self/ns/net", "rb") as ours, self.path.open("rb") as theirs:
            _enter(theirs.fileno())
            try:
                return socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            finally:
                _enter(ours.fileno())


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, _CLONE_NEWNET):
        raise NetworkError(f"setns: {os.strerror(ctypes.get_errno())}")


def _ip(*arguments: str) -> None:
    result = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=30)
    if result.returncode:
        raise NetworkError(f"ip {' '.join(arguments)}: {result.stderr.strip()}")
