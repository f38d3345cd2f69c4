"""How what is wrong is put into one message, and where rules hold."""

from __future__ import annotations

from webhook.objects.enforcement import MESSAGE_LIMIT, ONE_LIMIT, Namespaces, joined


def test_sentences_are_joined_as_far_as_they_fit_and_the_rest_is_counted() -> None:
    assert joined([]) == ""
    assert joined(["a", "b"]) == "a; b"
    assert joined(["a" * 10, "b" * 10, "c" * 10], limit=30) == f"{'a' * 10}; {'b' * 10}; and 1 more"


def test_a_message_is_bounded_whatever_its_parts() -> None:
    text = joined(["x" * 100_000] * 1000)

    assert len(text) <= MESSAGE_LIMIT + len("; and 1000 more")
    assert text.startswith("x" * (ONE_LIMIT - 1) + "…; ")
    assert text.endswith("; and 996 more")


def test_namespaces_may_be_taken_out() -> None:
    some = Namespaces(("prod-*", "kube-system")).without(["kube-system"])

    assert [name for name in ("prod-a", "kube-system", "shop") if name in some] == ["prod-a"]
