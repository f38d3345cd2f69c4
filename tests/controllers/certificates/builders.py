"""Certificates as values and as bytes: sound ones, of which a test changes one thing."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache

from controllers.certificates.plan import Held, Pair, Seen
from controllers.certificates.secret import Content, new_body
from controllers.certificates.wanted import Timing
from controllers.testing import FakeApi
from webhook.objects.meta import Json
from webhook.serving.chains import BACKDATE_S, Authority, Leaf
from webhook.serving.selfsigned import Issued, issue, make_authority

NOW_S = 1_800_000_000.0
DAY_S = 86400.0
NAMES = ("gatehouse.kube-system.svc",)
TIMING = Timing()
NAMESPACE, NAME = "kube-system", "gatehouse-tls"


def register_configurations(api: FakeApi) -> None:
    """Let *api* know webhook configurations."""
    group = "admissionregistration.k8s.io/v1"
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        api.objects.register(f"/apis/{group}", f"{kind.lower()}s", group, kind)


def authority(name: str = "ca", issued_s: float = NOW_S, life_s: float = TIMING.ca_s) -> Authority:
    return Authority(name.encode(), issued_s - BACKDATE_S, issued_s + life_s)


def pair(
    name: str = "leaf",
    issued_s: float = NOW_S,
    life_s: float = TIMING.leaf_s,
    names: Sequence[str] = NAMES,
    skew_s: float = 0.0,
) -> Pair:
    begin_s = issued_s - BACKDATE_S + skew_s
    return Pair(name.encode(), b"key of " + name.encode(), Leaf(begin_s, issued_s + life_s, frozenset(names)))


def held(*authorities: Authority, leaf: Pair | None = None, signer: int | None = 0, ca_key: bytes = b"key") -> Held:
    known = authorities or (authority(),)
    return Held(leaf or pair(), known, signer, ca_key, "7")


def seen(secret: Held | None, serving: Held | None = None, *trusted: Authority, for_s: float | None = None) -> Seen:
    return Seen(secret, serving, trusted, for_s)


@cache
def real_authority(name: str = "ca", now_s: float = NOW_S, life_s: float = TIMING.ca_s) -> Issued:
    """A CA in bytes."""
    return make_authority(now_s=now_s, lifetime_s=life_s, name=name)


@cache
def content(
    ca: str = "ca", now_s: float = NOW_S, names: tuple[str, ...] = NAMES, leaf_life_s: float = TIMING.leaf_s, number: int = 0
) -> Content:
    """What a Secret holds right after it was made by *ca*. number: tells apart contents that are otherwise alike."""
    made = real_authority(ca, now_s)
    leaf = issue(made, names, now_s=now_s, lifetime_s=leaf_life_s)
    return Content(leaf.certificate, leaf.key, made.certificate, made.key)


def secret(value: Content) -> Json:
    """The Secret that holds *value*."""
    return new_body(NAMESPACE, NAME, value)


def configuration(kind: str, *bundles: bytes | None) -> Json:
    """Our configuration of that kind, a webhook for each of *bundles*."""
    webhooks: list[Json] = [
        {
            "name": f"w{number}.gatehouse.dev",
            "clientConfig": {"service": {"name": "gatehouse", "namespace": NAMESPACE}}
            | ({} if bundle is None else {"caBundle": b64encode(bundle).decode()}),
        }
        for number, bundle in enumerate(bundles)
    ]
    metadata = {"name": "gatehouse"}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata, "webhooks": webhooks}
