"""`gatehouse ip`: who has which fixed address, and giving one back by hand. It asks the API server, not a running Gatehouse.

Exit codes: 0 fine, 1 something was refused, in conflict or could not be asked, 2 wrong use.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from controllers.cli.ip_reading import NOT_INSTALLED, Reading
from controllers.cli.text import RED, painted, visible, wants_colour
from controllers.cli.usage import OWN_RIGHTS, UsageError, no_cluster
from controllers.columns import aligned
from controllers.pod_ip.plan import is_wanted
from controllers.pod_ip.seen import Seen, in_flight_s
from controllers.pod_ip.telling import ROW, as_json, row, row_json, tell
from controllers.runtime.errors import ApiError, ClientConfigError, Conflict, Forbidden, NotFound, UndecodableObject
from controllers.runtime.rest import RestClient
from webhook.addresses.address import Address, AddressError
from webhook.addresses.marks import Carrier
from webhook.addresses.words import whose
from webhook.clock import Clock, SystemClock
from webhook.names import PROJECT
from webhook.telemetry import Telemetry

EXAMPLES: Final = """\
examples:
  gatehouse ip list                              every address that is handed out
  gatehouse ip list -n shop --pool web -o json | jq -r '.[].address'
  gatehouse ip show 10.20.0.7                    whose it is, who carries it, and what the leader will do next
  gatehouse ip release 10.20.0.7                 give it back, after a question
  gatehouse ip release --yes fd00::7             without one; refused all the same while a live pod has the address

exit codes: 0 fine, 1 refused, in conflict or not answered, 2 wrong use
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's actions and flags."""
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)
    listing = actions.add_parser("list", help="the addresses that are handed out", allow_abbrev=False)
    listing.add_argument("-n", "--namespace", metavar="NS", help="only those of this namespace (default: of all)")
    listing.add_argument("--pool", metavar="NAME", help="only those of this AddressPool")
    showing = actions.add_parser("show", help="everything about an address", allow_abbrev=False)
    releasing = actions.add_parser("release", help="give an address back that no live pod has", allow_abbrev=False)
    releasing.add_argument("--yes", action="store_true", help="do not ask")
    for action in (showing, releasing):
        action.add_argument("addresses", nargs="+", metavar="ADDRESS", help="10.20.0.7, fd00::7, or a reservation's name")
    for action in (listing, showing, releasing):
        action.add_argument("--kubeconfig", default="", metavar="FILE", help="default: as kubectl, else the pod's account")
        action.add_argument("-o", "--output", choices=("text", "json"), default="text", help="json: for programs")


def run(options: argparse.Namespace) -> int:
    """List, show or release; the exit code. Raises UsageError."""
    addresses = [_address(text) for text in getattr(options, "addresses", ())]
    for flag in ("namespace", "pool"):
        if getattr(options, flag, None) == "":
            raise UsageError(f'--{flag} "": expected a name')
    if options.action == "release" and not options.yes and not sys.stdin.isatty():
        raise UsageError("release asks before it does anything, and nobody is there to answer: --yes goes without")
    clock = SystemClock()
    try:
        client = RestClient.auto(options.kubeconfig, Telemetry(), clock)
    except ClientConfigError as error:
        raise no_cluster(error) from error
    desk = Desk(Reading(client), clock, as_json=options.output == "json")
    try:
        if options.action == "list":
            return desk.list(options.namespace, options.pool)
        if options.action == "show":
            return max([desk.show(address) for address in addresses])
        return max([desk.release(address, ask=not options.yes) for address in addresses])
    except NotFound:
        return _complain(NOT_INSTALLED)
    except Forbidden as error:
        return _complain(f"{error}; {OWN_RIGHTS}")
    except (ApiError, UndecodableObject) as error:
        return _complain(str(error))
    finally:
        client.close()


