"""What the status says of the served certificate: how long it lasts, for whom, who trusts it, and which callers gave up.

Threads: any; nothing blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.objects.meta import Json

if TYPE_CHECKING:
    from controllers.certificates.following import FollowedCertificate
    from controllers.config.webhook import CertificateSection
    from webhook.serving.chains import Leaf


def overview(
    section: CertificateSection, leaf: Leaf | None, followed: FollowedCertificate | None, now_s: float, *, local: bool
) -> Json:
    """For the status page.

    leaf: what is served; None before it is. now_s: seconds since the epoch. local: no API server calls.
    """

    def left_s(end_s: float | None) -> int | None:
        return None if end_s is None else round(end_s - now_s)

    found: Json = {"source": section.source.value, "expiresInSeconds": left_s(leaf.not_after_s if leaf else None)}
    if not local and section.is_for_localhost_only():
        found["localhostOnly"] = True
    if followed is None:
        return found
    return {**found, "caExpiresInSeconds": left_s(followed.ca_expiry_s()), **followed.status(leaf.names if leaf else None)}
