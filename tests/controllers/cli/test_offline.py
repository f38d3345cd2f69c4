"""What the commands without a server share: the cluster as files, the configuration, the clock."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from controllers.cli.offline import add_offline_flags, offline, read_source, shown
from controllers.cli.usage import UsageError
from webhook.objects.documents import write_yaml

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"a": "b"}}}
CONFIG = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\n"


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_offline_flags(parser)
    return parser.parse_args(arguments)


def test_without_a_folder_the_cluster_is_empty() -> None:
    assert offline(parsed()).cluster.namespaces.get("shop") is None


def test_facts_come_from_the_folder(tmp_path: Path) -> None:
    (tmp_path / "namespace.yaml").write_text(write_yaml(NAMESPACE))

    facts = offline(parsed("--local", str(tmp_path))).cluster.namespaces.get("shop")

    assert facts is not None
    assert facts.labels == {"a": "b", "kubernetes.io/metadata.name": "shop"}  # which the API server gives each


def test_the_clock_stands_at_the_given_moment() -> None:
    setup = offline(parsed("--now", "1970-01-01T00:01:00Z"))
    service = setup.service("mutate")

    assert service is not None
    assert setup.clock.wall_s() == 60.0
    assert setup.context(service).now_s == 60.0
    assert 0 < setup.context(service).deadline.remaining_s() <= service.service.timeout_s


def test_a_service_that_is_switched_off_is_none(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG + "features: {sidecar: {enabled: false}}\n")

    setup = offline(parsed("--config", str(file)))

    assert setup.service("mutate") is None
    assert setup.service("workload-warnings") is not None


def test_the_operator_needs_no_certificate(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG + "webhook: {clientAuth: {mode: certificate, allowedSubjects: [kube-apiserver], caFile: ca.crt}}\n")

    assert offline(parsed("--config", str(file))).settings.client_subjects is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--local", ""), '--local "": no such folder'),
        (("--local", "nowhere"), "nowhere: no such folder"),
        (("--config", "nowhere.yaml"), "nowhere.yaml: cannot be read"),
        (("--now", "soon"), "--now soon: not an RFC 3339 time"),
    ],
)
def test_wrong_use_is_told(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", "\\(")):
        offline(parsed(*arguments))


def test_every_fault_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [")
    (tmp_path / "b.yaml").write_text("b: {")

    with pytest.raises(UsageError) as found:
        offline(parsed("--local", str(tmp_path)))

    assert [line.partition(":")[0][-6:] for line in str(found.value).splitlines()] == ["a.yaml", "b.yaml"]


def test_a_file_that_cannot_be_read_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Is a directory"):
        read_source(str(tmp_path))


def test_standard_input_has_a_name() -> None:
    assert (shown("-"), shown("a.yaml")) == ("stdin", "a.yaml")
