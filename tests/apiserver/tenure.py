"""Who wrote as the leader, and whether he was allowed to: a judgement of the API server's audit log. Pure.

    history = History.of(events, "gatehouse", replicas)
    assert faults(history, timing) == []

What counts is when the API server received a request and when it had answered it; no clock of a replica is trusted. Rules:

*Grant.* A replica's led write begins after a write of its own that made the Lease its own, not after its release of it, and
not later than the renew deadline after the last of its renewals.
*Revocation.* It does not begin after another replica has taken the Lease. Only when a third party had changed the Lease since
its last renewal, which it cannot know at once, may it go on for a moment; then who took the Lease must have waited for a whole
lease duration from that change on before its own first led write.
*No overlap.* Of two led writes of two replicas one is answered before the other begins. Who is stopped between the head and the
body of a request never sends the body, so that the request ends long afterwards, with an error: it has written nothing.

Each rule gives the benefit of the doubt: a grant counts from the beginning of its request on, a revocation from its end on.
Source: audit.k8s.io/v1 Event (requestReceivedTimestamp, stageTimestamp); coordination.k8s.io/v1 Lease.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime

import attrs

from tests.cluster.api import Json

# Which writes only a leader makes: verb, resource, subresource.
LED = {("patch", "nodes", ""), ("patch", "pods", "status")}
LEASE_VERBS = ("create", "update", "patch", "delete")
# From the moment at which a replica looks at its lease until the API server has its request, on a machine with too much to do.
ON_ITS_WAY_S = 1.0


@attrs.frozen
class Rules:
    """Seconds, as the replicas are configured; *pauses*: when the API server itself stood still (begin, end)."""

    lease_duration_s: float
    renew_deadline_s: float
    pauses: Sequence[tuple[float, float]] = ()


@attrs.frozen
class Request:
    """One request, in seconds since the epoch by the API server's clock."""

    user: str
    what: str  # "patch pods/status a-1"
    begin_s: float
    end_s: float  # when it was answered; when it was received, if it never was
    code: int  # of the answer; 0 = none
    void: bool  # whether it surely has changed nothing: refused, or its body never came


@attrs.frozen
class LeaseWrite(Request):
    """A write that changed the Lease. holder: who has it then; "" = nobody."""

    holder: str
    foreign: bool  # by somebody who is no replica


@attrs.frozen
class History:
    """Everything that matters, in the order of arrival."""

    led: tuple[Request, ...]
    lease: tuple[LeaseWrite, ...]

    @classmethod
    def of(cls, events: Iterable[Json], lease: str, replicas: Collection[str]) -> History:
        """From audit events, of which those of the Lease *lease* carry their objects. replicas: user names."""
        newest: dict[str, Json] = {}
        for event in events:
            if event["auditID"] not in newest or event["stage"] != "RequestReceived":
                newest[event["auditID"]] = event
        requests = sorted(newest.values(), key=lambda event: _seconds(event["requestReceivedTimestamp"]))
        return cls(
            tuple(_request(event) for event in requests if _user(event) in replicas and _kind(event) in LED),
            tuple(_lease_write(event, replicas) for event in requests if _changes_lease(event, lease)),
        )

    def acquisitions(self) -> Iterator[LeaseWrite]:
        """The writes by which a replica took the Lease from another one, or for the first time."""
        holder = ""
        for write in self.lease:
            if not write.foreign and write.holder:
                if write.user != holder:
                    yield write
                holder = write.user

    def taken_after(self, moment_s: float, *, not_by: str = "") -> float | None:
        """Seconds from *moment_s* until another replica than *not_by* had taken the Lease."""
        return next((w.end_s - moment_s for w in self.acquisitions() if w.begin_s >= moment_s and w.user != not_by), None)

    def led_after(self, moment_s: float, *, not_by: str = "") -> float | None:
        """Seconds from *moment_s* until another replica than *not_by* began its first led write."""
        return next((w.begin_s - moment_s for w in self.led if w.begin_s >= moment_s and w.user != not_by), None)


def faults(history: History, rules: Rules) -> list[str]:
    """What broke a rule, in the order of arrival."""
    return list(_Judge(history, rules).judge())


@attrs.define
class _Standing:
    """What one replica may do, so far."""

    granted: bool = False
    why_not: str = "it never held the lease"
    renewed: Request | None = None
    disturbed: Request | None = None  # the first foreign change of the Lease that it may not know of
    not_before_s: float = 0.0


