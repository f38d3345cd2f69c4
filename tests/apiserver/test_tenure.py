"""The judge of tenures against histories that are made up: it lets pass what is right, and catches each thing that is wrong."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.apiserver.tenure import History, Rules, faults
from tests.cluster.api import Json

A, B, NOBODY_KNOWN = "sa:a", "sa:b", "admin"
RULES = Rules(lease_duration_s=3.0, renew_deadline_s=2.0)
START_S = 1_800_000_000.0


class Log:
    """Audit events, by seconds since the beginning of the story."""

    def __init__(self) -> None:
        self.events: list[Json] = []

    def lease(self, user: str, at_s: float, holder: str, verb: str = "update", code: int = 200) -> Log:
        stored = {"metadata": {"name": "gatehouse"}, "spec": {"holderIdentity": holder}}
        return self._add(user, verb, "leases", "", at_s, 0.01, code, stored)

    def led(self, user: str, at_s: float, takes_s: float = 0.02, code: int = 200) -> Log:
        return self._add(user, "patch", "pods", "status", at_s, takes_s, code, None)

    def judged(self, rules: Rules = RULES) -> list[str]:
        return faults(self.history(), rules)

    def history(self) -> History:
        return History.of(self.events, "gatehouse", {A, B})

    def _add(
        self, user: str, verb: str, resource: str, subresource: str, at_s: float, takes_s: float, code: int, stored: Json | None
    ) -> Log:
        event: Json = {
            "auditID": str(len(self.events)),
            "user": {"username": user},
            "verb": verb,
            "objectRef": {"resource": resource, "subresource": subresource, "name": "gatehouse" if stored else "pod"},
            "requestReceivedTimestamp": _time(at_s),
        }
        answer: Json = {"stage": "ResponseComplete", "stageTimestamp": _time(at_s + takes_s), "responseStatus": {"code": code}}
        self.events += [
            {**event, "stage": "RequestReceived", "stageTimestamp": _time(at_s)},
            {**event, **answer, "responseObject": stored},
        ]
        return self


def _time(at_s: float) -> str:
    return datetime.fromtimestamp(START_S + at_s, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def handed_over() -> Log:
    """A leads, renews, releases; B takes over."""
    log = Log().lease(A, 0, "a_1", "create").led(A, 0.5).lease(A, 1, "a_1").led(A, 1.5).lease(A, 2, "")
    return log.lease(B, 2.5, "b_1").led(B, 2.6)


def disputed() -> Log:
    """A leads; somebody deletes the Lease at 1; B creates it at 1.2, before A has noticed."""
    log = Log().lease(A, 0, "a_1", "create").led(A, 0.5)
    return log.lease(NOBODY_KNOWN, 1, "", "delete").lease(B, 1.2, "b_1", "create").led(A, 1.4)


def test_a_hand_over_is_right() -> None:
    log = handed_over()

    assert log.judged() == []
    assert [write.user for write in log.history().acquisitions()] == [A, B]


def test_writes_that_overlap_are_caught() -> None:
    log = Log().lease(A, 0, "a_1").led(A, 0.5, takes_s=4.0).lease(B, 3.2, "b_1").led(B, 3.3)

    (fault,) = log.judged()
    assert "b patch pods/status pod (200 after 0.020 s): overlaps" in fault


def test_a_request_that_never_was_sent_whole_and_so_has_written_nothing_overlaps_nothing() -> None:
    log = Log().lease(A, 0, "a_1").led(A, 0.5, takes_s=4.0, code=500)
    answer = log.events[-1]["responseStatus"]
    log.lease(B, 3.2, "b_1").led(B, 3.3)

    assert len(log.judged()) == 1  # for all we know, it was stored
    answer["message"] = "read tcp 172.30.0.1:6443->172.30.0.1:58052: read: connection reset by peer"
    assert log.judged() == []


def test_histories_that_interleave_are_caught() -> None:
    log = Log().lease(A, 0, "a_1").led(A, 0.5).lease(B, 1, "b_1").led(B, 1.1).led(A, 1.2).led(B, 1.3)

    (fault,) = log.judged()
    assert fault.endswith("a patch pods/status pod (200 after 0.020 s): sa:b had taken the lease")


def test_a_write_after_the_lease_was_lost_is_caught_though_the_other_one_does_not_write() -> None:
    assert len(Log().lease(A, 0, "a_1").lease(B, 1, "b_1").led(A, 1.5).judged()) == 1


def test_a_write_that_failed_counts_as_well() -> None:
    assert len(Log().lease(A, 0, "a_1").lease(B, 1, "b_1").led(A, 1.5, code=409).judged()) == 1


def test_a_write_that_was_never_answered_counts_as_well() -> None:
    log = Log().lease(A, 0, "a_1").lease(B, 1, "b_1").led(A, 1.5)
    del log.events[-1]

    assert len(log.judged()) == 1


def test_a_write_without_any_lease_is_caught() -> None:
    (fault,) = Log().led(A, 1).judged()

    assert "never held" in fault


def test_a_write_after_the_release_is_caught() -> None:
    (fault,) = handed_over().led(A, 2.1).judged()

    assert "had released" in fault


def test_a_write_long_after_the_last_renewal_is_caught_though_nobody_else_leads() -> None:
    (fault,) = Log().lease(A, 0, "a_1").led(A, 1).led(A, 3.5).judged()

    assert "3.500 s after its last renewal" in fault


def test_a_pause_of_the_api_server_is_no_age_of_a_lease() -> None:
    log = Log().lease(A, 0, "a_1").led(A, 6.5)

    assert log.judged(Rules(3.0, 2.0, pauses=[(START_S + 1.0, START_S + 6.0)])) == []


def test_a_lease_that_somebody_refused_changes_nothing() -> None:
    assert Log().lease(A, 0, "a_1").lease(B, 1, "b_1", code=409).led(A, 1.5).judged() == []


def test_a_leader_may_go_on_for_a_moment_when_a_stranger_deleted_the_lease_and_the_other_one_waits() -> None:
    assert disputed().lease(B, 2.2, "b_1").lease(B, 3.2, "b_1").led(B, 4.3).judged() == []


def test_who_takes_a_deleted_lease_and_does_not_wait_is_caught() -> None:
    (fault,) = disputed().lease(B, 2.2, "b_1").led(B, 2.5).judged()

    assert "1.500 s before the former leader had to know" in fault


def test_the_former_leader_is_caught_when_it_goes_on_beside_the_next_one() -> None:
    log = disputed().lease(B, 2.2, "b_1").lease(B, 3.2, "b_1").led(B, 4.3).led(A, 4.5)

    assert any("sa:b led" in fault for fault in log.judged())


def test_a_leader_that_renews_after_a_strangers_edit_goes_on_and_the_lease_is_taken_after_it_as_ever() -> None:
    log = Log().lease(A, 0, "a_1").led(A, 0.5).lease(NOBODY_KNOWN, 1, "", "patch").lease(A, 1.5, "a_1").led(A, 2)

    assert log.judged() == []
    assert log.lease(B, 5, "b_1").led(B, 5.1).judged() == []
    assert len(log.led(A, 5.5).judged()) == 1


def test_a_request_of_somebody_unknown_is_nobodys() -> None:
    log = handed_over().led(NOBODY_KNOWN, 3)
    for event in log.events[-2:]:
        event["user"] = {}

    assert log.judged() == []


def test_a_lease_taken_back_counts_again() -> None:
    assert handed_over().lease(B, 3.5, "").lease(A, 4, "a_2").led(A, 4.1).judged() == []


def test_figures_count_from_the_change_to_another_replica() -> None:
    history = handed_over().history()

    taken_s = history.taken_after(START_S + 2.0, not_by=A)
    assert taken_s is not None and abs(taken_s - 0.51) < 1e-3
    assert history.led_after(START_S + 2.7, not_by=A) is None
