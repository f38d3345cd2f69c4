"""Kubelet versions, as far as decisions need them."""

from __future__ import annotations

import pytest

from webhook.objects.versions import index_value, minor_of, oldest


@pytest.mark.parametrize(
    ("version", "minor"),
    [
        ("v1.37.2", (1, 37)),
        ("v1.33.0-eks-1a2b3c", (1, 33)),
        ("v1.30.5+k3s1", (1, 30)),
        ("1.29", (1, 29)),
        ("v1.19.10-vk-azure-aci-1.4.1", (1, 19)),
        ("v1.28+", (1, 28)),
        ("", (0, 0)),
        ("devel", (0, 0)),
        ("v1", (0, 0)),
        ("v1.999999.0", (0, 0)),
        ("v1.\u0663\u0663", (0, 0)),  # digits, but not ASCII's
    ],
)
def test_major_and_minor_are_read_and_nothing_else_is_guessed(version: str, minor: tuple[int, int]) -> None:
    assert minor_of(version) == minor


def test_the_oldest_is_found_by_number() -> None:
    assert oldest(["v1.30.1", "v1.9.9", "v1.33.0"]) == (1, 9)
    assert oldest([]) is None


def test_an_index_value_reads_back() -> None:
    assert minor_of(index_value("v1.33.2-gke.100")) == (1, 33)
