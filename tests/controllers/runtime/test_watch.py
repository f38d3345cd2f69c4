"""The list/watch machine, by transcript: what is observed, what is asked next."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.runtime import errors
from controllers.runtime.backoff import Backoff
from controllers.runtime.errors import ApiError, StoreError
from controllers.runtime.resource import Added, Bookmark, Item, Page, Removed, Skipped
from controllers.runtime.watch import (
    Advance,
    Apply,
    Begun,
    Discard,
    Failed,
    Got,
    GotPage,
    ListPage,
    Note,
    Opened,
    OpenWatch,
    Phase,
    ReadEvent,
    Sleep,
    Stage,
    Swap,
    WatchPolicy,
    begin,
    step,
)

PAGES = WatchPolicy(stream_lists=False)
STREAMS = WatchPolicy(stream_lists=True)


class Machine:
    """The machine, its clock, and the effects of its last step."""

    def __init__(self, policy: WatchPolicy = PAGES, *, random: float = 0.0) -> None:
        self.state = begin(policy, Backoff())
        self.now_s = 1000.0
        self.random = random
        self.effects: tuple[Any, ...] = ()

    def see(self, *observations: Any, after_s: float = 0.0) -> Any:
        """The last question, after each of *observations* in turn."""
        self.now_s += after_s
        for seen in observations:
            self.state, self.effects = step(self.state, seen, self.now_s, self.random)
        return self.effects[-1]

    def sleeps_then(self, error: ApiError | StoreError | None, *, after_s: float = 0.0) -> Any:
        """The question after *error* and the sleep that it costs."""
        sleep = self.see(Failed(error), after_s=after_s)
        assert isinstance(sleep, Sleep)
        return self.see(Begun(), after_s=sleep.seconds)

    def notes(self) -> list[tuple[str, str]]:
        return [(effect.what, effect.reason) for effect in self.effects if isinstance(effect, Note)]


def item(name: str = "a", version: str = "7") -> Item[str]:
    return Item(name, "uid", version, name)


def page(*items: Item[str], version: str = "5", token: str = "") -> GotPage[str]:
    return GotPage(Page(items, version, token))


def watching(*, version: str = "5", policy: WatchPolicy = PAGES) -> Machine:
    machine = Machine(policy)
    machine.see(Begun(), *((Failed(errors.Invalid("no WatchList")),) if policy.stream_lists else ()))
    machine.see(page(version=version), Opened())
    assert machine.state.phase is Phase.WATCHING
    return machine


def gone() -> ApiError:
    return errors.Gone("too old", status=410)


def too_large() -> ApiError:
    return errors.TooLargeResourceVersion("too large", status=504)


def refused() -> ApiError:
    return errors.Unreachable("connection refused")


# -- listing


def test_the_first_list_asks_for_whatever_the_server_has_in_pages() -> None:
    assert Machine().see(Begun()) == ListPage({"limit": "500", "resourceVersion": "0"})


def test_a_page_token_is_sent_without_a_version() -> None:
    machine = Machine()

    question = machine.see(Begun(), page(item(), token="t1"))

    assert question == ListPage({"limit": "500", "continue": "t1"})
    assert machine.effects[0] == Stage(page(item(), token="t1").page)


def test_the_store_is_swapped_once_after_the_last_page() -> None:
    machine = Machine()
    machine.see(Begun(), page(item("a"), token="t1"))
    assert not any(isinstance(effect, Swap) for effect in machine.effects)

    machine.see(page(item("b")))

    assert [type(effect) for effect in machine.effects] == [Stage, Swap, Note, OpenWatch]
    assert machine.effects[1] == Swap("5")


def test_the_version_of_a_list_is_that_of_its_first_page() -> None:
    machine = Machine()

    machine.see(Begun(), page(version="5", token="t1"), page(version="6"))

    assert Swap("5") in machine.effects


def test_a_list_is_followed_by_a_watch_from_its_version() -> None:
    question = Machine().see(Begun(), page(version="5"))

    assert question.params["resourceVersion"] == "5"
    assert question.params["allowWatchBookmarks"] == "true"
    assert "sendInitialEvents" not in question.params


def test_a_relist_asks_for_the_last_version_without_pages() -> None:
    machine = watching()
    machine.see(Got(Added(item(version="9"))))

    question = machine.sleeps_then(errors.Forbidden("no"))

    assert question == ListPage({"resourceVersion": "9"})


def test_a_relist_has_pages_where_the_server_paged_the_first_list() -> None:
    machine = Machine()
    machine.see(Begun(), page(token="t1"), page(), Opened())

    question = machine.sleeps_then(gone())

    assert question == ListPage({"limit": "500", "resourceVersion": "5"})


@pytest.mark.parametrize("error", [gone(), too_large()])
def test_a_refused_list_version_is_dropped_at_once(error: ApiError) -> None:
    machine = watching()
    machine.sleeps_then(gone())

    assert machine.see(Failed(error)) == ListPage({"limit": "500"})
    assert machine.state.version_refused


def test_a_list_refused_without_a_version_waits() -> None:
    machine = watching()
    machine.sleeps_then(gone())
    machine.see(Failed(gone()))

    assert isinstance(machine.see(Failed(gone())), Sleep)


def test_an_answered_list_makes_the_version_good_again() -> None:
    machine = watching()
    machine.sleeps_then(gone())

    machine.see(Failed(too_large()), page(version="3"), Opened())

    assert machine.sleeps_then(gone()) == ListPage({"resourceVersion": "3"})


def test_an_expired_page_token_leads_to_one_full_list() -> None:
    machine = Machine()
    machine.see(Begun(), page(item(), token="t1"))

    question = machine.see(Failed(gone()))

    assert question == ListPage({"resourceVersion": "0"})
    assert machine.effects[0] == Discard()
    assert machine.notes() == [("list", "token-expired")]


def test_an_expired_token_does_not_lead_to_a_second_full_list() -> None:
    machine = Machine()
    machine.see(Begun(), page(token="t1"), Failed(gone()))

    assert machine.see(Failed(gone())) == ListPage({"limit": "500"})
    assert isinstance(machine.see(Failed(gone())), Sleep)


def test_a_failed_page_discards_the_ones_before() -> None:
    machine = Machine()
    machine.see(Begun(), page(item(), token="t1"))

    machine.see(Failed(errors.ServerError("boom")))

    assert [type(effect) for effect in machine.effects] == [Discard, Sleep]


def test_a_list_without_a_version_is_a_failure() -> None:
    sleep = Machine().see(Begun(), page(version=""))

    assert isinstance(sleep, Sleep)
    assert isinstance(sleep.error, errors.UndecodableAnswer)


# -- WatchList


def test_a_stream_is_tried_before_pages() -> None:
    question = Machine(STREAMS).see(Begun())

    assert isinstance(question, OpenWatch)
    assert question.params["sendInitialEvents"] == "true"
    assert question.params["resourceVersionMatch"] == "NotOlderThan"
    assert question.params["resourceVersion"] == ""


def test_initial_events_are_staged_until_the_marked_bookmark() -> None:
    machine = Machine(STREAMS)
    machine.see(Begun(), Opened())

    machine.see(Got(Added(item())))
    staged = machine.effects
    machine.see(Got(Bookmark("5", initial_events_end=True)))

    assert staged == (Stage(Added(item())), ReadEvent())
    assert machine.effects == (Swap("5"), ReadEvent())
    assert machine.state.phase is Phase.WATCHING


def test_an_ordinary_bookmark_does_not_end_the_initial_events() -> None:
    machine = Machine(STREAMS)

    machine.see(Begun(), Opened(), Got(Added(item())), Got(Bookmark("5")))

    assert machine.effects == (ReadEvent(),)
    assert machine.state.phase is Phase.STREAMING


def test_after_the_mark_the_same_stream_is_the_watch() -> None:
    machine = Machine(STREAMS)
    machine.see(Begun(), Opened(), Got(Bookmark("5", initial_events_end=True)))

    machine.see(Got(Removed(item(version="6"))))

    assert machine.effects == (Apply(Removed(item(version="6"))), ReadEvent())
    assert machine.state.version == "6"


def test_a_list_that_did_not_fit_into_its_time_is_streamed_from_then_on() -> None:
    machine = Machine(PAGES)

    assert isinstance(machine.see(Begun()), ListPage)
    sleep = machine.see(Failed(errors.TimedOut("no answer in time"), begun=True))
    assert isinstance(sleep, Sleep)
    assert isinstance(machine.see(Begun()), OpenWatch)
    machine.see(Opened(), Got(Bookmark("5", initial_events_end=True)))
    question = machine.sleeps_then(gone())

    assert isinstance(question, OpenWatch)
    assert question.params["sendInitialEvents"] == "true"


@pytest.mark.parametrize(
    ("error", "begun"),
    [(errors.TimedOut("no connection in time"), False), (errors.Unreachable("cut"), True), (errors.ServerError("boom"), True)],
)
def test_an_outage_says_nothing_of_the_size_of_a_list(error: ApiError, begun: bool) -> None:
    machine = Machine(PAGES)

    assert isinstance(machine.see(Begun(), Failed(error, begun=begun)), Sleep)
    assert isinstance(machine.see(Begun()), ListPage)


@pytest.mark.parametrize("error", [errors.Invalid("forbidden"), errors.BadRequest("unknown parameter")])
def test_a_server_without_streams_is_not_asked_again(error: ApiError) -> None:
    machine = Machine(STREAMS)

    assert machine.see(Begun(), Failed(error)) == ListPage({"limit": "500", "resourceVersion": "0"})
    assert isinstance(machine.sleeps_then(errors.ServerError("boom")), ListPage)


@pytest.mark.parametrize("error", [errors.ServerError("boom"), errors.Forbidden("no"), errors.TimedOut("silent")])
def test_other_errors_fall_back_to_pages_this_time(error: ApiError) -> None:
    machine = Machine(STREAMS)

    assert isinstance(machine.see(Begun(), Failed(error)), ListPage)
    assert isinstance(machine.sleeps_then(errors.ServerError("boom")), OpenWatch)


def test_a_throttled_stream_is_tried_again_after_the_wait() -> None:
    machine = Machine(STREAMS)
    machine.see(Begun())

    question = machine.sleeps_then(errors.Throttled("busy", retry_after_s=3.0))

    assert question.params["sendInitialEvents"] == "true"
    assert machine.now_s == 1003.0


def test_a_stream_that_is_cut_before_its_mark_begins_anew() -> None:
    machine = Machine(STREAMS)
    machine.see(Begun(), Opened(), Got(Added(item())))

    question = machine.sleeps_then(refused())

    assert question.params["sendInitialEvents"] == "true"
    assert machine.effects[0] == Discard()


def test_streams_that_are_always_cut_give_way_to_pages() -> None:
    machine = Machine(STREAMS)
    machine.see(Begun(), Opened())
    machine.sleeps_then(refused())
    machine.see(Opened())

    assert isinstance(machine.see(Failed(refused())), ListPage)


def test_a_stream_that_ends_without_its_mark_gives_way_to_pages() -> None:
    # A server that does not know the parameter ignores it and never sends the mark.
    machine = Machine(STREAMS)
    machine.see(Begun(), Opened(), Got(Added(item())))

    assert isinstance(machine.see(Failed(None), after_s=300.0), ListPage)


@pytest.mark.parametrize("error", [gone(), too_large()])
def test_a_stream_refused_for_its_version_asks_for_any(error: ApiError) -> None:
    machine = Machine(STREAMS)
    machine.see(Begun(), Opened(), Got(Bookmark("5", initial_events_end=True)))
    question = machine.sleeps_then(gone())
    assert question.params["resourceVersion"] == "5"

    question = machine.sleeps_then(error)

    assert "resourceVersion" not in question.params


def test_a_stream_cut_after_its_mark_goes_on_as_a_plain_watch() -> None:
    machine = Machine(STREAMS)
    machine.see(Begun(), Opened(), Got(Bookmark("5", initial_events_end=True)))

    question = machine.sleeps_then(refused(), after_s=30.0)

    assert "sendInitialEvents" not in question.params
    assert question.params["resourceVersion"] == "5"


# -- watching


@pytest.mark.parametrize(("random", "seconds"), [(0.0, "300"), (0.5, "450"), (0.999, "599")])
def test_a_watch_asks_for_five_to_ten_minutes(random: float, seconds: str) -> None:
    machine = Machine(random=random)

    assert machine.see(Begun(), page()).params["timeoutSeconds"] == seconds


def test_events_are_applied_and_move_the_version() -> None:
    machine = watching()

    machine.see(Got(Added(item(version="8"))))

    assert machine.effects == (Apply(Added(item(version="8"))), ReadEvent())
    assert machine.state.version == "8"


def test_a_bookmark_moves_the_version() -> None:
    machine = watching()

    machine.see(Got(Bookmark("11")))

    assert machine.effects == (Advance("11"), ReadEvent())
    assert machine.see(Failed(None), after_s=10.0).params["resourceVersion"] == "11"


def test_what_cannot_be_used_is_noted_and_the_watch_goes_on() -> None:
    machine = watching()
    skipped = Skipped("wrong-type", "expected v1 Node, found v1 Pod")

    machine.see(Got(skipped))

    assert machine.effects == (Note("skip", "wrong-type", skipped), ReadEvent())
    assert machine.state.version == "5"


def test_a_watch_that_ends_by_its_timeout_is_opened_again_at_once() -> None:
    machine = watching()
    machine.see(Got(Added(item(version="8"))))

    question = machine.see(Failed(None), after_s=400.0)

    assert question.params["resourceVersion"] == "8"
    assert machine.notes() == [("watch", "ended")]


@pytest.mark.parametrize("error", [refused(), errors.TimedOut("silent"), errors.Throttled("busy")])
def test_an_unreachable_or_busy_server_is_waited_for_without_a_list(error: ApiError) -> None:
    machine = watching()

    for _ in range(20):
        question = machine.sleeps_then(error)
        assert isinstance(question, OpenWatch)
        assert question.params["resourceVersion"] == "5"


def test_an_expired_watch_relists_from_the_last_version() -> None:
    machine = watching(version="5")
    machine.see(Got(Bookmark("9")))

    assert machine.sleeps_then(gone()) == ListPage({"resourceVersion": "9"})
    assert machine.notes() == [("list", "gone")]


def test_server_errors_are_retried_before_a_relist() -> None:
    machine = watching()

    questions = [machine.sleeps_then(errors.ServerError("boom")) for _ in range(3)]

    assert [type(question) for question in questions] == [OpenWatch, OpenWatch, ListPage]


def test_an_event_forgives_the_server_errors_before_it() -> None:
    machine = watching()
    for _ in range(2):
        machine.sleeps_then(errors.ServerError("boom"))
    machine.see(Opened(), Got(Bookmark("6")))

    assert isinstance(machine.sleeps_then(errors.ServerError("boom")), OpenWatch)


def test_a_watch_that_ends_at_once_counts_as_a_failure() -> None:
    machine = watching()

    assert machine.see(Failed(None), after_s=0.9) == Sleep(0.8, "short", None)


def test_watches_that_always_end_at_once_are_replaced_by_lists() -> None:
    machine = watching()
    questions = []

    for _ in range(3):
        questions.append(machine.sleeps_then(None))
        if isinstance(questions[-1], OpenWatch):
            machine.see(Opened())

    assert [type(question) for question in questions] == [OpenWatch, OpenWatch, ListPage]


def test_a_short_watch_with_events_waits_too_but_never_relists() -> None:
    machine = watching()

    for version in range(6, 16):
        machine.see(Got(Added(item(version=str(version)))))
        assert isinstance(machine.sleeps_then(None), OpenWatch)
        machine.see(Opened())


@pytest.mark.parametrize("error", [errors.Forbidden("no"), errors.NotFound("no"), errors.UndecodableAnswer("html")])
def test_other_errors_of_a_watch_lead_to_a_list(error: ApiError) -> None:
    assert isinstance(watching().sleeps_then(error), ListPage)


def test_a_failing_store_leads_to_a_list() -> None:
    machine = watching()
    machine.see(Got(Added(item(version="8"))))

    question = machine.sleeps_then(StoreError("index"))

    assert question == ListPage({"resourceVersion": "8"})
    assert machine.notes() == [("list", "store-failed")]


# -- waiting


def test_retry_after_is_honoured_up_to_a_minute() -> None:
    assert watching().see(Failed(errors.Throttled("busy", retry_after_s=12.0))).seconds == 12.0
    assert watching().see(Failed(errors.Throttled("busy", retry_after_s=86_400.0))).seconds == 60.0


def test_failures_in_a_row_wait_longer_each_time() -> None:
    machine = watching()

    waits = []
    for _ in range(7):
        waits.append(machine.see(Failed(refused())).seconds)
        machine.see(Begun(), after_s=waits[-1])

    assert waits == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0]


@pytest.mark.parametrize("error", [errors.TimedOut("silent"), refused()])
def test_a_version_that_expired_during_an_outage_leads_to_a_list_soon(error: ApiError) -> None:
    machine = watching()
    for _ in range(6):
        machine.sleeps_then(error)

    assert machine.see(Opened(), Failed(gone())).seconds == 0.8
    assert isinstance(machine.see(Begun()), ListPage)


def test_our_own_rate_limit_is_no_outage() -> None:
    machine = watching()
    for _ in range(6):
        machine.sleeps_then(errors.HeldBack("later"))

    assert machine.see(Opened(), Failed(gone())).seconds == 30.0


def test_versions_that_always_expire_wait_longer_each_time_though_an_outage_came_first() -> None:
    machine = watching()
    machine.sleeps_then(refused())

    waits = []
    for _ in range(5):
        waits.append(machine.see(Opened(), Failed(gone())).seconds)
        machine.see(Begun(), page(), after_s=waits[-1])

    assert waits == [0.8, 1.6, 3.2, 6.4, 12.8]


def test_two_healthy_minutes_forgive_the_failures() -> None:
    machine = watching()
    for _ in range(5):
        machine.sleeps_then(refused())
    machine.see(Opened())

    assert machine.see(Failed(refused()), after_s=121.0).seconds == 0.8


@pytest.mark.parametrize("error", [errors.TimedOut("silent"), refused()])
def test_watches_that_break_after_a_while_never_make_us_wait_longer(error: ApiError) -> None:
    machine = watching()

    waits = []
    for _ in range(10):
        waits.append(machine.see(Failed(error), after_s=75.0).seconds)
        machine.see(Begun(), Opened(), after_s=waits[-1])

    assert waits == [0.8] * 10


def test_a_silent_socket_is_noticed_and_replaced_within_90_s() -> None:
    question = Machine(random=0.999).see(Begun(), page())
    machine = watching()
    machine.random = 0.999
    began_s = machine.now_s

    again = machine.sleeps_then(errors.TimedOut("no answer in time"), after_s=question.read_timeout_s)

    assert isinstance(again, OpenWatch)
    assert machine.now_s - began_s < 90.0
