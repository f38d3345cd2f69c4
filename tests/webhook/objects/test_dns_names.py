"""Names are what apimachinery takes as RFC 1123 labels and subdomains, to the letter."""

from __future__ import annotations

import pytest

from webhook.objects.dns_names import LABEL_LIMIT, SUBDOMAIN_LIMIT, is_dns_label, is_dns_subdomain

LABELS = ["a", "0", "a-b", "a--b", "0a", "xn--bcher-kva", "a" * LABEL_LIMIT]
SUBDOMAINS = ["a.b", "0.0", "a-b.c-d", "a" * 100, ".".join(["a" * 50] * 4), "a" * SUBDOMAIN_LIMIT]
NEITHER = [
    *("", "-", "-a", "a-", "A", "a_b", "a b", " a", "a ", "a\n", "\na", "a\0", "ä", "ａ", "٣", "a/b", "*", "*.a"),
    *(".", ".a", "a.", "a..b", "a.-b", "a-.b", "a.B", "a" * (SUBDOMAIN_LIMIT + 1)),
]


@pytest.mark.parametrize("name", LABELS)
def test_a_label_is_also_a_subdomain(name: str) -> None:
    assert (is_dns_label(name), is_dns_subdomain(name)) == (True, True)


@pytest.mark.parametrize("name", SUBDOMAINS)
def test_a_subdomain_may_have_points_and_be_longer(name: str) -> None:
    assert (is_dns_label(name), is_dns_subdomain(name)) == (False, True)


@pytest.mark.parametrize("name", NEITHER)
def test_everything_else_is_no_name(name: str) -> None:
    assert (is_dns_label(name), is_dns_subdomain(name)) == (False, False)
