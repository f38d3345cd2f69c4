"""Namespaces in the files that are injected count as if they had been applied."""

from __future__ import annotations

import attrs
import pytest

from controllers.cli.bundle import BundledNamespaces, beside
from controllers.testing import FakeClock
from webhook.clock import Deadline
from webhook.cluster import Namespaces
from webhook.testing import facts


@attrs.frozen
class Setup:
    """What `beside` needs of an `Offline`."""

    cluster: object


SHOP = facts.namespace_facts("shop", labels={"a": "known", "b": "known"}, annotations={"x": "known"})


def known() -> Namespaces:
    return facts.cluster(namespaces=[SHOP], live_namespaces=[SHOP]).namespaces


def found(*sources: bytes) -> Namespaces:
    setup = Setup(facts.cluster(namespaces=[SHOP], live_namespaces=[SHOP]))
    made = beside(setup, sources)  # type: ignore[arg-type]
    return made.cluster.namespaces


def labels(namespaces: Namespaces, name: str) -> dict[str, str] | None:
    space = namespaces.get(name)
    return None if space is None else dict(space.labels)


NEW = b"apiVersion: v1\nkind: Namespace\nmetadata: {name: bank, labels: {sidecar-injector: enabled}}\n"


def test_a_namespace_of_a_file_is_known() -> None:
    assert labels(found(NEW), "bank") == {"sidecar-injector": "enabled", "kubernetes.io/metadata.name": "bank"}


def test_what_a_file_says_of_a_known_namespace_stands_beside_what_is_known_and_wins() -> None:
    namespaces = found(b"apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {b: file, c: file}}\n")

    for space in (namespaces.get("shop"), namespaces.confirm("shop", Deadline.after(1.0, FakeClock()))):
        assert space is not None
        assert {key: space.labels[key] for key in "abc"} == {"a": "known", "b": "file", "c": "file"}
        assert space.annotations == {"x": "known"}


def test_a_namespace_that_only_the_cluster_knows_is_as_it_is() -> None:
    assert found(NEW).get("shop") == SHOP


def test_of_several_files_the_last_counts() -> None:
    assert labels(found(NEW, NEW.replace(b"enabled", b"disabled")), "bank") == {
        "sidecar-injector": "disabled",
        "kubernetes.io/metadata.name": "bank",
    }


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bank}\n",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Namespace}\n",
        b"apiVersion: example.com/v1\nkind: Namespace\nmetadata: {name: bank}\n",
        b"apiVersion: v1\nkind: Namespace\nmetadata: {name: 5}\n",
        b"apiVersion: v1\nkind: Namespace\nmetadata: []\n",
        b"kind: Namespace\nmetadata: [\n",
        b"\xff\xfe\x00",
        b"Namespace \xff",
    ],
)
def test_a_file_that_brings_none_or_cannot_be_read_changes_nothing(source: bytes) -> None:
    assert not isinstance(found(source), BundledNamespaces)


def test_a_list_and_utf_16_are_read() -> None:
    several = b"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Namespace, metadata: {name: bank}}]\n"

    assert found(several).get("bank") is not None
    assert found(NEW.decode().encode("utf-16")).get("bank") is not None
