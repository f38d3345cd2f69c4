"""What a review is told when a request of ours to the API server fails. Pure.

    Misconfigured    500    a right or a CRD is missing, or it takes no such object: no retry helps, the user is told at once
    Unavailable      503    everything else: the API server calls again within the same admission, and may find another replica

Source: Kubernetes docs, "Dynamic Admission Control"; client-go rest (only answers with Retry-After are tried again).
"""

from __future__ import annotations

from typing import Final

from controllers.runtime.errors import ApiError, BadRequest, Forbidden, Invalid, NotFound, UndecodableObject
from webhook.errors import AdmissionError, Misconfigured, Unavailable

_CRDS: Final = "manifests/base/10-crd-addresses.yaml"
_ADVICE: Final[tuple[tuple[type[ApiError], str], ...]] = (
    (Forbidden, "Gatehouse needs the role gatehouse-pod-ip of manifests/base/20-rbac.yaml"),
    (NotFound, f"Gatehouse needs the CRDs of {_CRDS}"),
    (Invalid, f"the CRDs may be of another release: apply {_CRDS}"),
    (BadRequest, f"the CRDs may be of another release: apply {_CRDS}"),
)


def undecided(what: str, error: ApiError | UndecodableObject) -> AdmissionError:
    """The error of a review in which *what* (a sentence without its end) because of *error*.

    Of a request that was made twice both failures are named: see `controllers.runtime.again`.
    """
    first = error.__cause__
    why = f"{error} (the first attempt: {first})" if isinstance(first, ApiError) else str(error)
    for kind, advice in _ADVICE:
        if isinstance(error, kind):
            return Misconfigured(f"{what}: {why}; {advice}")
    return Unavailable(f"{what}: {why}")
