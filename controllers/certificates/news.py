"""What is told of certificates: a log line and an Event for each thing that was done.

The contents of a Secret are never told. Threads: any; nothing blocks.
"""

from __future__ import annotations

from controllers.certificates.bundles import API_VERSION, Configuration
from controllers.certificates.plan import DropAuthorities, NewAuthority, Step
from controllers.runtime.events import Announcer, Reference
from webhook.logs import get_log
from webhook.names import Reason
from webhook.telemetry import Telemetry

log = get_log("certificates")


class News:
    """The voice of the controller."""

    def __init__(self, announcer: Announcer, telemetry: Telemetry) -> None:
        self._announcer = announcer
        self._said = ""  # why the caBundle was left alone, as it was said last; touched by the worker only
        self._written = telemetry.counter(
            "gatehouse_certificate_secret_writes", "Writes of the certificate's Secret, by what was done.", ("step",)
        )
        self._repaired = telemetry.counter(
            "gatehouse_ca_bundle_writes", "Writes of caBundle into a webhook configuration.", ("configuration",)
        )

    def secret_written(self, namespace: str, name: str, uid: str, step: Step, *, anew: bool) -> None:
        """*step* was taken. anew: there was no Secret before."""
        reason, done = _told(step, anew=anew)
        self._written.labels(reason.value).inc()
        log.info("certificate Secret written", secret=f"{namespace}/{name}", done=reason.value, why=step.why)
        regarding = Reference("Secret", name, namespace, uid=uid)
        self._announcer.record(regarding, reason=reason.value, action="WriteSecret", note=f"{done}: {step.why}", warning=anew)

    def bundle_written(self, configuration: Configuration, webhooks: int, next_wait_s: float) -> None:
        """*webhooks* entries trust our CA again. next_wait_s: above zero when this was not the first time in a while."""
        self._repaired.labels(configuration.plural).inc()
        log.info("caBundle written", kind=configuration.kind, name=configuration.name, webhooks=webhooks)
        if next_wait_s > 0:
            log.warning("caBundle is changed again and again", kind=configuration.kind, next_repair_s=next_wait_s)
        note = f"caBundle of {webhooks} webhooks was missing or another one, and was written"
        contested = (
            "caBundle is changed again and again by somebody else: calls fail until the next repair in"
            f" {next_wait_s:.0f} s; managedFields of the configuration tell who writes it"
        )
        self._announcer.record(
            Reference(configuration.kind, configuration.name, api_version=API_VERSION, uid=configuration.uid),
            reason=(Reason.CA_BUNDLE_CONTESTED if next_wait_s > 0 else Reason.CA_BUNDLE_WRITTEN).value,
            action="WriteCaBundle",
            note=contested if next_wait_s > 0 else note,
            warning=next_wait_s > 0,
        )

    def not_kept(self, namespace: str, name: str, uid: str, why: str) -> None:
        """The Secret cannot be written; uid "" while there is none. A series as long as that lasts; each try is logged."""
        regarding = Reference("Secret", name, namespace, uid=uid)
        note = f"the certificate cannot be renewed: {why}"
        reason = Reason.CERTIFICATE_NOT_KEPT.value
        self._announcer.record(regarding, reason=reason, action="WriteSecret", note=note, warning=True)

    def bundle_left_alone(self, why: str) -> None:
        """No caBundle is written; "" = it is, again. Said once each time that it changes."""
        if why and why != self._said:
            log.warning("caBundle is left as it is", why=why)
        self._said = why


def _told(step: Step, *, anew: bool) -> tuple[Reason, str]:
    if anew:
        return Reason.SECRET_RESTORED, "the certificate's Secret was made anew"
    if isinstance(step, NewAuthority):
        return Reason.AUTHORITY_ADDED, "a new CA is trusted beside the old one"
    if isinstance(step, DropAuthorities):
        return Reason.AUTHORITY_DROPPED, "the old CA is trusted no more"
    return Reason.CERTIFICATE_RENEWED, "a new certificate is served"
