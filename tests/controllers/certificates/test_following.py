"""What a process follows, by where its certificate comes from."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from controllers.certificates.controller import certificates
from controllers.certificates.expiry import watch_expiry
from controllers.certificates.following import FollowedCertificate
from controllers.certificates.secret import Content
from controllers.certificates.wanted import Files, Followed, Wanted
from controllers.runtime.controller import Controller
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from tests.controllers.certificates.builders import DAY_S, NAME, NAMES, NAMESPACE, NOW_S, configuration, content, secret
from tests.controllers.certificates.scene import MUTATING, Heard, Lease, Scene
from webhook.clock import Deadline
from webhook.telemetry import Telemetry


@pytest.fixture
def files(tmp_path: Path) -> Files:
    found = Files(*(str(tmp_path / name) for name in ("tls.crt", "tls.key", "ca.crt")))
    write(found, content())
    return found


def write(files: Files, value: Content) -> None:
    for path, part in ((files.certificate, value.certificate), (files.key, value.key), (files.ca, value.ca)):
        Path(path).write_bytes(part)


class World:
    """A process whose pair is in files, and which leads."""

    def __init__(self, api: FakeApi, client: RestClient, files: Files) -> None:
        self.api, self.clock = api, FakeClock(wall_s=NOW_S)
        self.followed = FollowedCertificate(Followed(None, files, True), client, Telemetry(), self.clock, lambda *_: None)
        looked_after = self.followed.looked_after()
        assert looked_after is not None
        self.controller: Controller = certificates(
            client, looked_after, Heard(), Telemetry(), self.clock, lambda *_: None, leadership=Lease()
        )

    def run(self) -> None:
        for informer in self.followed.caches.configurations.values():
            objects = self.api.objects.all(MUTATING if "mut" in informer.resource.name else "ValidatingWebhookConfiguration")
            items = [informer.resource.projection.convert(one) for one in objects.values()]
            informer.replace(items, str(self.api.objects.version), keep=())
        self.controller.run_ready()


@pytest.fixture
def world(api: FakeApi, client: RestClient, files: Files) -> Iterator[World]:
    made = World(api, client, files)
    yield made
    assert made.controller.stop(Deadline.after(1.0, made.clock))


def test_the_ca_in_a_file_is_written_into_the_bundles_and_so_is_the_next_one(scene: Scene, world: World, files: Files) -> None:
    scene.put(configuration(MUTATING, None, b""))
    world.run()
    assert scene.bundles() == [content().ca] * 2

    write(files, content("next"))
    world.clock.advance(60.0)
    world.run()

    assert scene.bundles() == [content("next").ca] * 2


def test_files_that_do_not_belong_together_change_no_bundle(scene: Scene, world: World, files: Files) -> None:
    scene.put(configuration(MUTATING, content().ca))
    Path(files.ca).write_bytes(content("other").ca)

    world.run()

    assert scene.writes() == []


def test_a_file_that_is_missing_changes_no_bundle(scene: Scene, world: World, files: Files) -> None:
    scene.put(configuration(MUTATING, b""))
    Path(files.ca).unlink()

    world.run()

    assert scene.writes() == []


def test_the_names_that_the_configurations_call_are_held_against_the_served_ones(scene: Scene, world: World) -> None:
    scene.put(configuration(MUTATING, content().ca))
    assert world.followed.status({"localhost"})["uncovered"] is None  # nobody knows the configurations yet

    world.run()

    assert world.followed.status({"localhost"})["uncovered"] == ("gatehouse.kube-system.svc",)
    assert world.followed.status(set(NAMES))["uncovered"] == ()
    assert world.followed.status(None)["uncovered"] is None


def test_with_cert_manager_there_is_nothing_to_lead(client: RestClient) -> None:
    wanted = Wanted(NAMESPACE, NAME, ours=False)

    followed = FollowedCertificate(Followed(wanted, None, False), client, Telemetry(), FakeClock(), lambda *_: None)

    assert followed.looked_after() is None
    assert list(followed.caches.configurations) == []


def test_expiry_is_told_in_seconds_left(scene: Scene, client: RestClient) -> None:
    scene.put(secret(content()))
    clock, telemetry = FakeClock(wall_s=NOW_S), Telemetry()
    followed = FollowedCertificate(
        Followed(Wanted(NAMESPACE, NAME, NAMES), None, True), client, telemetry, clock, lambda *_: None
    )
    watch_expiry(telemetry, clock, lambda: None, followed.ca_expiry_s)

    def told() -> dict[str, str]:
        lines = [line for line in telemetry.expose().decode().splitlines() if line.startswith("gatehouse_certificate_expiry_s")]
        return {line.partition('"')[2].partition('"')[0]: line.rpartition(" ")[2] for line in lines}

    assert told() == {"leaf": "NaN", "ca": "NaN"}
    followed.ensure(threading.Event())
    assert float(told()["ca"]) == 365 * DAY_S
    clock.step_wall(366 * DAY_S)
    assert float(told()["ca"]) == -DAY_S
    assert attrs.asdict(content())["key"] not in followed.bundle()
