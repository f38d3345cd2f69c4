"""Refused: a request that the server itself turns away, before any application sees it."""

from __future__ import annotations


class Refused(Exception):
    """The sender's fault, or ours to bear no more; the connection ends after the answer.

    status:  the answer's HTTP status
    reason:  label of the refusal counter, lower case with dashes; a closed set
    detail:  one sentence for the caller; never holds what the caller sent
    """

    def __init__(self, status: int, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.reason = reason
        self.detail = detail
