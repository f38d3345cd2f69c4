"""The configuration: defaults, every key, flags, and every fault at once with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controllers.config.address import Address
from controllers.config.document import Configuration, ConfigurationError, Override, load, parse
from controllers.config.webhook import CertificateOrigin, ClientAuthMode
from webhook.admission.settings import Settings
from webhook.objects.documents import write_yaml
from webhook.objects.selectors import Selector
from webhook.objects.votes import Protocol, VotePolicy

# A busy machine is no fault of the code.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

HEADER = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\n"

EVERYTHING = (
    HEADER
    + """\
webhook:
  bindAddress: 127.0.0.1:9444
  certificate: {source: files, certFile: tls.crt, keyFile: tls.key}
  clientAuth: {mode: certificate, caFile: ca.crt, allowedSubjects: [system:apiserver]}
  limits: {bodyBytes: 1048576, maxInFlight: 8, threads: 9, idleTimeout: 2m30s}
  shutdownDelay: 1.5s
  verifyPatches: true
metrics: {bindAddress: 0}
probes: {bindAddress: "[::1]:0"}
leaderElection: {enabled: true, name: gh, namespace: edge, leaseDuration: 30s, renewDeadline: 20s, retryPeriod: 4s}
clientConnection: {kubeconfig: admin.conf, qps: 20.5, burst: 40}
votes:
  annotation: example.com/vote
  healthyValue: "yes"
  unhealthyValue: "no"
  timeAnnotation: example.com/voted-at
  maxAge: 1m
  maxGuard: 1h
  nodeSelector: zone=plant-7
  alwaysReachable: true
features: {podStatus: {enabled: false}}
logging: {format: json, verbose: true}
"""
)


def faults(text: str, overrides: dict[tuple[str | int, ...], Override] | None = None) -> list[str]:
    with pytest.raises(ConfigurationError) as refusal:
        parse(text, "c.yaml", overrides)
    return str(refusal.value).splitlines()


def fault_of(section: str) -> str:
    """The only fault of a document with *section* behind the header, without the file's name."""
    (found,) = faults(HEADER + section)
    return found.removeprefix("c.yaml:")


# -- what is read ----------------------------------------------------------------------------------------------------


def test_without_a_file_everything_has_its_default() -> None:
    config = load("")

    assert config == Configuration()
    assert str(config.webhook.bind_address) == ":9443"
    assert str(config.metrics.bind_address) == ":8080"
    assert str(config.probes.bind_address) == ":8081"
    assert config.leader_election.enabled is False
    assert config.settings() == Settings()


def test_every_key_is_read() -> None:
    config = parse(EVERYTHING, "c.yaml")

    assert config.webhook.bind_address == Address("127.0.0.1", 9444)
    assert config.webhook.certificate.source is CertificateOrigin.FILES
    assert config.webhook.client_auth.mode is ClientAuthMode.CERTIFICATE
    assert config.webhook.limits.idle_timeout_s == 150.0
    assert config.webhook.shutdown_delay_s == 1.5
    assert config.metrics.bind_address.enabled is False
    assert config.probes.bind_address == Address("::1", 0)
    assert config.leader_election.renew_deadline_s == 20.0
    assert config.client_connection.qps == 20.5
    assert config.logging.verbose is True
    assert config.settings() == Settings(
        votes=VotePolicy(
            annotation="example.com/vote",
            healthy_value="yes",
            unhealthy_value="no",
            time_annotation="example.com/voted-at",
            max_age_s=60.0,
            max_guard_s=3600.0,
            node_selector=Selector.parse("zone=plant-7"),
            always_reachable=True,
        ),
        disabled=frozenset({"pod-status"}),
        max_in_flight=8,
        body_limit_bytes=2**20,
        verify_patches=True,
        client_subjects=frozenset({"system:apiserver"}),
    )
    assert config.webhook.limits.server_limits().body_bytes == 2**20


def test_json_is_read_as_well() -> None:
    text = json.dumps({"apiVersion": "gatehouse.dev/v1alpha1", "kind": "GatehouseConfiguration", "votes": {"maxGuard": "1h"}})

    assert parse(text, "c.json").votes.max_guard_s == 3600.0


