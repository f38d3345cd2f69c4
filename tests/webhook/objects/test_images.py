"""References to images are read as a container runtime reads them."""

from __future__ import annotations

import pytest

from webhook.objects.images import Image, comes_from

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "name", "tag", "pulled"),
    [
        ("nginx", "docker.io/library/nginx", "", "latest"),
        ("nginx:1.27", "docker.io/library/nginx", "1.27", "1.27"),
        ("team/app", "docker.io/team/app", "", "latest"),
        ("index.docker.io/team/app", "docker.io/team/app", "", "latest"),
        ("docker.io/nginx", "docker.io/library/nginx", "", "latest"),
        ("localhost/app", "localhost/app", "", "latest"),
        ("localhost:5000/app", "localhost:5000/app", "", "latest"),
        ("registry:5000/team/app:2", "registry:5000/team/app", "2", "2"),
        ("ghcr.io/team/app", "ghcr.io/team/app", "", "latest"),
        (f"ghcr.io/team/app@{DIGEST}", "ghcr.io/team/app", "", ""),
        (f"ghcr.io/team/app:latest@{DIGEST}", "ghcr.io/team/app", "latest", ""),
        ("Registry/app", "Registry/app", "", "latest"),
    ],
)
def test_a_reference_has_registry_repository_and_tag(text: str, name: str, tag: str, pulled: str) -> None:
    image = Image.parse(text)

    assert (image.name, image.tag, image.pulled_tag) == (name, tag, pulled)


@pytest.mark.parametrize(
    ("text", "source", "comes"),
    [
        ("ghcr.io/team/app:1", "ghcr.io", True),
        ("ghcr.io/team/app:1", "ghcr.io/team", True),
        ("ghcr.io/team/app:1", "ghcr.io/team/", True),
        ("ghcr.io/team/app:1", "ghcr.io/team/app", True),
        ("ghcr.io/teammate/app:1", "ghcr.io/team", False),
        ("ghcr.io.evil.example/team/app", "ghcr.io", False),
        ("evil.example/ghcr.io/team/app", "ghcr.io", False),
        ("ghcr.io/team/../evil/app", "ghcr.io/team", False),
        ("ghcr.io//team/app", "ghcr.io", False),
        ("ghcr.io:443/team/app", "ghcr.io", False),
        ("nginx", "docker.io/library", True),
        ("nginx", "docker.io", True),
        ("", "docker.io", False),
    ],
)
def test_an_image_comes_from_a_source_by_whole_parts_of_its_name(text: str, source: str, comes: bool) -> None:
    assert comes_from(Image.parse(text), (source,)) is comes


@pytest.mark.parametrize("text", [DIGEST, "a" * 64])
def test_an_image_that_a_node_has_comes_from_no_registry(text: str) -> None:
    image = Image.parse(text)

    assert not comes_from(image, ("docker.io", "docker.io/library", "sha256"))
    assert image.pulled_tag == ""
