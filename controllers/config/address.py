"""Bind addresses as Go programs take them: `:9443`, `127.0.0.1:0`, `[::]:9443`, and `0` for "off".

Pure. Source: net.Listen and controller-runtime's BindAddress options.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

import attrs

_HOST: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?")
_LARGEST_PORT: Final = 65535


@attrs.frozen
class Address:
    """Where a server listens."""

    host: str  # an IP address or a name; "" = every interface
    port: int  # 0 = one that is free
    enabled: bool = True

    @classmethod
    def parse(cls, text: str) -> Address:
        """The address that *text* writes. Raises ValueError saying what is wrong."""
        if text == "0":
            return cls("", 0, enabled=False)
        host, colon, port = text.rpartition(":")
        if not colon:
            raise ValueError(f'{text!r} has no port: write ":{text}" or "{text}:PORT", or "0" to switch it off')
        if host.startswith("[") and host.endswith("]"):
            host = _ipv6(host[1:-1])
        elif ":" in host:
            raise ValueError(f'{text!r}: an IPv6 address stands in brackets, as in "[::1]:9443"')
        elif host and not _HOST.fullmatch(host):
            raise ValueError(f"{text!r}: {host!r} is neither an IP address nor a host name")
        elif host and host.replace(".", "").isdecimal():
            host = _ipv4(host)
        if not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= _LARGEST_PORT):
            raise ValueError(f"{text!r}: a port is a number from 0 (any free one) to {_LARGEST_PORT}, found {port!r}")
        return cls(host, int(port))

    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        if not self.enabled:
            return "0"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _ipv6(host: str) -> str:
    try:
        return str(ipaddress.IPv6Address(host))
    except ValueError:
        raise ValueError(f"[{host}] is not an IPv6 address") from None


def _ipv4(host: str) -> str:
    try:
        return str(ipaddress.IPv4Address(host))
    except ValueError:
        raise ValueError(f"{host} is not an IPv4 address") from None
