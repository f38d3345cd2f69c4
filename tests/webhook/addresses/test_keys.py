from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook.addresses.strategies import CALM
from webhook.addresses.facts import PodOwner
from webhook.addresses.keys import key_of, key_of_request, ordinal_of


def test_the_same_pod_has_the_same_key_in_every_call_and_release() -> None:
    assert key_of("shop", "3f0c7e52-9a3c-4f0e-8e25-0f1d8e6a2b11", "web-0") == "16d95eb0-ba33-5895-8cde-53f29e2f224c"


def test_the_same_request_has_the_same_key_in_every_call_and_release() -> None:
    assert key_of_request("705ab4f5-6393-11e8-b7cc-42010a800002") == "e704cd5a-6220-547a-9333-f7c90574ec29"


def test_namespace_owner_and_name_make_different_keys() -> None:
    keys = {
        key_of("shop", "a", "web-0"),
        key_of("shop", "a", "web-1"),
        key_of("shop", "b", "web-0"),
        key_of("shop", "", "web-0"),
        key_of("test", "a", "web-0"),
        key_of_request("web-0"),
    }

    assert len(keys) == 6


@CALM
@given(st.tuples(st.text(max_size=4), st.text(max_size=4), st.text(max_size=4)), st.data())
def test_words_that_run_together_to_the_same_text_make_different_keys(words: tuple[str, str, str], data: st.DataObject) -> None:
    whole = "".join(words)
    cuts = sorted(data.draw(st.tuples(st.integers(0, len(whole)), st.integers(0, len(whole)))))
    others = (whole[: cuts[0]], whole[cuts[0] : cuts[1]], whole[cuts[1] :])

    assert (key_of(*others) == key_of(*words)) is (others == words)


@pytest.mark.parametrize("uid", ["", "\ud800", "x" * 100_000, '"],["'])
def test_any_text_makes_a_key(uid: str) -> None:
    assert UUID(key_of("shop", uid, "web-0")).version == 5
    assert UUID(key_of_request(uid)).version == 5


@pytest.mark.parametrize(
    ("kind", "name", "pod_name", "ordinal"),
    [
        ("StatefulSet", "web", "web-0", 0),
        ("StatefulSet", "web", "web-7", 7),
        ("StatefulSet", "web", "web-10", 10),
        ("StatefulSet", "web-1", "web-1-2", 2),
        ("StatefulSet", "web", "web-2147483647", 2147483647),
        ("StatefulSet", "web", "web-2147483648", None),
        ("StatefulSet", "web", "web-" + "9" * 5000, None),
        ("StatefulSet", "web", "web-01", None),
        ("StatefulSet", "web", "web--1", None),
        ("StatefulSet", "web", "web-", None),
        ("StatefulSet", "web", "web", None),
        ("StatefulSet", "", "-1", None),
        ("StatefulSet", "", "", None),
        ("StatefulSet", "web", "web-٣", None),
        ("StatefulSet", "web", "web-1\n", None),
        ("ReplicaSet", "web", "web-1", None),
        ("Job", "web", "web-1", None),
        ("", "", "web-1", None),
    ],
)
def test_an_ordinal_is_the_number_that_a_stateful_set_gave(kind: str, name: str, pod_name: str, ordinal: int | None) -> None:
    assert ordinal_of(PodOwner(kind, name, "uid"), pod_name) == ordinal


@pytest.mark.parametrize("pod_name", ["other-1", "web-1-1", "we-1", "Web-1", "debug-web-1"])
def test_a_pod_that_only_names_a_set_as_its_owner_is_no_ordinal_of_it(pod_name: str) -> None:
    assert ordinal_of(PodOwner("StatefulSet", "web", "uid"), pod_name) is None