def test_null_is_the_same_as_absent() -> None:
    assert parse(HEADER + "webhook: ~\nvotes: {maxAge: null}\n", "c.yaml") == Configuration()


def test_a_selector_may_be_an_object() -> None:
    config = parse(HEADER + "votes: {nodeSelector: {matchLabels: {zone: plant-7}}}\n", "c.yaml")

    assert config.votes.policy().node_selector.matches({"zone": "plant-7"})


def test_with_superedges_protocol_the_rest_keeps_its_defaults() -> None:
    config = parse(HEADER + "votes: {protocol: superedge}\n", "c.yaml")

    assert config.votes.policy() == VotePolicy(protocol=Protocol.SUPEREDGE)


# -- what is wrong ---------------------------------------------------------------------------------------------------


def test_every_fault_is_reported_at_once_with_line_and_path() -> None:
    text = """\
apiVersion: gatehouse.dev/v1
webhok: {}
webhook:
  bindAddress: 9443
  certificate: {source: file}
  limits:
    threads: "5"
    idleTimeout: 60
  clientAuth:
    mode: certificate
leaderElection:
  leaseDuration: 5s
votes:
  healthyValue: true
  maxAge: 1m
  nodeSelector:
    matchLabels: {a: 1}
features: {nodeTaint: {enable: true}}
"""
    found = faults(text, {("metrics", "bindAddress"): Override("--metrics-bind-address", "8080")})

    assert [line.partition(": ")[0] for line in found] == [
        "--metrics-bind-address",
        "c.yaml:1:1",  # apiVersion
        "c.yaml:1:1",  # kind
        "c.yaml:2:1",
        "c.yaml:4:3",
        "c.yaml:5:17",
        "c.yaml:7:5",
        "c.yaml:8:5",
        "c.yaml:9:3",  # caFile
        "c.yaml:9:3",  # allowedSubjects
        "c.yaml:12:3",
        "c.yaml:14:3",
        "c.yaml:15:3",
        "c.yaml:17:19",
        "c.yaml:18:24",
    ]
    assert "c.yaml:2:1: webhok: unknown key: did you mean webhook?" in found
    assert 'c.yaml:14:3: votes.healthyValue: must be a string, not a boolean (write "true" with quotes)' in found


