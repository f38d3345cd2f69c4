"""Calico's own code on what we write, in the same cluster: it reads the annotation and assigns the address."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apiserver import nodes
from tests.apiserver.addresses import calico, objects
from tests.apiserver.addresses.objects import CALICO, create, from_list, from_pool, pod, refusal
from tests.apiserver.addresses.stage import Stage
from tests.apiserver.waiting import wait_for
from tests.cluster import Api
from tests.webhook.objects.oracles import Ask

NODE = "calico-node"


@pytest.fixture(scope="module")
def ask(stage: Stage, api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    nodes.create_node(api, NODE, NODE)
    with calico.asked(stage.cluster, tmp_path_factory.mktemp("calico")) as asking:
        yield asking
    api.delete(f"{nodes.NODES}/{NODE}")


@pytest.fixture(scope="module", autouse=True)
def _pools(api: Api) -> None:
    objects.make_pool(api, "calico-both", "10.107.0.0/28", "fd64:0:0:7::/120")
    objects.make_pool(api, "calico-single", "10.107.1.0/28")


@pytest.mark.parametrize("pool", ["calico-both", "calico-single"])
def test_calico_reads_and_assigns_what_we_write(api: Api, namespace: str, ask: Ask, pool: str) -> None:
    made = create(api, namespace, pod("real-", from_pool(pool)))

    read = ask({"parse": made["metadata"]["annotations"][CALICO]})

    assert read == {"addresses": objects.addresses(made)}
    for one in read["addresses"]:
        assert ask({"assign": one, "handle": made["metadata"]["uid"], "node": NODE}) == {"addresses": [one]}
        again = ask({"assign": one, "handle": "another", "node": NODE})
        assert "already exists" in again["error"]
    assert ask({"release": made["metadata"]["uid"]}) == {}


def test_an_address_of_a_disabled_pool_is_refused_by_both(api: Api, namespace: str, ask: Ask) -> None:
    said = refusal(api, namespace, pod("disabled-", from_list("10.48.0.5")))

    assert calico.DISABLED in said
    assert "not in a configured pool" in ask({"assign": "10.48.0.5", "handle": "disabled", "node": NODE})["error"]


def test_an_address_outside_every_pool_is_refused_by_both(api: Api, namespace: str, ask: Ask) -> None:
    said = refusal(api, namespace, pod("outside-", from_list("10.47.0.5")))

    assert "10.47.0.5" in said
    assert "not in a configured pool" in ask({"assign": "10.47.0.5", "handle": "outside", "node": NODE})["error"]


def test_an_address_for_tunnels_is_refused_though_calico_would_assign_it(api: Api, namespace: str, ask: Ask) -> None:
    said = refusal(api, namespace, pod("tunnel-", from_list("10.48.1.5")))

    assert calico.TUNNELS in said
    # AssignIP asks for an enabled pool only; allowedUses is looked at where Calico chooses by itself.
    assert ask({"assign": "10.48.1.5", "handle": "tunnel", "node": NODE}) == {"addresses": ["10.48.1.5"]}


def test_an_address_that_calico_still_holds_is_left_alone(api: Api, namespace: str, ask: Ask) -> None:
    assert ask({"assign": "10.107.2.1", "handle": "left-over", "node": NODE}) == {"addresses": ["10.107.2.1"]}
    both = from_list("10.107.2.1_10.107.2.2")

    def noticed() -> bool:
        shown = {objects.address(create(api, namespace, pod("held-", both), "?dryRun=All")) for _ in range(8)}
        return shown == {"10.107.2.2"}

    wait_for(noticed, 10.0, "the block in our caches")
    assert objects.address(create(api, namespace, pod("held-", both))) == "10.107.2.2"
    assert "in use without a reservation" in refusal(api, namespace, pod("held-", from_list("10.107.2.1")))


@pytest.mark.parametrize("text", ['["10.0.0.1","10.0.0.2"]', "[]", "10.0.0.1", '["10.0.0.1/32"]', '["::1","::2"]'])
def test_calico_would_stop_a_pod_with_an_annotation_of_another_form(ask: Ask, text: str) -> None:
    assert ask({"parse": text})["error"]
