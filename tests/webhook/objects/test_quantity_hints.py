"""Amounts that are well formed and still hardly what their author meant."""

from __future__ import annotations

import pytest

from webhook.objects.quantity import hint


@pytest.mark.parametrize(
    ("resource", "text", "said"),
    [
        ("memory", "400m", "memory 400m means 0.4 bytes: 400Mi or 400M was probably meant"),
        ("limits.memory", "400m", "memory 400m means 0.4 bytes: 400Mi or 400M was probably meant"),
        ("memory", "1000m", "memory 1000m means 1 byte: 1000Mi or 1000M was probably meant"),
        (
            "memory",
            "1.1Gi",
            "memory 1.1Gi means 1181116006.4 bytes, no whole number, and is stored as 1181116006400m: write 1127Mi",
        ),
        ("memory", "1181116006400m", "memory 1181116006400m means 1181116006.4 bytes, no whole number: write 1127Mi"),
        ("memory", "128", "memory 128 means 128 bytes: 128Mi was probably meant"),
        ("memory", "1.5", "memory 1.5 means 1.5 bytes: a larger unit was probably meant"),
        ("memory", "512k", "memory 512k means 512000 bytes: a larger unit was probably meant"),
        ("memory", "1E", "memory 1E means 889Pi, more than any node has"),
        ("ephemeral-storage", "500", "ephemeral-storage 500 means 500 bytes: 500Mi was probably meant"),
        ("hugepages-2Mi", "2m", "hugepages-2Mi 2m means 0.002 bytes: 2Mi or 2M was probably meant"),
        ("cpu", "500", "cpu 500 means 500 cores: 500m was probably meant"),
        ("requests.cpu", "500", "cpu 500 means 500 cores: 500m was probably meant"),
        ("cpu", "2k", "cpu 2k means 2000 cores: a unit such as m was probably meant"),
        ("cpu", "1Mi", "cpu 1Mi has a unit of bytes and means 1048576 cores: 1 or 1m was probably meant"),
        ("cpu", "0.0001", "cpu 0.0001 is finer than 1m, the least that counts: it is taken for 1m"),
    ],
)
def test_a_likely_typo_is_told(resource: str, text: str, said: str) -> None:
    assert hint(resource, text) == said


@pytest.mark.parametrize(
    ("resource", "text"),
    [
        ("cpu", "1"), ("cpu", "500m"), ("cpu", "0.5"), ("cpu", "64"), ("cpu", "1e-1"), ("cpu", "0"), ("cpu", "-1"),
        ("memory", "64Mi"), ("memory", "1.5Gi"), ("memory", "1G"), ("memory", "134217728"), ("memory", "128974848000m"),
        ("memory", "0"), ("memory", "12Ti"), ("ephemeral-storage", "4Ki"), ("hugepages-2Mi", "4Mi"), ("nvidia.com/gpu", "1"),
        ("pods", "400m"), ("cpu", "1K"),
    ],
)  # fmt: skip
def test_what_looks_right_is_not_doubted(resource: str, text: str) -> None:
    assert hint(resource, text) is None
