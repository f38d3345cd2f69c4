"""Our two webhook configurations: what each of their webhooks trusts and calls, and the patch that makes its trust right.

Only `clientConfig.caBundle` is ever written, of the configurations that bear our name, each webhook by itself; the patch tests
the configuration's name and version and the name of each webhook that it touches: it changes what was looked at, or nothing.
Pure; any thread.
Source: RFC 6902; Kubernetes API reference, WebhookClientConfig.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import attrs
import msgspec

from controllers.certificates.called_names import called_name
from controllers.runtime.decoding import Projected, StructProjection
from controllers.runtime.resource import Item, Json, Resource
from webhook.names import PROJECT
from webhook.serving.chains import Authority, authorities, certificates_in

API_VERSION: Final = "admissionregistration.k8s.io/v1"
NAME: Final = PROJECT  # of both
KINDS: Final = {
    "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
    "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
}


@attrs.frozen
class Webhook:
    """One entry of a configuration."""

    name: str
    bundle: bytes  # PEM; b"" when there is none, or none that is base64
    called: str = ""  # the name that the API server calls it by; "" when it cannot be read


@attrs.frozen
class Configuration:
    """A webhook configuration as the cache keeps it."""

    plural: str
    name: str
    uid: str
    version: str
    webhooks: tuple[Webhook, ...]

    @property
    def kind(self) -> str:
        """As the API calls it."""
        return KINDS[self.plural]

    @property
    def path(self) -> str:
        """Where it is written."""
        return f"{collection(self.plural)}/{self.name}"

    def trusts(self, authority: Authority) -> bool:
        """Whether every webhook of it trusts *authority*."""
        return all(authority.pem in _certificates(webhook.bundle) for webhook in self.webhooks)

    def trusted(self) -> tuple[Authority, ...]:
        """Every CA that a webhook of it trusts."""
        return tuple(dict.fromkeys(one for webhook in self.webhooks for one in _authorities(webhook.bundle)))


def repair(configuration: Configuration, bundle: bytes) -> list[Json]:
    """The operations (RFC 6902) that let every webhook of *configuration* trust exactly *bundle*; none when all do.

    bundle: PEM, not empty.
    """
    wrong = [
        (index, webhook)
        for index, webhook in enumerate(configuration.webhooks)
        if _certificates(webhook.bundle) != _certificates(bundle)
    ]
    if not wrong:
        return []
    operations: list[Json] = [
        {"op": "test", "path": "/metadata/name", "value": configuration.name},
        {"op": "test", "path": "/metadata/resourceVersion", "value": configuration.version},
    ]
    encoded = b64encode(bundle).decode("ascii")
    for index, webhook in wrong:
        operations.append({"op": "test", "path": f"/webhooks/{index}/name", "value": webhook.name})
        operations.append({"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": encoded})
    return operations


def trusted_by_all(configurations: Iterable[Configuration], authority: Authority) -> bool:
    """Whether *authority* is trusted wherever anything of ours is registered; True when nothing is."""
    return all(configuration.trusts(authority) for configuration in configurations)


# A bundle is the same in every webhook, and is asked for at each look: the present one, and the one before it.
@lru_cache(8)
def _certificates(bundle: bytes) -> tuple[bytes, ...]:
    return certificates_in(bundle)


@lru_cache(8)
def _authorities(bundle: bytes) -> tuple[Authority, ...]:
    return authorities(bundle)


def collection(plural: str) -> str:
    """The path of all configurations of that kind."""
    return f"/apis/{API_VERSION}/{plural}"


class _Configuration(Projected):
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    webhooks: list[dict[str, Any]] | None = None


def projection(plural: str) -> StructProjection[_Configuration, Configuration]:
    """How a configuration of that kind is kept."""

    def to_item(seen: _Configuration) -> Item[Configuration]:
        name = seen.metadata.get("name")
        if not isinstance(name, str) or not name:
            raise ValueError("metadata.name is missing")
        uid, version = seen.metadata.get("uid") or "", seen.metadata.get("resourceVersion") or ""
        webhooks = tuple(map(_webhook, seen.webhooks or ()))
        return Item(name, uid, version, Configuration(plural, name, uid, version, webhooks))

    return StructProjection(API_VERSION, KINDS[plural], _Configuration, to_item)


def resource(plural: str) -> Resource[Configuration]:
    """The one configuration of that kind that bears our name."""
    return Resource(plural, collection(plural), projection(plural), {"fieldSelector": f"metadata.name={NAME}"})


def _webhook(seen: dict[str, Any]) -> Webhook:
    client = seen.get("clientConfig") or {}
    text = client.get("caBundle") if isinstance(client, dict) else None
    try:
        bundle = b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        bundle = b""
    return Webhook(str(seen.get("name") or ""), bundle, called_name(client))
