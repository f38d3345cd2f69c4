"""A certificate is held against the names that the API server calls us by."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.certificates.called_names import called_name, uncovered

SERVICE = "gatehouse.kube-system.svc"


@pytest.mark.parametrize(
    ("client_config", "expected"),
    [
        ({"service": {"name": "gatehouse", "namespace": "kube-system", "path": "/mutate"}}, SERVICE),
        ({"url": "https://Gate.Example.com:9443/mutate"}, "gate.example.com"),
        ({"url": "https://[2001:DB8::0:1]:9443/mutate"}, "2001:db8::1"),
        ({"url": "https://192.0.2.7/mutate"}, "192.0.2.7"),
        ({"url": "https://[no/"}, ""),
        ({"url": 5}, ""),
        ({"service": {"name": "gatehouse"}}, ""),
        ({"service": {"name": 5, "namespace": "kube-system"}}, ""),
        ({}, ""),
        (None, ""),
    ],
)
def test_a_webhook_is_called_by_its_service_or_the_host_of_its_url(client_config: Any, expected: str) -> None:
    assert called_name(client_config) == expected


@pytest.mark.parametrize(
    ("called", "names", "expected"),
    [
        ([SERVICE], {SERVICE, "localhost"}, ()),
        ([SERVICE], {"localhost", "127.0.0.1"}, (SERVICE,)),
        ([SERVICE, SERVICE, "a.example.com"], {"localhost"}, ("a.example.com", SERVICE)),
        ([SERVICE], {"*.kube-system.svc"}, ()),
        ([SERVICE], {"*.svc"}, (SERVICE,)),
        ([SERVICE], {"*"}, (SERVICE,)),
        ([f"{SERVICE}."], {SERVICE}, ()),
        (["192.0.2.7"], {"192.0.2.7"}, ()),
        (["192.0.2.7"], {"*.0.2.7"}, ("192.0.2.7",)),
        (["2001:db8::1"], {"localhost"}, ("2001:db8::1",)),
        ([""], set[str](), ()),
        ([], set[str](), ()),
    ],
)
def test_the_names_that_a_certificate_lacks_are_found(called: list[str], names: set[str], expected: tuple[str, ...]) -> None:
    assert uncovered(called, names) == expected
