"""Two replicas share a certificate that is renewed, whose CA is replaced, whose Secret is deleted, while pods are created.

What takes months happens at once, because the Secret is given a certificate, and then a CA, that are old. Under failurePolicy
Fail no create is refused for any of it, and each pod is complete. Only a caBundle that somebody empties costs calls, until it
has been written again. With lifetimes of seconds: tests/soak/test_certificates.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
from cryptography import x509

from tests.apiserver import shared_certificate
from tests.apiserver.audit import AuditLog
from tests.apiserver.registration import USER
from tests.apiserver.shared_certificate import SECRET, Fault, Stage, age_authority, age_leaf, bundles, empty_bundles, secret
from tests.apiserver.waiting import wait_for
from tests.cluster import Cluster
from tests.server.figures import Figures

GRACE = {"rotationGrace": "3s"}  # longer than a thread of a busy machine stands still
WITHIN_S = 40.0  # of one change of a certificate, on a machine that has other things to do
RECOVERY_S = 2.0  # after a repair: until the API server has seen it


@attrs.define
class Told:
    """What happened, in order."""

    started: set[bytes] = attrs.field(factory=set)  # what each replica said that callers are to trust
    served: set[bytes] = attrs.field(factory=set)  # certificates that were shown to new connections
    authorities: set[bytes] = attrs.field(factory=set)
    before_emptying: list[str] = attrs.field(factory=list)  # faults
    emptied_s: float = 0.0
    repaired_s: float = 0.0
    repairs: float = 0.0
    afterwards: list[Fault] = attrs.field(factory=list)  # creates that failed
    tried_again: list[float] = attrs.field(factory=list)
    creates: int = 0
    calls: int = 0
    incomplete: list[str] = attrs.field(factory=list)
    forbidden: list[str] = attrs.field(factory=list)


def until_all_serve(stage: Stage, told: Told, met: Callable[[dict[str, bytes]], bool], what: str) -> dict[str, bytes]:
    """Wait until both replicas show a certificate of a Secret that has *met*; that Secret."""
    found: dict[str, bytes] = {}

    def look() -> bool:
        nonlocal found
        found = secret(stage.admin)
        return bool(found) and met(found) and stage.everybody_serves(found)

    wait_for(look, WITHIN_S, what)
    told.served.add(found["tls.crt"])
    told.authorities.add(newest(found))
    return found


def signed(found: dict[str, bytes]) -> bool:
    """Whether the Secret's certificate is one of its newest CA."""
    leaf, ca = (x509.load_pem_x509_certificate(found[key]) for key in ("tls.crt", "ca.crt"))
    return leaf.issuer == ca.subject


def newest(found: dict[str, bytes]) -> bytes:
    """The first CA of the Secret."""
    return found["ca.crt"].partition(b"-----END")[0]


@pytest.fixture(scope="module")
def told(quiet_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Told:
    audit, folder, told = AuditLog(quiet_cluster.audit_log).from_now(), tmp_path_factory.mktemp("certificates"), Told()
    with shared_certificate.two_replicas(quiet_cluster, Path(folder), GRACE) as stage:
        told.started = {replica.bundle() for replica in stage.replicas}
        first = until_all_serve(stage, told, lambda now: True, "a certificate that both serve")
        aged = age_leaf(stage.admin)
        until_all_serve(stage, told, lambda now: now["tls.crt"] not in (first["tls.crt"], aged), "a renewed certificate")
        known = {newest(first), age_authority(stage.admin).partition(b"-----END")[0]}
        # The aged CA is trusted, signs, is old, and is followed by another one, which is trusted and signs.
        third = until_all_serve(stage, told, lambda now: newest(now) not in known and signed(now), "a new CA in use")
        stage.admin.delete(SECRET)
        until_all_serve(
            stage,
            told,
            lambda now: newest(now) != newest(third) and signed(now),
            "a certificate after the deletion",
        )
        told.before_emptying = [fault.what for fault in (*stage.users.faults, *stage.callers.faults)]
        _empty(stage, told)
        told.creates, told.calls = len(stage.users.created), len(stage.callers.calls)
        told.incomplete, told.tried_again = stage.users.incomplete, stage.users.tried_again
        told.afterwards = list(stage.users.faults)
    told.forbidden = audit.forbidden(USER)
    return told


def _empty(stage: Stage, told: Told) -> None:
    """Empty every caBundle, look on until each is back, and a little longer."""
    told.emptied_s, before = time.monotonic(), stage.bundle_writes()
    empty_bundles(stage.admin)
    wait_for(lambda: all(bundles(stage.admin)), WITHIN_S, "caBundles that are back")
    told.repaired_s = time.monotonic()
    done = len(stage.users.created)
    wait_for(lambda: time.monotonic() > told.repaired_s + RECOVERY_S, WITHIN_S, "time to recover")
    wait_for(lambda: len(stage.users.created) > done + 50, WITHIN_S, "creates that succeed")
    told.repairs = stage.bundle_writes() - before  # who writes counts it after the answer, and so later than it is seen


def test_replicas_that_start_together_agree_on_one_ca(told: Told) -> None:
    assert len(told.started) == 1


def test_leaf_and_ca_are_replaced_and_a_deleted_secret_comes_back_with_another_ca(told: Told) -> None:
    assert len(told.served) == 4
    assert len(told.authorities) == 3  # beside the aged one


def test_no_create_is_refused_and_no_caller_is_deceived_by_rotation_and_deletion(told: Told, figures: Figures) -> None:
    text = f"{len(told.before_emptying)} of {told.creates} creates and {told.calls} calls"
    figures.add("faults in leaf and CA rotation and Secret deletion", text, "0", not told.before_emptying)

    assert told.before_emptying == []
    assert told.creates > 100  # 50 a second where nothing else is done
    assert told.calls > 30


def test_every_pod_is_complete(told: Told) -> None:
    assert told.incomplete == []


def test_an_emptied_bundle_costs_only_calls_until_it_is_back_and_each_succeeds_when_tried_again(
    told: Told, figures: Figures
) -> None:
    text = f"{len(told.afterwards)} creates within {told.repaired_s - told.emptied_s:.2f} s, the longest fault"
    longest_s = max(told.tried_again, default=0.0)
    figures.add("emptied caBundle: refused", f"{text} {longest_s:.2f} s", f"<= {RECOVERY_S:g} s", longest_s <= RECOVERY_S)

    assert told.repairs == 2  # one for each configuration
    recovered_s = told.repaired_s + RECOVERY_S
    assert [one for one in told.afterwards if one.at_s < told.emptied_s or one.began_s > recovered_s] == []
    assert len(told.tried_again) >= min(1, len(told.afterwards))


def test_nothing_that_certificates_need_is_forbidden(told: Told) -> None:
    assert told.forbidden == []