class _Judge:
    """One pass over what happened."""

    def __init__(self, history: History, rules: Rules) -> None:
        self._history = history
        self._rules = rules
        self._all: dict[str, _Standing] = {}
        self._holder = ""
        self._last: dict[str, Request] = {}  # of each user, the led write that was answered last

    def judge(self) -> Iterator[str]:
        acquisitions = set(map(id, self._history.acquisitions()))
        moments: list[tuple[float, int, Request]] = []
        for write in self._history.lease:
            moments.append((write.begin_s, 0, write))
            if id(write) in acquisitions:
                moments.append((write.end_s, 2, write))
        moments += [(write.begin_s, 1, write) for write in self._history.led]
        for _, kind, request in sorted(moments, key=lambda moment: moment[:2]):
            if kind == 1:
                yield from self._led(request)
            elif kind == 2:
                self._revoke(request.user, f"{request.user} had taken the lease")
            elif isinstance(request, LeaseWrite):
                self._written(request)

    def _of(self, user: str) -> _Standing:
        return self._all.setdefault(user, _Standing())

    def _written(self, write: LeaseWrite) -> None:
        if write.foreign:
            for standing in self._all.values():
                standing.disturbed = standing.disturbed or write
            return
        own = self._of(write.user)
        if not write.holder:
            own.granted, own.why_not = False, "it had released the lease"
            return
        if not own.granted:
            own.not_before_s = self._settled_s(write.user)
        own.granted, own.renewed = True, write
        if own.disturbed is not None and own.disturbed.end_s < write.begin_s:
            own.disturbed = None

    def _settled_s(self, user: str) -> float:
        disputes = [s.disturbed.begin_s for u, s in self._all.items() if u != user and s.granted and s.disturbed]
        return max(disputes) + self._rules.lease_duration_s if disputes else 0.0

    def _revoke(self, by: str, why: str, *, disputed: bool = False) -> None:
        for user, standing in self._all.items():
            if user != by and standing.granted and (disputed or standing.disturbed is None):
                standing.granted, standing.why_not = False, why

    def _led(self, write: Request) -> Iterator[str]:
        own = self._of(write.user)
        if not own.granted or own.renewed is None:
            yield f"{_text(write)}: {own.why_not}"
            return
        if write.begin_s < own.not_before_s:
            yield f"{_text(write)}: {own.not_before_s - write.begin_s:.3f} s before the former leader had to know"
        age_s = self._age_s(own.renewed, write)
        if age_s > self._rules.renew_deadline_s + ON_ITS_WAY_S:
            yield f"{_text(write)}: {age_s:.3f} s after its last renewal"
        for other in self._last.values():
            if other.user != write.user and other.end_s > write.begin_s:
                yield f"{_text(write)}: overlaps {_text(other)}"
        former = self._last.get(write.user)
        if not write.void and (former is None or former.end_s < write.end_s):
            self._last[write.user] = write
        self._revoke(write.user, f"{write.user} led", disputed=True)

    def _age_s(self, renewed: Request, write: Request) -> float:
        """How long the API server ran between the two."""
        still_s = sum(
            max(0.0, min(end_s, write.begin_s) - max(begin_s, renewed.begin_s)) for begin_s, end_s in self._rules.pauses
        )
        return write.begin_s - renewed.begin_s - still_s


def _user(event: Json) -> str:
    user: str = event["user"].get("username", "")  # "" = refused before the API server knew who asked
    return user


def _kind(event: Json) -> tuple[str, str, str]:
    of = event.get("objectRef") or {}
    return event["verb"], of.get("resource", ""), of.get("subresource", "")


def _changes_lease(event: Json, lease: str) -> bool:
    verb, resource, _ = _kind(event)
    code = (event.get("responseStatus") or {}).get("code", 0)
    return verb in LEASE_VERBS and resource == "leases" and _name(event) == lease and 200 <= code < 300


def _name(event: Json) -> str:
    stored: Json = event.get("responseObject") or {}
    return event["objectRef"].get("name") or (stored.get("metadata") or {}).get("name") or ""


def _request(event: Json) -> Request:
    verb, resource, subresource = _kind(event)
    what = f"{verb} {'/'.join(filter(None, (resource, subresource)))} {_name(event)}"
    answer = event.get("responseStatus") or {}
    code, message = answer.get("code", 0), answer.get("message", "")
    # Go's words for a connection that ended in the middle of a request: https://pkg.go.dev/net#OpError, io.ErrUnexpectedEOF.
    cut = code == 500 and (message.startswith("read tcp") or message == "unexpected EOF")
    void = 400 <= code < 500 or cut
    return Request(_user(event), what, _seconds(event["requestReceivedTimestamp"]), _end_s(event), code, void)


def _end_s(event: Json) -> float:
    return _seconds(event["requestReceivedTimestamp" if event["stage"] == "RequestReceived" else "stageTimestamp"])


def _lease_write(event: Json, replicas: Collection[str]) -> LeaseWrite:
    request = _request(event)
    spec = (event.get("responseObject") or {}).get("spec") or {}
    holder = "" if event["verb"] == "delete" else spec.get("holderIdentity") or ""
    foreign = request.user not in replicas
    return LeaseWrite(request.user, request.what, request.begin_s, request.end_s, request.code, request.void, holder, foreign)


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def _text(request: Request) -> str:
    at = datetime.fromtimestamp(request.begin_s).strftime("%H:%M:%S.%f")
    answer = f"{request.code} after {request.end_s - request.begin_s:.3f} s"
    return f"{at} {request.user.rpartition(':')[2]} {request.what} ({answer})"
