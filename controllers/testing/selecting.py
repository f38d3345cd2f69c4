"""Label and field selectors of lists and watches, as the API server applies them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import msgspec

from webhook.objects.selectors import Selector


@attrs.frozen
class Selection:
    """Which objects a request is about."""

    labels: Selector = Selector()
    name: str = ""  # of the field selector metadata.name, the one field that every kind has

    @classmethod
    def of(cls, params: Mapping[str, str]) -> Selection:
        """What the parameters of a request ask for. Raises Faults."""
        fields = params.get("fieldSelector", "")
        return cls(Selector.parse(params.get("labelSelector", "")), fields.partition("metadata.name=")[2])

    def matches(self, body: bytes) -> bool:
        """Whether the encoded object *body* is meant; b"" is none."""
        if not body:
            return False
        if self == Selection():
            return True
        metadata = msgspec.json.decode(body)["metadata"]
        return self.labels.matches(metadata.get("labels") or {}) and self.name in ("", metadata["name"])

    def event(self, before: bytes, after: bytes, version: int) -> tuple[str, bytes] | None:
        """What a watch is told of a change from *before* to *after* (b"": there was, or is, no object): event type and object.

        An object that is no longer meant counts as deleted, in its old state with the new version (apiserver storage/cacher).
        """
        was, now = self.matches(before), self.matches(after)
        if now:
            return ("MODIFIED" if was else "ADDED"), after
        if not was:
            return None
        obj = msgspec.json.decode(before)
        obj["metadata"]["resourceVersion"] = str(version)
        return "DELETED", msgspec.json.encode(obj)
