"""The Secret that all replicas share: its bytes, what they are worth, and the requests that write it.

    tls.crt  tls.key   the pair that is served (kubernetes.io/tls, so that any tool reads it)
    ca.crt             what the API server is to trust, the newest CA first
    ca.key             the newest CA's key, so that any replica that leads can go on

Sources other than `self` bring only what they have: cert-manager has no ca.key, a hand-made Secret perhaps no ca.crt.
Pure but for OpenSSL's handshakes in memory. Any thread. Errors: UndecodableObject, from the projection.
Source: Kubernetes docs, Secrets, "TLS Secrets".
"""

from __future__ import annotations

import binascii
import ssl
from base64 import b64decode, b64encode
from functools import lru_cache
from typing import Any, Final

import attrs
import msgspec

from controllers.certificates.plan import Held, Pair
from controllers.runtime.decoding import Projected, StructProjection
from controllers.runtime.resource import Item, Json, Resource
from webhook.names import APP_LABEL, PROJECT
from webhook.serving.chains import ChainError, authorities, is_key_of, is_trusted, load_pair, served_leaf

CERTIFICATE, KEY, CA, CA_KEY = "tls.crt", "tls.key", "ca.crt", "ca.key"
TYPE: Final = "kubernetes.io/tls"
_EXAMINED: Final = 4  # contents of which the worth is remembered: the present one, the next one, and whoever flips between two


@attrs.frozen
class Content:
    """The bytes of a Secret; b"" where a key is missing."""

    certificate: bytes = b""
    key: bytes = attrs.field(default=b"", repr=False)
    ca: bytes = b""
    ca_key: bytes = attrs.field(default=b"", repr=False)

    def data(self) -> Json:
        """As `data` of a Secret."""
        values = {CERTIFICATE: self.certificate, KEY: self.key, CA: self.ca, CA_KEY: self.ca_key}
        return {name: b64encode(value).decode("ascii") for name, value in values.items()}


@attrs.frozen
class SecretFacts:
    """A Secret as the cache keeps it."""

    namespace: str
    name: str
    uid: str
    version: str
    content: Content

    def held(self) -> Held:
        """What its bytes are worth."""
        return attrs.evolve(examine(self.content), version=self.version, uid=self.uid)


@lru_cache(_EXAMINED)
def examine(content: Content) -> Held:
    """What *content* is worth. Some milliseconds; remembered, since it is asked again and again about the same bytes."""
    known = authorities(content.ca)
    ca_key = content.ca_key if known and is_key_of(known[0].pem, content.ca_key) else b""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        if not content.certificate or not content.key:
            raise ChainError("unloadable", f"{CERTIFICATE if not content.certificate else KEY} is missing")
        load_pair(context, content.certificate, content.key)
        leaf = served_leaf(context, content.certificate)
    except ChainError as error:
        return Held(None, known, ca_key=ca_key, fault=str(error))
    signer = next((index for index, one in enumerate(known) if is_trusted(context, one.pem)), None)
    return Held(Pair(content.certificate, content.key, leaf), known, signer, ca_key)


def path(namespace: str, name: str = "") -> str:
    """Of the Secret *name*, or of the collection."""
    collection = f"/api/v1/namespaces/{namespace}/secrets"
    return f"{collection}/{name}" if name else collection


def new_body(namespace: str, name: str, content: Content) -> Json:
    """The Secret to create."""
    metadata = {"name": name, "namespace": namespace, "labels": {APP_LABEL: PROJECT}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": TYPE, "data": content.data()}


def change(version: str, content: Content) -> Json:
    """The merge patch (RFC 7386) that replaces the bytes and nothing else, if the Secret is still at *version*."""
    return {"metadata": {"resourceVersion": version}, "data": content.data()}


class _Secret(Projected):
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    data: dict[str, str | None] | None = None


def _to_item(seen: _Secret) -> Item[SecretFacts]:
    name, namespace = seen.metadata.get("name"), seen.metadata.get("namespace")
    if not isinstance(name, str) or not isinstance(namespace, str):
        raise ValueError("metadata.name or metadata.namespace is missing")
    data = seen.data or {}
    content = Content(*(_decoded(data.get(key) or "", key) for key in (CERTIFICATE, KEY, CA, CA_KEY)))
    uid, version = seen.metadata.get("uid") or "", seen.metadata.get("resourceVersion") or ""
    return Item(f"{namespace}/{name}", uid, version, SecretFacts(namespace, name, uid, version, content))


def _decoded(text: str, key: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError(f"data[{key!r}] is not base64") from None


PROJECTION: Final = StructProjection("v1", "Secret", _Secret, _to_item)


def resource(namespace: str, name: str) -> Resource[SecretFacts]:
    """That one Secret; the field selector lets a Role limit list and watch to its name, too (Kubernetes docs, RBAC)."""
    return Resource("secrets", path(namespace), PROJECTION, {"fieldSelector": f"metadata.name={name}"})
