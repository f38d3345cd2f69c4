"""What is noticed while an injection is planned, and how conflicts end. Used by one call of `plan`, in one thread."""

from __future__ import annotations

from webhook.names import Reason
from webhook.sidecars.entries.entry import Conflict, Entry
from webhook.sidecars.findings import Finding
from webhook.sidecars.injection.planned import LeftOut


class LeavesOut(Exception):
    """An entry cannot come into this pod as a whole: the plan has to be made without it."""

    def __init__(self, left_out: LeftOut) -> None:
        super().__init__(left_out.finding.message)
        self.left_out = left_out


class Verdicts:
    """Findings and refusals so far."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._refusals: list[Finding] = []

    def tell(self, reason: Reason, message: str, field: str = "") -> None:
        """Note something that does not stop the injection."""
        self.findings.append(Finding(reason, message, field))

    def refuse(self, reason: Reason, message: str, field: str = "") -> None:
        """Note why the pod is refused."""
        self._refusals.append(Finding(reason, message, field))

    def clash(
        self, entry: Entry, reason: Reason, thing: str, field: str, *, replaceable: bool = True, kept: str = "stays as it is"
    ) -> bool:
        """Decide a conflict as *entry* wishes, and say so; whether the entry's takes the place of the pod's own.

        thing:       what differs, as in 'variable "PATH" of container "app"'.
        kept:        what it means that the pod's own stays.
        replaceable: False where the entry's cannot take the place: Override then is as Keep.
        """
        who = entry.subject
        if entry.on_conflict is Conflict.REFUSE:
            self.refuse(reason, f"{thing} conflicts with {who}, which refuses such pods", field)
            return False
        if entry.on_conflict is Conflict.OVERRIDE and replaceable:
            self.tell(reason, f"{thing} conflicts with {who}, whose takes its place", field)
            return True
        self.tell(reason, f"{thing} conflicts with {who} and {kept}", field)
        return False

    def clash_of_whole(self, entry: Entry, reason: Reason, thing: str, field: str, *, replaceable: bool = True) -> bool:
        """As `clash`, of what *entry* is nothing without: a container, a volume. Raises LeavesOut where the pod's own stays."""
        if entry.on_conflict is Conflict.KEEP or (entry.on_conflict is Conflict.OVERRIDE and not replaceable):
            message = f"{thing} conflicts with {entry.subject}, which is left out as a whole"
            raise LeavesOut(LeftOut(entry, Finding(reason, message, field)))
        return self.clash(entry, reason, thing, field)

    @property
    def refusal(self) -> Finding | None:
        """All refusals as one, so that their cause can be removed at once; None when there is none."""
        if not self._refusals:
            return None
        first = self._refusals[0]
        return Finding(first.reason, "; ".join(refusal.message for refusal in self._refusals), first.field)