@pytest.mark.parametrize(
    ("section", "fault"),
    [
        ("webhook: []", "3:1: webhook: must be an object, not a list"),
        (
            "features: {databaseInstance: {}}",
            "3:12: features.databaseInstance: unknown key here: it is controllers.d",
        ),
        ("podIP: {}", "3:1: podIP: unknown key here: it is features.podIP or controllers.podIP"),
        ("features: {votes: {}}", "3:12: features.votes: unknown key here: it is votes"),
        ("webhook: {limits: {podIP: 1}}", "3:20: webhook.limits.podIP: unknown key (known: "),
        ("wat: 1", "3:1: wat: unknown key (known: clientConnection, controllers, features, leaderElection, logging, metrics,"),
        ("webhook: {BindAddress: ':1'}", "3:11: webhook.BindAddress: unknown key: did you mean bindAddress?"),
        ("webhook: {bindAddress: '9443'}", "3:11: webhook.bindAddress: '9443' has no port: write \":9443\""),
        ("webhook: {shutdownDelay: 5}", '3:11: webhook.shutdownDelay: must be a duration such as "15s" or "1m30s", not 5'),
        ("webhook: {shutdownDelay: 5d}", '3:11: webhook.shutdownDelay: unknown unit "d" in duration "5d"'),
        ("webhook: {shutdownDelay: -1s}", "3:11: webhook.shutdownDelay: must be from 0s to 5m0s, not -1s"),
        ("webhook: {verifyPatches: 1}", "3:11: webhook.verifyPatches: must be true or false, not a number"),
        ("webhook: {certificate: {source: files, keyFile: k}}", "3:11: webhook.certificate.certFile: must name a file"),
        ("webhook: {certificate: {source: files, certFile: c}}", "3:11: webhook.certificate.keyFile: must name a file"),
        ("webhook: {certificate: {certFile: c, keyFile: k}}", "3:11: webhook.certificate.source: must be files when"),
        (
            "webhook: {certificate: {source: files, certFile: c, keyFile: k, hosts: [a]}}",
            "3:65: webhook.certificate.hosts: has no meaning when the certificate comes from files",
        ),
        ("webhook: {certificate: {hosts: a}}", "3:25: webhook.certificate.hosts: must be a list of strings, not a string"),
        ("webhook: {certificate: {hosts: [a, 1]}}", "3:36: webhook.certificate.hosts[1]: must be a string, not a number"),
        ("webhook: {clientAuth: {caFile: x}}", "3:11: webhook.clientAuth.mode: must be certificate when"),
        (
            "webhook: {clientAuth: {mode: certificate, caFile: x}}",
            "3:11: webhook.clientAuth.allowedSubjects: must name at least one subject",
        ),
        ("webhook: {limits: {threads: 0}}", "3:20: webhook.limits.threads: must be from 1 to 512, not 0"),
        ("webhook: {limits: {threads: 1.5}}", "3:20: webhook.limits.threads: must be a whole number, not 1.5"),
        ("webhook: {limits: {threads: 99999999999999999999999}}", "3:20: webhook.limits.threads: must be from 1 to "),
        ("webhook: {limits: {threads: yes}}", "3:20: webhook.limits.threads: must be a whole number, not true"),
        ("webhook: {limits: {bufferedBytes: 8388608}}", "3:20: webhook.limits.bufferedBytes: must be at least twice bodyBytes"),
        ("webhook: {limits: {connections: 100}}", "3:11: webhook.limits.unprovenConnections: must not be above connections"),
        ("webhook: {limits: {idleTimeout: 90s}}", "3:20: webhook.limits.idleTimeout: must be above 1m30s"),
        ("leaderElection: {leaseDuration: 10s}", "3:18: leaderElection.leaseDuration: must be above renewDeadline"),
        ("leaderElection: {renewDeadline: 2400ms}", "3:18: leaderElection.renewDeadline: must be above 1.2 times retryPeriod"),
        ("leaderElection: {retryPeriod: 999ms}", "3:18: leaderElection.retryPeriod: must be from 1s to"),
        ("leaderElection: {name: A}", "3:18: leaderElection.name: must be a name of lower case letters"),
        ("leaderElection: {namespace: a.b}", "3:18: leaderElection.namespace: must be the name of a namespace"),
        ("clientConnection: {qps: 0}", "3:20: clientConnection.qps: must be from 1 to 100000, not 0"),
        ("clientConnection: {qps: '5'}", "3:20: clientConnection.qps: must be a number, not a string"),
        (
            "votes: {protocol: superedges}",
            '3:9: votes.protocol: must be one of annotation, superedge, not "superedges": did you',
        ),
        ("votes: {maxAge: 1m}", "3:9: votes.maxAge: needs timeAnnotation"),
        ("votes: {healthyValue: 'false'}", "3:1: votes.unhealthyValue: must differ from healthyValue"),
        ("votes: {healthyValue: ''}", "3:9: votes.healthyValue: must not be empty"),
        ("votes: {annotation: a b}", '3:9: votes.annotation: label key "a b"'),
        ("votes: {timeAnnotation: a/t, maxAge: 1m, maxGuard: 0s}", "3:42: votes.maxGuard: must not be 0s with maxAge"),
        ("votes: {timeAnnotation: a/t}", "3:9: votes.timeAnnotation: needs maxAge"),
        ("votes: {annotation: a/t, timeAnnotation: a/t, maxAge: 1m}", "3:26: votes.timeAnnotation: must not be the annotation"),
        ("votes: {protocol: superedge, healthyValue: a}", "3:30: votes.healthyValue: has no meaning with protocol superedge"),
        ("votes: {protocol: superedge, unhealthyValue: a}", "3:30: votes.unhealthyValue: has no meaning with protocol"),
        ("votes: {nodeSelector: 'a in b'}", '3:9: votes.nodeSelector: label selector "a in b"'),
        ("votes: {nodeSelector: {matchLabel: {}}}", "3:24: votes.nodeSelector.matchLabel: unknown field"),
        ("features: {endpoint: {enabled: 'no'}}", "3:23: features.endpoint.enabled: must be true or false, not a string"),
        ("logging: {format: xml}", '3:11: logging.format: must be one of text, json, not "xml"'),
        (
            "metrics: {authorization: rbac}",
            '3:11: metrics.authorization: must be one of none, kubernetes, not "rbac"',
        ),
        ("metrics: {tls: 'on'}", "3:11: metrics.tls: must be true or false, not a string"),
        ("metrics: {trustLoopback: true}", "3:11: metrics.trustLoopback: has no meaning while authorization is none"),
        ("metrics: {bindAddress: ':8081'}", "1:1: webhook: webhook, metrics and probes need a port each"),
        ("kind: GatehouseConfiguration", '3:1: key "kind" is already set in line 2'),
        ("a: [", "4:1: did not find expected node content"),
        ("---\na: 1", "4:1: a second document: expected one"),
    ],
)
def test_a_fault_says_where_it_is_and_what_would_be_right(section: str, fault: str) -> None:
    assert fault_of(section + "\n").startswith(fault)