class Desk:
    """Carries out one action at a time."""

    def __init__(self, reading: Reading, clock: Clock, *, as_json: bool) -> None:
        self._reading = reading
        self._clock = clock
        self._as_json = as_json

    def list(self, namespace: str | None, pool: str | None) -> int:
        """Print the reservations, maybe of one namespace or pool only."""
        found = [one for one in self._reading.reservations() if namespace in (None, one.namespace) and pool in (None, one.pool)]
        now_s = self._clock.wall_s()
        if self._as_json:
            print(json.dumps([row_json(one) for one in found]))
        elif found:
            _table([ROW, *(row(one, now_s) for one in found)])
        else:
            print("no address is handed out" + (" there" if namespace or pool else ""), file=sys.stderr)
        return 0

    def show(self, address: Address) -> int:
        """Print everything about *address*; 1 when pods are in conflict about it."""
        seen = self._reading.address(address)
        told = tell(seen, self._clock.wall_s())
        if self._as_json:
            print(json.dumps(as_json(seen, told)))
        else:
            colour = wants_colour(sys.stdout)
            for line in told.lines:
                print(painted(visible(line), RED if told.conflict and line.startswith("  CONFLICT") else "", colour))
        return 1 if told.conflict else 0

    def release(self, address: Address, *, ask: bool) -> int:
        """Delete the reservation of *address* unless something speaks against it."""
        seen = self._reading.address(address)
        if refusal := self._refusal(seen):
            return self._told(address, refusal)
        if ask:
            if not _agreed(seen):
                return self._told(address, "left as it is")
            # Asking takes its time: what is true now counts.
            before, seen = seen, self._reading.address(address)
            if refusal := self._refusal(seen):
                return self._told(address, refusal)
            if before.reservation != seen.reservation:
                return self._told(address, "its reservation has changed in the meantime: look again")
        reservation = seen.reservation
        assert reservation is not None
        try:
            self._reading.release(reservation)
        except Conflict:
            return self._told(address, "its reservation was written at this very moment: nothing was released, look again")
        except NotFound:
            return self._told(address, "", "was released by somebody else at this moment")
        return self._told(address, "", f"released, was of {whose(reservation)}")

    def _refusal(self, seen: Seen) -> str:
        """Why the address must not be given back; "" when it may."""
        live = seen.live()
        if live:
            return f"not released: {_pods(live)} {'has' if len(live) == 1 else 'have'} it; delete the pod instead"
        if seen.reservation is None:
            return "is not reserved: there is nothing to release"
        wait_s = in_flight_s(seen.reservation, self._clock.wall_s())
        if wait_s > 0:
            return f"not released: a pod that was given it may still be on its way; try again in {wait_s:.0f} s"
        return ""

    def _told(self, address: Address, refusal: str, done: str = "") -> int:
        if self._as_json:
            answer: dict[str, Any] = {"address": address.text, "released": not refusal, "message": refusal or done}
            print(json.dumps(answer), flush=True)
        else:
            print(visible(f"{address.text}: {refusal or done}"), file=sys.stderr if refusal else sys.stdout, flush=True)
        return 1 if refusal else 0


def _agreed(seen: Seen) -> bool:
    reservation = seen.reservation
    assert reservation is not None
    question = f"Release {seen.situation.address.text} of {whose(reservation)}, {reservation.phase.value}?"
    if is_wanted(reservation, seen.situation.stateful_set):
        question += f" Ordinal {reservation.ordinal} of StatefulSet {reservation.owner.name} will get another one."
    print(visible(f"{question} [y/N] "), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _address(text: str) -> Address:
    try:
        return Address.from_name(text) if "-" in text else Address.parse(text)
    except AddressError as error:
        raise UsageError(str(error)) from error


def _pods(pods: Iterable[Carrier]) -> str:
    return ", ".join(f"{pod.namespace}/{pod.name}" for pod in pods)


def _table(rows: Sequence[Sequence[str]]) -> None:
    for line in aligned(rows):
        print(visible(line))


def _complain(message: str) -> int:
    print(visible(f"{PROJECT}: {message}"), file=sys.stderr)
    return 1
