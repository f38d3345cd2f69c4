"""The settings of fixed addresses: what they mean, and what is told of them before anything starts."""

from __future__ import annotations

import pytest

from controllers.config.document import Configuration, ConfigurationError, parse
from webhook.addresses.facts import EXPIRY_S, OnExhausted
from webhook.addresses.grammar import parse_items
from webhook.addresses.policy import AddressPolicy, ByHand

HEAD = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\n"


def faults(section: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        parse(f"{HEAD}features:\n  podIP:\n{section}", "gatehouse.yaml")
    return [str(fault) for fault in caught.value.faults]


def test_nobody_gets_a_fixed_address_unless_told() -> None:
    standard = Configuration()

    assert standard.settings().addresses is None
    assert not {"pod-ip", "pod-ip-check"} & standard.features.disabled()
    assert standard.controllers.pod_ip.enabled


def test_settings_are_what_the_file_says() -> None:
    body = """features:
  podIP:
    enabled: true
    ranges: ["10.0.0.0/24", 10.0.1.1-10.0.1.9, "fd00::1"]
    expiry: 5m
    cooldown: 15m
    onExhausted: gate
    byHand: Allow
controllers: {podIP: {enabled: false}}
"""
    found = parse(HEAD + body, "gatehouse.yaml")

    ranges = parse_items(["10.0.0.0/24", "10.0.1.1-10.0.1.9", "fd00::1"], "")
    assert found.settings().addresses == AddressPolicy(ranges, 300.0, 900.0, OnExhausted.GATE, ByHand.ALLOW)
    assert not found.controllers.pod_ip.enabled


def test_what_is_not_said_is_the_default() -> None:
    found = parse(f"{HEAD}features: {{podIP: {{enabled: true}}}}", "gatehouse.yaml")

    assert found.settings().addresses == AddressPolicy(expiry_s=EXPIRY_S)


def test_every_fault_is_told_with_its_place() -> None:
    section = """    enabled: maybe
    ranges: ["10.0.0.300", 7, "10.0.0.9-10.0.0.1", "10.0.0.1/24"]
    expiry: 30s
    cooldown: 15
    onExhausted: gait
    byHand: Alow
    range: []
"""
    assert faults(section) == [
        "gatehouse.yaml:5:5: features.podIP.enabled: must be true or false, not a string",
        'gatehouse.yaml:6:14: features.podIP.ranges[0]: "10.0.0.300" is no IP address',
        'gatehouse.yaml:6:28: features.podIP.ranges[1]: must be a string such as "10.0.0.0/24", not a number',
        'gatehouse.yaml:6:31: features.podIP.ranges[2]: "10.0.0.9-10.0.0.1" ends before it begins',
        'gatehouse.yaml:6:52: features.podIP.ranges[3]: "10.0.0.1/24" is no CIDR: write "10.0.0.0/24", or the address alone',
        "gatehouse.yaml:7:5: features.podIP.expiry: must be from 1m0s to 168h0m0s, not 30s",
        'gatehouse.yaml:8:5: features.podIP.cooldown: must be a duration such as "15s" or "1m30s", not 15',
        'gatehouse.yaml:9:5: features.podIP.onExhausted: must be one of deny, gate, not "gait": did you mean gate?',
        'gatehouse.yaml:10:5: features.podIP.byHand: must be one of Refuse, Allow, not "Alow": did you mean Allow?',
        "gatehouse.yaml:11:5: features.podIP.range: unknown key: did you mean ranges?",
    ]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("    ranges: 10.0.0.0/24\n", "must be a list of addresses, ranges and CIDRs, not a string"),
        (f"    ranges: [{', '.join(['10.0.0.1'] * 4097)}]\n", "has 4097 items, at most 4096 are read: write ranges or CIDRs"),
        ("    expiry: 200h\n", "must be from 1m0s to 168h0m0s, not 200h"),
        ("    cooldown: 200h\n", "must be from 0s to 168h0m0s, not 200h"),
    ],
)
def test_a_value_out_of_its_bounds_is_a_fault(section: str, message: str) -> None:
    (found,) = faults(section)

    assert found.endswith(message)