def test_a_rule_is_silent_while_one_of_its_fields_is_broken() -> None:
    found = faults(HEADER + "leaderElection: {leaseDuration: 5, renewDeadline: 30s, retryPeriod: 29s}\n")

    assert [line.partition(": ")[2].partition(":")[0] for line in found] == [
        "leaderElection.leaseDuration",
        "leaderElection.renewDeadline",
    ]


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_an_empty_file_is_a_fault(text: str) -> None:
    assert faults(text) == ["c.yaml:1:1: is empty: expected a GatehouseConfiguration"]


@pytest.mark.parametrize("text", ["[]", "a", "12"])
def test_a_document_that_is_no_object_is_a_fault(text: str) -> None:
    assert faults(text)[0].startswith("c.yaml:1:1: must be an object, not a")


def test_the_header_of_something_else_is_a_fault() -> None:
    found = faults("apiVersion: v1\nkind: ConfigMap\n")

    assert found == [
        "c.yaml:1:1: apiVersion: must be gatehouse.dev/v1alpha1, not 'v1'",
        "c.yaml:2:1: kind: must be GatehouseConfiguration, not 'ConfigMap'",
    ]


def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"gone\.yaml: cannot be read: No such file or directory"):
        load(str(tmp_path / "gone.yaml"))


# -- flags -----------------------------------------------------------------------------------------------------------


def test_an_override_takes_the_place_of_the_documents_value_even_of_a_wrong_one() -> None:
    config = parse(
        HEADER + "leaderElection: {enabled: 7}\n", "c.yaml", {("leaderElection", "enabled"): Override("--leader-elect", True)}
    )

    assert config.leader_election.enabled is True


def test_a_fault_of_a_flag_names_the_flag() -> None:
    overrides = {("leaderElection", "leaseDuration"): Override("--leader-elect-lease-duration", "1s")}

    with pytest.raises(ConfigurationError) as refusal:
        load("", overrides)

    assert str(refusal.value) == (
        "--leader-elect-lease-duration: must be above renewDeadline: else another replica leads before this one has given up"
    )


# -- any document ----------------------------------------------------------------------------------------------------

NAMES = [
    "webhook",
    "limits",
    "threads",
    "votes",
    "maxAge",
    "nodeSelector",
    "features",
    "endpoint",
    "enabled",
    "bindAddress",
    "x",
]
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "1s", ":1", "a=b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=20,
)


@CALM
@given(st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=5))
def test_any_document_is_a_configuration_or_a_list_of_faults_with_places(sections: dict[str, Any]) -> None:
    document = {"apiVersion": "gatehouse.dev/v1alpha1", "kind": "GatehouseConfiguration", **sections}

    assert all(fault.startswith("c.yaml:") for fault in attempt(write_yaml(document)))


def attempt(text: str) -> list[str]:
    try:
        parse(text, "c.yaml")
    except ConfigurationError as error:
        return [str(fault) for fault in error.faults]
    return []
