"""docs/reference/reasons.md: every reason code, from webhook.names.Reason."""

from __future__ import annotations

from collections.abc import Iterator

from tests.docs.references import comments
from tests.docs.references.tables import code, page, sentence, table
from webhook.names import Reason

INTRODUCTION = """
A rule says in one word why it did what it did. The same word stands in the metric
`gatehouse_admission_decisions_total{service,rule,reason}`, in the API server's audit annotations, in refusals
(`status.reason`), in Events, in the log and in what `gatehouse review` and `gatehouse explain` print.
"""


def markdown() -> str:
    """The whole page."""
    return page("Reason codes", "webhook/names.py", INTRODUCTION, _groups())


def _groups() -> Iterator[str]:
    said = comments.of_class(Reason)
    for heading, names in comments.order_in(Reason):
        missing = [name for name in names if not said[name]]
        if missing:
            raise ValueError(f"webhook.names.Reason.{missing[0]}: say what it means, in a comment behind it")
        yield f"## {sentence(heading)}\n"
        yield table(("reason", "meaning"), [(code(Reason[name].value), said[name]) for name in names])
