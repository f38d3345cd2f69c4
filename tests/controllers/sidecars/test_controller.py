"""What the leader tells of entries that break and are mended: Events on their ConfigMaps."""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs
import pytest

from controllers.runtime.controller import Controller
from controllers.runtime.events import Reference
from controllers.runtime.reconcile import Unguarded
from controllers.runtime.rest import RestClient
from controllers.sidecars.controller import sidecar_entries
from controllers.testing import FakeClock
from tests.controllers.runtime.builders import refuse_death
from tests.controllers.sidecars.scene import FAULTY, NEWER, SOUND, WORSE, Scene, config_map
from webhook.clock import Deadline
from webhook.telemetry import Telemetry


@attrs.frozen
class Told:
    """One Event."""

    regarding: Reference
    reason: str
    note: str
    warning: bool


class Announcements:
    """Implements Announcer: keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self.topics: list[str] = []  # of everything ever told

    def record(
        self, regarding: Reference, *, reason: str, action: str, note: str, warning: bool = False, topic: str = ""
    ) -> None:
        self.told.append(Told(regarding, reason, note, warning))
        self.topics.append(topic)


class Leader:
    """The controller on a clock that stands still, and what it has told since the last look."""

    def __init__(self, scene: Scene) -> None:
        self.clock = FakeClock()
        self._announcements = Announcements()
        self.controller: Controller = sidecar_entries(
            scene.sidecars, self._announcements, Telemetry(), self.clock, refuse_death, leadership=Unguarded()
        )

    @property
    def topics(self) -> list[str]:
        """What each Event that was ever told is about."""
        return self._announcements.topics

    def tells(self) -> list[Told]:
        """The Events of everything that is in line now."""
        self.controller.run_ready()
        told, self._announcements.told = self._announcements.told, []
        return told

    def stop(self) -> None:
        """Lead no more."""
        assert self.controller.stop(Deadline.after(1.0, self.clock))


@pytest.fixture
def scene(client: RestClient) -> Scene:
    return Scene(client)


@pytest.fixture
def leader(scene: Scene) -> Iterator[Leader]:
    made = Leader(scene)
    yield made
    made.stop()


def test_a_broken_entry_is_told_on_its_config_map(scene: Scene, leader: Leader) -> None:
    scene.put(config_map(proxy=SOUND))
    assert leader.tells() == []
    scene.put(config_map(proxy=FAULTY, version=2))

    (told,) = leader.tells()

    assert told.regarding == Reference("ConfigMap", "mesh", "shop", uid="u1")
    assert (told.reason, told.warning) == ("EntryBroken", True)
    assert told.note.startswith('sidecar entry "proxy" is broken, its last good version (')
    assert "line 1, containers[0].image: " in told.note


def test_an_entry_that_was_never_good_is_told_as_such(scene: Scene, leader: Leader) -> None:
    scene.put(config_map(proxy=FAULTY))

    (told,) = leader.tells()

    assert "no version of it was good since this process started: pods that ask for it do not get it" in told.note


def test_a_mended_entry_is_told_once(scene: Scene, leader: Leader) -> None:
    scene.put(config_map(proxy=FAULTY))
    leader.tells()
    scene.put(config_map(proxy=NEWER, version=2))

    (told,) = leader.tells()
    scene.put(config_map(proxy=SOUND, version=3))

    assert (told.reason, told.warning) == ("EntryMended", False)
    assert leader.tells() == []


def test_the_same_faults_are_not_told_twice_but_others_are(scene: Scene, leader: Leader) -> None:
    scene.put(config_map(proxy=FAULTY))
    first = leader.tells()
    scene.put(config_map(proxy=FAULTY, logs=SOUND, version=2))
    second = leader.tells()
    scene.put(config_map(proxy=WORSE, logs=SOUND, version=3))
    third = leader.tells()

    assert [len(first), len(second), len(third)] == [1, 0, 1]


def test_a_new_leader_tells_once_what_is_broken_now(scene: Scene, leader: Leader) -> None:
    scene.put(config_map(proxy=FAULTY))
    scene.put(config_map("other", proxy=SOUND, uid="u2"))

    assert [told.reason for told in leader.tells()] == ["EntryBroken"]
    assert leader.tells() == []


def test_who_leads_again_tells_again(scene: Scene, leader: Leader) -> None:
    scene.put(config_map(proxy=FAULTY))
    leader.tells()
    leader.stop()

    assert [told.reason for told in leader.tells()] == ["EntryBroken"]


def test_an_entry_mended_while_another_led_is_no_news(scene: Scene, leader: Leader) -> None:
    scene.put(config_map(proxy=FAULTY))
    leader.tells()
    leader.stop()
    scene.put(config_map(proxy=SOUND, version=2))

    assert leader.tells() == []


def test_a_config_map_that_is_deleted_is_no_news(scene: Scene, leader: Leader) -> None:
    scene.put(config_map(proxy=FAULTY))
    leader.tells()
    scene.drop(config_map(proxy=FAULTY, version=2))

    assert leader.tells() == []


def test_of_many_faults_the_first_are_shown(scene: Scene, leader: Leader) -> None:
    scene.put(config_map(proxy="containers:\n" + "- {name: proxy, image: 5}\n" * 9))

    (told,) = leader.tells()

    assert re.search(r"; and \d+ more$", told.note)


def test_two_broken_entries_and_two_faults_of_one_are_events_of_their_own(scene: Scene, leader: Leader) -> None:
    scene.put(config_map(proxy=FAULTY, logs=FAULTY))
    leader.tells()
    scene.put(config_map(proxy=WORSE, logs=FAULTY, version=2))
    leader.tells()
    scene.put(config_map(proxy=FAULTY, logs=FAULTY, version=3))
    leader.tells()

    assert len(leader.topics) == 4
    assert len(set(leader.topics)) == 3  # the first fault again is the first Event again
