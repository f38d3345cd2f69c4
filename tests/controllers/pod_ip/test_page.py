"""docs/pod-ip.md and its examples say what is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controllers.cli.main import main
from controllers.config.document import load
from tests.controllers.pod_ip.objects import pool_facts
from webhook.addresses.grammar import parse_annotation, parse_label
from webhook.names import ALLOCATABLE_IPS, IP_POOL
from webhook.objects.documents import read_documents

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "pod-ip"
TEXT = (ROOT / "docs" / "pod-ip.md").read_text()
BLOCKS = re.findall(r"```yaml\n(.*?)```", TEXT, re.S)


def read(text: str | bytes) -> dict:
    (document,) = read_documents(text, "example")
    value: dict = document.value
    return value


def test_the_pool_of_the_example_has_as_many_addresses_as_the_page_says() -> None:
    pool = pool_facts(read((EXAMPLES / "pool.yaml").read_bytes()))

    assert (pool.fault, pool.addresses.size()) == ("", 14)
    assert "of which the namespace shop may use 14" in TEXT


@pytest.mark.parametrize("name", ["deployment", "statefulset"])
def test_the_workloads_of_the_example_ask_for_that_pool(name: str) -> None:
    workload = read((EXAMPLES / f"{name}.yaml").read_bytes())

    assert workload["spec"]["template"]["metadata"]["labels"][IP_POOL] == "shop"


def test_the_example_switches_it_on() -> None:
    assert load(str(EXAMPLES / "gatehouse.yaml")).features.pod_ip.enabled


def test_the_pool_on_the_page_can_be_read() -> None:
    (block,) = [block for block in BLOCKS if "kind: AddressPool" in block]

    pool = pool_facts(read(block))

    assert (pool.fault, pool.addresses.size()) == ("", 16 - 1 + 10 + 2**16)


def test_the_lists_on_the_page_can_be_read() -> None:
    lines = [line for block in BLOCKS for line in block.splitlines() if line.startswith(f"{ALLOCATABLE_IPS}: ")]
    lists = [read(line)[ALLOCATABLE_IPS] for line in lines]

    sizes = [(parse_annotation if " " in one else parse_label)(one, "x").size() for one in lists]

    assert sizes == [1 + 10 + 9, 1, 15 + 16]


def test_the_metrics_on_the_page_are_those_of_the_code() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "controllers" / "pod_ip").glob("*.py"))
    made = set(re.findall(r'"(gatehouse_address\w+)"', sources)) | {"gatehouse_address_pool_size"}

    named = {name.removesuffix("_total") for name in re.findall(r"`(gatehouse_address\w+)", TEXT)}

    assert named == made


def test_the_commands_on_the_page_exist(capsys: pytest.CaptureFixture[str]) -> None:
    for action in re.findall(r"gatehouse ip (\w+)", TEXT):
        assert main(["ip", action, "--help"]) == 0
    for path in re.findall(r"((?:manifests|examples)/[\w./-]+\.yaml)", TEXT):
        assert (ROOT / path).exists(), path
