"""An allocator and all that belongs to it."""

from __future__ import annotations

from controllers.pod_ip.allocator import Allocator
from controllers.pod_ip.bodies import reservation_body
from controllers.pod_ip.book import AddressBook
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from tests.webhook.addresses.allocations import asked
from webhook.addresses.address import Address
from webhook.addresses.facts import Asked
from webhook.addresses.marks import Marks
from webhook.clock import Deadline
from webhook.telemetry import Telemetry

NONE = Marks(asks=True)


class Office:
    """Its book is that of replica-a; its clock stands still, the client's does not."""

    def __init__(self, api: FakeApi, client: RestClient) -> None:
        self.api, self.client = api, client
        self.clock, self.telemetry = FakeClock(), Telemetry()
        self.book = AddressBook("replica-a", self.clock, lambda: 0.0)
        self.allocator = Allocator(client, self.book, "replica-a", self.clock, self.telemetry)

    def allocate(self, wanted: Asked, marks: Marks = NONE, *, seconds: float = 9.0, dry_run: bool = False):
        return self.allocator.allocate(wanted, marks, Deadline.after(seconds, self.clock), dry_run=dry_run)

    def stored(self) -> dict:
        return self.api.objects.all("AddressReservation")

    def others_have(self, *wanted: Address) -> None:
        for one in wanted:
            self.api.objects.put(reservation_body(asked(key=f"other-{one.name}"), one, "replica-b"))

    def posts(self) -> dict[str, float]:
        lines = self.telemetry.expose().decode().splitlines()
        found = [line for line in lines if line.startswith("gatehouse_address_reservation_posts_total{")]
        return {line.split('"')[1]: float(line.split()[-1]) for line in found}
