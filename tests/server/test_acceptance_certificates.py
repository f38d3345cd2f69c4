"""A hundred certificates come and go under load, most of them of no use: no call fails, the last good one is served."""

from __future__ import annotations

import datetime
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tests.load.program import LoadError, Result, run
from tests.server.client import Client, wait_until
from tests.server.conftest import pair_of
from tests.server.figures import Figures
from tests.server.replica import Replica, replica
from webhook.serving.tls import KeyPair

ROUNDS = 20
CALLERS = 30  # more than Go keeps idle, so that connections are opened all the time
PAST = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


class Mounted:
    """A mounted Secret, whose two files are replaced at once by the swap of a link."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self.certificate, self.key = folder / "live" / "tls.crt", folder / "live" / "tls.key"

    def put(self, certificate: bytes | None, key: bytes) -> None:
        """Show this pair; None leaves the file out."""
        self._count += 1
        version = self._folder / f"version-{self._count}"
        version.mkdir()
        if certificate is not None:
            (version / "tls.crt").write_bytes(certificate)
        (version / "tls.key").write_bytes(key)
        fresh = self._folder / "fresh"
        fresh.symlink_to(version.name)
        fresh.replace(self._folder / "live")


@attrs.frozen
class Faults:
    """What is put in a good pair's place: label of the metric -> how."""

    mounted: Mounted
    pair: KeyPair
    other: KeyPair
    expired: KeyPair

    def each(self) -> dict[str, Callable[[], None]]:
        """One of each kind."""
        put, pair = self.mounted.put, self.pair
        return {
            "unloadable": lambda: put(pair.certificate[: len(pair.certificate) // 2], pair.key),  # torn
            "mismatched": lambda: put(pair.certificate, self.other.key),
            "expired": lambda: put(self.expired.certificate, self.expired.key),
            "unreadable": lambda: put(None, pair.key),
        }


def reloads(running: Replica, result: str) -> float:
    return running.total("gatehouse_certificate_reloads_total", result=result)


def served(running: Replica) -> bytes:
    with Client(running.address, running.trusting()) as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        return client.socket.getpeercert(binary_form=True) or b""


def der(pair: KeyPair) -> bytes:
    return x509.load_pem_x509_certificate(pair.certificate).public_bytes(Encoding.DER)


def replace(running: Replica, authority: trustme.CA, mounted: Mounted) -> None:
    """The hundred replacements; each has been noticed before the next."""
    for number in range(ROUNDS):
        pair = pair_of(authority)
        before = reloads(running, "ok")
        mounted.put(pair.certificate, pair.key)
        wait_until(lambda before=before: reloads(running, "ok") > before)
        assert served(running) == der(pair)
        faults = Faults(mounted, pair, pair_of(authority), pair_of(authority, not_after=PAST))
        for result, put in faults.each().items():
            before = reloads(running, result)
            put()
            wait_until(lambda result=result, before=before: reloads(running, result) > before)
        assert served(running) == der(pair), f"round {number}"


def under_load(
    folder: Path, authority: trustme.CA, change: Callable[[Replica, trustme.CA, Mounted], None], *weakened: str
) -> tuple[list[Result], list[str], str]:
    """What callers see while *change* happens, second by second, why callers could not even begin, and the log."""
    mounted, pair = Mounted(folder), pair_of(authority)
    mounted.put(pair.certificate, pair.key)
    flags = ("--tls-cert-file", str(mounted.certificate), "--tls-private-key-file", str(mounted.key))
    results: list[Result] = []
    shut_out: list[str] = []
    over = threading.Event()
    with replica(folder, *flags, weakened=["looks-often", *weakened]) as running:
        authority.cert_pem.write_to_path(str(running.ca_file))

        def call() -> None:
            while not over.is_set():
                try:
                    results.append(run(running.load(callers=CALLERS, duration_s=1.0)))
                except LoadError as error:
                    shut_out.append(str(error))

        callers = threading.Thread(target=call, name="test/callers")
        callers.start()
        try:
            change(running, authority, mounted)
        finally:
            over.set()
            callers.join(30)
        return results, shut_out, running.served.log()


def test_a_hundred_replacements_of_all_kinds_under_load_lose_no_call(
    tmp_path: Path, authority: trustme.CA, figures: Figures
) -> None:
    results, shut_out, log = under_load(tmp_path, authority, replace)
    calls, failed = sum(result.requests for result in results), sum(sum(result.errors.values()) for result in results)

    figures.add(f"100 certificates replaced: failed, of {calls} calls", str(failed), "0", not failed)
    assert [result.errors for result in results if result.errors] == []
    assert shut_out == []
    assert calls > 100
    assert sum(result.connections for result in results) > 100  # many had to shake hands meanwhile
    assert "Traceback" not in log


def test_a_server_that_does_not_look_at_its_certificates_would_lose_calls(tmp_path: Path, authority: trustme.CA) -> None:
    def expire(running: Replica, authority: trustme.CA, mounted: Mounted) -> None:
        pair = pair_of(authority, not_after=PAST)
        mounted.put(pair.certificate, pair.key)
        wait_until(lambda: reloads(running, "ok") > 1)
        with pytest.raises(ssl.SSLError):
            served(running)
        mine = running.total("gatehouse_server_handshakes_total", result="certificate")
        wait_until(lambda: running.total("gatehouse_server_handshakes_total", result="certificate") > mine + CALLERS)

    results, shut_out, _ = under_load(tmp_path, authority, expire, "serves-any-certificate")

    assert shut_out or any(result.errors for result in results)
