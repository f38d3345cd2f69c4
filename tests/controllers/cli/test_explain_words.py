"""Kinds as kubectl's users write them."""

from __future__ import annotations

import pytest

from controllers.cli.explain_targets import kind_word
from controllers.cli.main import main


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("deploy", "deployment"),
        ("Deployment", "deployment"),
        ("deployments.apps", "deployment"),
        ("pods", "pod"),
        ("po", "pod"),
        ("sts", "statefulset"),
        ("ds", "daemonset"),
        ("rs", "replicaset"),
        ("cj", "cronjob"),
        ("nodes", "node"),
        ("no", "node"),
        ("ep", "endpoint"),
        ("endpoints", "endpoints"),
        ("endpointslices", "endpointslice"),
        ("addresses", "address"),
        ("databaseinstances", "databaseinstance"),
    ],
)
def test_a_kind_may_be_short_plural_or_with_its_group(written: str, meant: str) -> None:
    assert kind_word(written) == meant


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("deploi", "gatehouse: kind deploi: did you mean deployment?"),
        ("svc", "gatehouse: kind svc: endpoint NAMESPACE/NAME explains the Endpoints and EndpointSlices of a Service"),
        ("xyz", "gatehouse: kind xyz: it is one of pod, workload"),
    ],
)
def test_an_unknown_kind_gets_a_line_with_what_may_be_meant_and_the_next_step(
    written: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", written, "a"]) == 2

    told = capsys.readouterr().err
    assert told.startswith(said)
    assert told.splitlines()[1:] == ["gatehouse: gatehouse explain --help has examples"]
