"""Replicas that start, before anything listens: one certificate for all of them, whoever comes first."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import attrs
import pytest

from controllers.certificates.ensured import START_WITHIN_S, ensure
from controllers.certificates.plan import Held, Seen, decide
from controllers.certificates.secret import Content
from controllers.certificates.wanted import Wanted
from controllers.config.webhook import CertificateSection
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from controllers.testing.answers import status
from tests.controllers.certificates.builders import DAY_S, NAME, NAMES, NAMESPACE, NOW_S, configuration, content, secret
from tests.controllers.certificates.scene import MUTATING, Scene, held_of
from webhook.serving.chains import certificates_in

WANTED = Wanted(NAMESPACE, NAME, NAMES)
THEIRS = Wanted(NAMESPACE, NAME, ours=False)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(wall_s=NOW_S, auto_advance=True)


def started(client: RestClient, clock: FakeClock, wanted: Wanted = WANTED) -> Held:
    found = ensure(client, wanted, clock, threading.Event())
    assert found is not None
    return found


def test_the_first_replica_makes_the_secret(scene: Scene, client: RestClient, clock: FakeClock) -> None:
    found = started(client, clock)

    stored = scene.stored()
    assert stored is not None
    assert found.pair == held_of(stored).pair
    assert found.signer == 0
    assert found.pair is not None
    assert found.pair.leaf.names == set(NAMES)
    assert scene.api.objects.all("Secret")[f"{NAMESPACE}/{NAME}"]["type"] == "kubernetes.io/tls"


def test_a_sound_secret_is_taken_as_it_is(scene: Scene, client: RestClient, clock: FakeClock) -> None:
    scene.put(secret(content()))

    found = started(client, clock)

    assert found.pair == held_of(content()).pair
    assert scene.writes() == []


def test_replicas_that_start_together_agree(api: FakeApi, client: RestClient, clock: FakeClock) -> None:
    with ThreadPoolExecutor(8) as replicas:
        found = list(replicas.map(lambda _: started(client, clock), range(8)))

    assert len({held.pair for held in found}) == 1
    assert len({held.authorities for held in found}) == 1


def test_who_is_second_reads_what_the_first_one_made(scene: Scene, client: RestClient, clock: FakeClock) -> None:
    def another_was_first(exchange: object) -> None:
        scene.put(secret(content()))
        scene.api.ordinary(exchange)  # type: ignore[arg-type]

    scene.api.next("create", another_was_first)

    assert started(client, clock).pair == held_of(content()).pair


@pytest.mark.parametrize(
    "bad",
    [
        attrs.evolve(content(), key=b"no key"),
        attrs.evolve(content(), key=content(number=1).key),
        attrs.evolve(content(), certificate=b""),
        Content(),
        content(now_s=NOW_S - 91 * DAY_S),
        content(names=("other.kube-system.svc",)),
    ],
    ids=["unreadable", "torn", "no certificate", "empty", "expired", "another name"],
)
def test_a_secret_that_cannot_be_served_is_mended(scene: Scene, client: RestClient, clock: FakeClock, bad: object) -> None:
    scene.put(secret(bad))  # type: ignore[arg-type]

    found = started(client, clock)

    assert found.pair is not None
    assert found.pair.leaf.not_after_s > NOW_S
    assert found.signer == 0


@pytest.mark.parametrize(
    "host", ["Hook.Example.com", "fd00:0::1", "FD00::1", "fe80::1%eth0", "::ffff:10.0.0.1", "*.edge.example"]
)
def test_a_host_however_it_is_written_is_in_the_certificate_and_the_next_start_finds_it_there(
    scene: Scene, client: RestClient, clock: FakeClock, host: str
) -> None:
    wanted = CertificateSection(secret_name=NAME, hosts=(host,)).wanted(NAMESPACE)
    assert wanted is not None
    first = started(client, clock, wanted)
    made = len(scene.writes())

    second = started(client, clock, wanted)

    assert second.pair == first.pair
    assert len(scene.writes()) == made
    assert decide(Seen(second, second, (), None), wanted.names, wanted.timing, NOW_S).step is None


def test_a_ca_that_can_still_sign_is_not_replaced(scene: Scene, client: RestClient, clock: FakeClock) -> None:
    scene.put(secret(attrs.evolve(content(), key=b"no key")))

    assert started(client, clock).authorities == held_of(content()).authorities


def test_a_secret_that_another_replica_mends_meanwhile_is_read_again(
    scene: Scene, client: RestClient, clock: FakeClock
) -> None:
    scene.put(secret(attrs.evolve(content(), key=b"no key")))

    def another_was_first(exchange: object) -> None:
        scene.put(secret(content()))
        scene.api.ordinary(exchange)  # type: ignore[arg-type]

    scene.api.next("patch", another_was_first)

    assert started(client, clock).pair == held_of(content()).pair


def test_a_replica_waits_for_the_leader_to_restore_a_deleted_secret(scene: Scene, client: RestClient, clock: FakeClock) -> None:
    held = content()
    scene.put(configuration(MUTATING, held.ca))
    asked = 0

    def leader_acts(exchange: object) -> None:
        nonlocal asked
        asked += 1
        if asked == 3:
            scene.put(secret(held))
        scene.api.ordinary(exchange)  # type: ignore[arg-type]

    scene.api.always("get", leader_acts, f"/api/v1/namespaces/{NAMESPACE}/secrets")

    assert started(client, clock).pair == held_of(held).pair
    assert scene.api.count("create") == 0


def test_without_a_leader_a_deleted_secret_is_made_and_the_trusted_ca_stays_in_the_bundle(
    scene: Scene, client: RestClient, clock: FakeClock
) -> None:
    held = content()
    scene.put(configuration(MUTATING, held.ca))

    found = started(client, clock)

    assert found.bundle() != held.ca
    assert certificates_in(held.ca)[0] in certificates_in(found.bundle())


def test_an_api_server_that_is_away_is_waited_for(scene: Scene, client: RestClient, clock: FakeClock) -> None:
    scene.put(secret(content()))
    scene.api.next("get", *[status(503)] * 7)

    assert started(client, clock).pair == held_of(content()).pair


def test_the_wait_is_bounded_and_its_end_says_why(scene: Scene, client: RestClient, clock: FakeClock) -> None:
    scene.api.always("get", status(403))
    begin_s = clock.monotonic_s()

    with pytest.raises(OSError, match=r"kube-system/gatehouse-tls after 60 s: .*403.*a Role gives"):
        started(client, clock)

    assert clock.monotonic_s() - begin_s == pytest.approx(START_WITHIN_S, abs=5.0)


def test_a_stop_ends_the_wait(scene: Scene, client: RestClient) -> None:
    scene.api.always("get", status(503))
    clock, stopping = FakeClock(), threading.Event()
    with ThreadPoolExecutor(1) as thread:
        result = thread.submit(ensure, client, WANTED, clock, stopping)
        clock.until_waiting()

        stopping.set()

        assert result.result(5.0) is None


def test_somebody_elses_secret_is_waited_for_and_never_written(scene: Scene, client: RestClient, clock: FakeClock) -> None:
    with pytest.raises(OSError, match="it is not there"):
        started(client, clock, THEIRS)

    assert scene.writes() == []


def test_somebody_elses_secret_may_be_for_any_name(scene: Scene, client: RestClient, clock: FakeClock) -> None:
    other = content(names=("other.example.com",))
    scene.put(secret(other))

    assert started(client, clock, THEIRS).pair == held_of(other).pair


def test_a_create_in_a_namespace_that_does_not_exist_is_said(scene: Scene, client: RestClient, clock: FakeClock) -> None:
    scene.api.always("create", status(404))

    with pytest.raises(OSError, match="404"):
        started(client, clock)
