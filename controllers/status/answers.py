"""What is asked first at 3 a.m., answered from the status: is it serving, who leads, what is guarded, what expires.

The status page and `gatehouse status` both begin with these four, so that they cannot say different things.
Pure. A section that could not be made is answered with `Level.UNKNOWN` and its error.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final

import attrs

from controllers.wording import count, expiry, rate, span
from webhook.objects.faults import listed
from webhook.objects.meta import Json
from webhook.serving.ledger import Handshake

LATELY_S: Final = 60.0  # a candidate asks about the lease every few seconds, whatever its timing
DAY_S: Final = 86400.0
LEAF_SOON_S: Final = 7 * DAY_S  # as the alert GatehouseCertificateExpiresSoon has it
CA_SOON_S: Final = 30 * DAY_S
_NAMED: Final = 3  # of names that the certificate lacks
GUARD_OLD_S: Final = 12 * 3600.0  # as the alert GatehouseGuardOld has it


class Level(StrEnum):
    """How grave an answer is."""

    OK = "ok"
    ATTENTION = "attention"  # look at it by day
    BAD = "bad"  # look at it now
    OFF = "off"  # nothing to say: switched off
    UNKNOWN = "unknown"  # the section failed


@attrs.frozen
class Answer:
    """One question and what is known."""

    subject: str  # "leader election"
    question: str  # "Who leads?"
    level: Level
    headline: str
    facts: tuple[str, ...] = ()  # a short sentence each, the gravest first

    def line(self) -> str:
        """All of it in one line."""
        return f"{self.subject}: {'; '.join([self.headline, *self.facts])}"


def answers(status: Json) -> tuple[Answer, ...]:
    """Serving, leader, guards, certificates. status: the page /statusz; sections may be missing, failed or of any shape."""
    return tuple(_answered(status, *one) for one in _QUESTIONS)


def _answered(status: Json, answer: Callable[[Json], Answer], subject: str, question: str) -> Answer:
    """What *answer* says; where it fails over a section of a shape that is not known here, that this is so."""
    try:
        return answer(status)
    except Exception as error:  # the crash guard of one answer: the others must be seen
        return Answer(subject, question, Level.UNKNOWN, f"unknown, cannot be read ({type(error).__name__})")


def failure(section: object) -> str:
    """The error of a section that could not be made; "" of one that could."""
    error = section.get("error") if isinstance(section, dict) and len(section) == 1 else None
    return error if isinstance(error, str) else ""


def serving(status: Json) -> Answer:
    """Is it serving?"""
    process, services = _section(status, "process"), _section(status, "services")
    ready, broken = bool(process.get("ready")), _broken(process)
    word = "ready" if ready else f"NOT READY ({', '.join(process.get('failing', ())) or failure(process) or 'unknown'})"
    facts = [f"{name}: {why}" for name, why in broken.items()]
    told = {} if failure(services) else {name: row for name, row in services.items() if isinstance(row, dict)}
    on = {name: row for name, row in told.items() if row.get("on") is not False}
    waiting, rows = [name for name, row in on.items() if not row.get("ready")], list(on.values())
    kubernetes = _section(status, "kubernetes")
    old = [f"Kubernetes {kubernetes.get('version')} is too old for {one['part']}" for one in kubernetes.get("tooOldFor", ())]
    if waiting:
        facts.append(f"{'service' if len(waiting) == 1 else 'services'} not ready: {', '.join(sorted(waiting))}")
    if rows and all("perSecond" in row for row in rows):
        facts += _traffic(rows)
    facts += old
    level = Level.OK
    if not ready or broken:
        level = Level.BAD
    elif waiting or old or any(row.get("undecided") for row in rows):
        level = Level.ATTENTION
    return Answer(
        f"gatehouse {process.get('version', '?')}",
        "Is it serving?",
        Level.UNKNOWN if failure(process) else level,
        word if (up_s := process.get("uptimeSeconds")) is None else f"{word}, up {span(up_s)}",
        tuple(facts),
    )


def leader(status: Json) -> Answer:
    """Who leads?"""
    election = _section(status, "leaderElection")

    def answer(level: Level, headline: str, *facts: str) -> Answer:
        return Answer("leader election", "Who leads?", level, headline, facts)

    if failed := failure(election):
        return answer(Level.UNKNOWN, f"unknown, {failed}")
    if not election.get("enabled"):
        who = "this replica, unguarded" if election.get("controllers") else "nobody"
        return answer(Level.OFF, f"{who}: the election is off")
    contact_s, error, age_s = election.get("lastContactSeconds"), election.get("lastError"), election.get("leaseAgeSeconds")
    silent = bool(error) or not isinstance(contact_s, int | float) or contact_s >= LATELY_S
    facts = [f"no answer about the lease {_since(contact_s)}"] if silent else []
    facts += [f"last error: {error}"] if error else []
    leads = bool(election.get("leading") or election.get("leader"))
    facts += [f"leader: {election.get('leader') or election.get('identity')}"] if leads else []
    facts += [f"lease renewed {span(age_s)} ago"] if leads and age_s is not None else []
    return answer(Level.OK if leads and not silent else Level.ATTENTION, _who(election), *facts)


def guarded(status: Json) -> Answer:
    """What is guarded?"""
    section = _section(status, "silentNodes")

    def answer(level: Level, headline: str, *facts: str) -> Answer:
        return Answer("guards", "What is guarded?", level, headline, facts)

    if failed := failure(section):
        return answer(Level.UNKNOWN, f"unknown, {failed}")
    silent, held = section.get("count", 0), section.get("guarded", 0)
    if not silent:
        return answer(Level.OK, "no node is silent")
    rows = [row for row in section.get("nodes", ()) if row["guarded"]]
    facts = [f"{count(silent - held, 'node')} without a guard: Kubernetes goes its usual way"] if silent > held else []
    if ages := [(row["ageSeconds"], row["node"]) for row in rows if row.get("ageSeconds") is not None]:
        facts.append(f"oldest guard: {max(ages)[1]}, {span(max(ages)[0])}")
    if ends := [(row["endsInSeconds"], row["node"]) for row in rows if row.get("endsInSeconds") is not None]:
        facts.append(f"ends first: {min(ends)[1]}, in {span(min(ends)[0])}")
    return answer(
        Level.ATTENTION, f"{count(silent, 'silent node')}, {'all' if silent == held else held or 'none'} guarded", *facts
    )


def expiring(status: Json) -> Answer:
    """What expires?"""
    section = _section(status, "certificate")

    def answer(level: Level, headline: str, *facts: str) -> Answer:
        return Answer("expires", "What expires?", level, headline, facts)

    if failed := failure(section):
        return answer(Level.UNKNOWN, f"unknown, {failed}")
    leaf_s, ca_s = section.get("expiresInSeconds"), section.get("caExpiresInSeconds")
    distrusted = [kind for kind, trusts in (section.get("trusted") or {}).items() if not trusts]
    trouble = section.get("trouble")
    local = bool(section.get("localhostOnly"))
    uncovered, handshakes = section.get("uncovered") or (), section.get("handshakes") or {}
    facts = ["it is for localhost only: through a Service the API server refuses it (webhook.certificate)"] if local else []
    if uncovered:
        named = listed(uncovered, _NAMED)
        facts.append(f"it is not valid for {named}, which our webhook configurations call: the API server refuses it")
    facts += [f"certificate cannot be renewed: {trouble}"] if trouble else []
    facts += [f"{kind} does not trust it: its caBundle lacks our CA" for kind in distrusted]
    facts += _handshakes(handshakes)
    facts += [f"CA {expiry(ca_s)}"] if ca_s is not None else []
    level = Level.OK
    if leaf_s is None:
        level = Level.ATTENTION
    elif leaf_s <= 0 or (ca_s is not None and ca_s <= 0) or distrusted or uncovered:
        level = Level.BAD
    elif local or trouble or _distrust(handshakes) or leaf_s < LEAF_SOON_S or (ca_s is not None and ca_s < CA_SOON_S):
        level = Level.ATTENTION
    return answer(level, f"certificate {expiry(leaf_s)}", *facts)


# -- inside


def _section(status: Json, name: str) -> Json:
    section = status.get(name)
    return section if isinstance(section, dict) else {"error": "not told"}


def _broken(process: Json) -> dict[str, str]:
    """Checks that fail, with their reasons."""
    checks = process.get("checks")
    return {name: why for name, why in checks.items() if why is not None} if isinstance(checks, dict) else {}


def _distrust(handshakes: Json) -> int:
    """How many callers lately ended the handshake because of a certificate, ours or their own."""
    return int(handshakes.get("failed", {}).get(Handshake.CERTIFICATE, 0))


def _handshakes(handshakes: Json) -> list[str]:
    failed = handshakes.get("failed") or {}
    if not failed:
        return []
    reasons = ", ".join(f"{number} {why}" for why, number in failed.items())
    told = f"{count(sum(failed.values()), 'TLS handshake')} failed in the last {span(handshakes['windowSeconds'])} ({reasons})"
    return [f"{told}: do callers trust our CA, and we theirs?" if _distrust(handshakes) else told]


def _traffic(rows: list[Json]) -> list[str]:
    def total(key: str) -> float:
        return sum(row[key] or 0 for row in rows)

    window_s = max(row["windowSeconds"] for row in rows)
    asked = total("perSecond")
    told = [f"answers {rate(asked)}" if asked else "asked nothing in the last minute"]
    bad: list[tuple[str, Callable[[int], str]]] = [
        ("undecided", lambda number: f"{count(number, 'review')} undecided in the last {span(window_s)}"),
        ("refused", lambda number: f"{count(number, 'request')} refused in the last {span(window_s)}"),
    ]
    return told + [say(int(total(key))) for key, say in bad if total(key)]


def _who(election: Json) -> str:
    """Who leads; who is merely named in the Lease does not."""
    if election.get("leading"):
        return "this replica leads"
    if election.get("leader"):
        return "another replica leads"
    if (settles_s := election.get("settlesInSeconds")) is not None:
        return f"nobody leads (this replica holds the lease and settles, {settles_s:.0f} s left)"
    if (expired_s := election.get("holderExpiredSeconds")) is not None:
        return f"nobody leads (the lease of {election.get('holder')} has run out {span(expired_s)} ago)"
    return "nobody leads" if election.get("seen") else "who leads is unknown (the lease has not been seen)"


def _since(seconds: float | None) -> str:
    return "so far" if seconds is None else f"since {span(seconds)} ago"


# What answers, and what to call it where it fails.
_QUESTIONS: Final[tuple[tuple[Callable[[Json], Answer], str, str], ...]] = (
    (serving, "gatehouse", "Is it serving?"),
    (leader, "leader election", "Who leads?"),
    (guarded, "guards", "What is guarded?"),
    (expiring, "expires", "What expires?"),
)
