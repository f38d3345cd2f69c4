"""References to container images: "registry.example.com:5000/team/app:1.4@sha256:…".

Pure; nothing here raises: a text that is no reference has no registry that anybody would list.
Source: distribution/reference (normalize.go): the first part is a registry when it has a "." or ":", is "localhost" or is not
lower case; without one it is Docker Hub's, whose unowned repositories stand in "library".
"""

from __future__ import annotations

import re

import attrs

DOCKER_HUB = "docker.io"
_OLD_DOCKER_HUB = "index.docker.io"
# What a node has already, under the identifier that its runtime gave it: it comes from nowhere that could be allowed.
_LOCAL = re.compile(r"(sha256:)?[0-9a-f]{64}")


@attrs.frozen
class Image:
    """A reference, read as a container runtime reads it."""

    registry: str  # with its port; "" for an image that a node is to have already
    repository: str
    tag: str  # "" when none stands there
    digest: str  # "sha256:…", "" when none stands there

    @property
    def name(self) -> str:
        """Registry and repository: "docker.io/library/nginx"."""
        return f"{self.registry}/{self.repository}"

    @property
    def pulled_tag(self) -> str:
        """The tag that a runtime would ask for: "latest" when none stands there, "" when a digest decides."""
        return "" if self.digest else self.tag or "latest"

    @property
    def is_canonical(self) -> bool:
        """Whether every part of its name is a plain one: no runtime takes another, and none may hide its path."""
        return all(part not in ("", ".", "..") for part in self.name.split("/"))

    @classmethod
    def parse(cls, text: str) -> Image:
        """The reference *text*."""
        if _LOCAL.fullmatch(text):
            return cls("", text, "", text)
        rest, _, digest = text.partition("@")
        name, colon, tag = rest.rpartition(":")
        if not colon or "/" in tag:  # the colon of a registry's port
            name, tag = rest, ""
        first, slash, others = name.partition("/")
        if not slash or not _is_registry(first):
            first, others = DOCKER_HUB, name
        if first in (DOCKER_HUB, _OLD_DOCKER_HUB):
            first, others = DOCKER_HUB, others if "/" in others else f"library/{others}"
        return cls(first, others, tag, digest)


def _is_registry(part: str) -> bool:
    return "." in part or ":" in part or part == "localhost" or part != part.lower()


def comes_from(image: Image, sources: tuple[str, ...]) -> bool:
    """Whether *image* stands in one of *sources*: "registry.example.com", "docker.io/library", "ghcr.io/team/app".

    Whole parts count: "ghcr.io/team" does not cover "ghcr.io/teammate".
    """
    return image.is_canonical and any(f"{image.name}/".startswith(source.rstrip("/") + "/") for source in sources)
