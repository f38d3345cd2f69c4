"""From a ConfigMap to entries: which keys, what they mean, and every fault with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.webhook.sidecars.entries.article import ENVOY
from tests.webhook.sidecars.entries.broken_entries import TABLE, container, entry, init, one
from webhook.sidecars.entries import source
from webhook.sidecars.entries.entry import AppWiring, Conflict, Entry, NativeSidecar, Placement, Repair, Spot, Unfit

LABELLED = {"gatehouse.dev/sidecars": "true"}


def read_one(text: str) -> Entry:
    reading = source.read("shop", "sidecars", LABELLED, {"one": text})
    assert reading.faults == ()
    return reading.entries[0]


def faults_of(text: str) -> list[tuple[str, str]]:
    return [(fault.path, fault.message) for fault in source.read("shop", "sidecars", LABELLED, {"one": text}).faults]


# -- which keys ------------------------------------------------------------------------------------------------------


def names(name: str, labels: dict[str, str], *keys: str) -> tuple[list[str], list[str]]:
    """The entries of a ConfigMap with these keys, and those with faults."""
    reading = source.read("shop", name, labels, dict.fromkeys(keys, ENVOY))
    return [found.name for found in reading.entries], [fault.entry for fault in reading.faults]


def test_the_articles_config_map_is_one_entry_of_its_name_whatever_else_it_holds() -> None:
    assert names("envoy-initializer", {}, "config", "README") == (["envoy-initializer"], [])


def test_every_key_of_a_labelled_config_map_is_an_entry_without_its_ending() -> None:
    assert names("tools", LABELLED, "a", "b.yaml", "c.yml") == (["a", "b", "c"], [])


def test_a_labelled_config_map_of_the_articles_name_is_both() -> None:
    assert names("envoy-initializer", LABELLED, "config", "other") == (["envoy-initializer", "other"], [])


def test_a_config_map_that_is_neither_holds_no_entries() -> None:
    assert names("settings", {"gatehouse.dev/sidecars": "True"}, "config") == ([], [])
    assert not source.is_source("settings", {"gatehouse.dev/sidecars": "True"})
    assert source.is_source("settings", LABELLED) and source.is_source("envoy-initializer", {})


def test_a_key_that_cannot_name_an_entry_is_told_and_the_others_are_read() -> None:
    assert names("tools", LABELLED, "README.md", "a", "x" * 64) == (["a"], ["README.md", "x" * 64])


def test_two_keys_of_one_name_are_told() -> None:
    assert names("tools", LABELLED, "a", "a.yaml") == (["a"], ["a"])


def test_the_articles_config_map_without_its_key_is_told() -> None:
    (fault,) = source.read("shop", "envoy-initializer", {}, {"confg": ENVOY}).faults

    assert (fault.entry, fault.message) == ("envoy-initializer", "ConfigMap envoy-initializer has no key config")


def test_what_is_wrong_with_one_key_does_not_touch_the_others() -> None:
    reading = source.read("shop", "tools", LABELLED, {"bad": "containers: [", "good": ENVOY}, "uid-1", "77")

    assert [found.name for found in reading.entries] == ["good"]
    assert {fault.entry for fault in reading.faults} == {"bad"}
    assert (reading.source, reading.uid, reading.version) == ("shop/tools", "uid-1", "77")


# -- what an entry means ---------------------------------------------------------------------------------------------


def test_the_articles_entry_works_unchanged() -> None:
    reading = source.read("shop", "envoy-initializer", {}, {"config": ENVOY})

    (found,) = reading.entries
    assert reading.faults == ()
    assert (found.name, found.source, found.key) == ("envoy-initializer", "shop/envoy-initializer", "config")
    assert found.containers[0]["args"] == ["--concurrency 4", "--config-path /etc/envoy/envoy.json", "--mode serve"]
    assert found.volumes == ({"name": "envoy-conf", "configMap": {"name": "envoy"}},)
    assert (found.has_placeholders, found.on_conflict, found.if_refused) == (False, Conflict.KEEP, Unfit.WARN)
    assert (found.place, found.init_place) == (Placement(Spot.LAST), Placement(Spot.FIRST))
    assert (found.native_sidecar, found.overridable, found.allow_host_network) == (NativeSidecar.AUTO, True, False)


def test_every_key_is_read() -> None:
    mount = {"name": "conf", "mountPath": "/conf"}
    env, env_from = {"name": "A", "value": "${app.name}"}, {"secretRef": {"name": "s"}}
    found = read_one(
        entry(
            initContainers=[container(name="setup", restartPolicy="Always", livenessProbe={"grpc": {"port": 1}})],
            imagePullSecrets=[{"name": "regcred"}],
            hostAliases=[{"ip": "::1", "hostnames": ["a.b"]}],
            labels={"mesh": "on"},
            annotations={"note": "any text\n"},
            app={"containers": ["web"], "initContainers": True, "env": [env], "envFrom": [env_from], "volumeMounts": [mount]},
            logCollector="/var/log/app/*.log",
            nativeSidecar="Never",
            position={"containers": {"before": "web"}, "initContainers": "Last"},
            onConflict="Override",
            ifRefused="Skip",
            repair=["PodSecurity", "LimitRange"],
            overridable=False,
            allowHostNetwork=True,
        )
    )

    assert found.app == AppWiring(("web",), True, (env,), (env_from,), (mount,))
    assert found.init_containers[0]["name"] == "setup"
    assert (found.image_pull_secrets[0]["name"], found.host_aliases[0]["ip"]) == ("regcred", "::1")
    assert (found.labels, found.annotations) == ({"mesh": "on"}, {"note": "any text\n"})
    assert found.log_collector is not None and found.log_collector.folder == "/var/log/app"
    assert (found.place, found.init_place) == (Placement(Spot.BEFORE, "web"), Placement(Spot.LAST))
    assert (found.native_sidecar, found.on_conflict, found.if_refused) == (NativeSidecar.NEVER, Conflict.OVERRIDE, Unfit.SKIP)
    assert found.repair == {Repair.POD_SECURITY, Repair.LIMIT_RANGE}
    assert (found.overridable, found.allow_host_network, found.has_placeholders) == (False, True, True)


def test_a_null_drops_its_key() -> None:
    found = read_one(one(resources={"limits": {"cpu": None, "memory": "1Gi"}, "requests": None}, env=None, command=None))

    assert found.containers[0]["resources"] == {"limits": {"memory": "1Gi"}}


def test_yaml_is_read_as_the_api_machinery_reads_it() -> None:
    text = "containers: [{name: a, image: b, stdin: yes, ports: [{containerPort: 0x50}], env: [{name: A, value: 2001-01-01}]}]"

    (found,) = read_one(text).containers

    assert (found["stdin"], found["ports"], found["env"]) == (
        True,
        [{"containerPort": 80}],
        [{"name": "A", "value": "2001-01-01"}],
    )


def test_the_revision_changes_with_what_an_entry_does_and_with_nothing_else() -> None:
    plain = read_one("labels: {a: b, c: d}\noverridable: true\n").revision
    same = read_one("# why\noverridable: yes\nlabels: {c: d, a: b}\nonConflict: Keep\n").revision

    assert plain == same
    assert len(plain) == 12 and set(plain) <= set("0123456789abcdef")
    assert plain != read_one("labels: {a: b, c: d}\noverridable: false\n").revision
    assert plain != read_one("labels: {a: b, c: e}\n").revision


def test_a_volume_of_the_log_collector_can_be_mounted() -> None:
    mount = {"name": "log-collector-logs", "mountPath": "/logs"}

    assert read_one(one(volumeMounts=[mount]).replace("}]}]", '}]}], "logCollector": "/var/log/app/a"', 1)).log_collector


def test_a_placeholder_stands_where_a_number_will() -> None:
    found = read_one(one(ports=[{"containerPort": "${pod.annotations['port']:-8080}"}], image="envoy:${pod.labels['v']}"))

    assert found.has_placeholders


# -- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "path", "message"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_what_is_wrong_is_told_with_its_path(text: str, path: str, message: str) -> None:
    ((found_path, found_message),) = faults_of(text)

    assert found_path == path
    assert found_message.startswith(message)


def test_everything_that_is_wrong_is_told_at_once_by_line() -> None:
    text = """\
# what the mesh needs
containers:
- name: Envoy
  ports:
  - containerPort: "80"
onConflict: Sometimes
volumes:
- name: a
"""
    faults = source.read("shop", "tools", LABELLED, {"mesh.yaml": text}).faults

    assert [(fault.entry, fault.key, fault.line, fault.column, fault.path) for fault in faults] == [
        ("mesh", "mesh.yaml", 3, 3, "containers[0].name"),
        ("mesh", "mesh.yaml", 3, 3, "containers[0].image"),
        ("mesh", "mesh.yaml", 5, 5, "containers[0].ports[0].containerPort"),
        ("mesh", "mesh.yaml", 6, 1, "onConflict"),
        ("mesh", "mesh.yaml", 8, 3, "volumes[0]"),
    ]
    assert faults[1].told() == "line 3, containers[0].image: is required"


def test_a_fault_of_the_text_has_its_line() -> None:
    (fault,) = source.read("shop", "tools", LABELLED, {"a": "labels:\n  a: b\n a: c\n"}).faults

    assert (fault.line, fault.path) == (3, "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# " + "x" * 2**18, "has more than 256 KiB"),
        ("# " + "é" * (2**17 + 1), "has more than 256 KiB"),
        ("labels: {" + ", ".join(f"a{i}: b" for i in range(20_001)) + "}", "has more than 20000 values"),
        ("a: " + "[" * 70 + "]" * 70, "has more than 20000 values, or more than 64 levels"),
    ],
    ids=["long", "long in bytes", "wide", "deep"],
)
def test_the_work_for_an_entry_is_bounded(text: str, message: str) -> None:
    ((_, found),) = faults_of(text)

    assert found.startswith(message)


def test_aliases_cannot_make_much_of_a_small_text() -> None:
    bomb = "containers: [{name: a, image: b, args: [&x " + "x" * 150_000 + ", *x" * 3000 + "]}]"
    many = "".join(f"- &a{n} [{'*a' + str(n - 1) + ', ' if n else ''}{'x' * 5000}]\n" for n in range(50))

    for text in (bomb, many, "a: b\n---\n" + bomb, "? [&x " + "x" * 150_000 + ", *x, *x]\n: b"):
        ((path, message),) = faults_of(text)
        assert (path, message) == ("", "the text grows too large here, with what its aliases stand for")


def test_the_entries_of_a_config_map_are_bounded_together() -> None:
    large = "containers: [{name: a, image: b, args: [&x " + "x" * 5000 + ", *x" * 40 + "]}]"
    reading = source.read("shop", "tools", LABELLED, {f"e{number}": large for number in range(9)})

    assert [found.name for found in reading.entries] == ["e0", "e1", "e2", "e3", "e4"]
    assert {fault.message for fault in reading.faults} == {"the entries of ConfigMap tools up to this one have more than 1 MiB"}
    assert reading.size > sum(found.size for found in reading.entries) > 1_000_000


def test_of_very_many_keys_the_first_are_read() -> None:
    reading = source.read("shop", "tools", LABELLED, {f"e{number:03}": "labels: {a: b}" for number in range(300)})

    assert len(reading.entries) == source.MAX_KEYS
    ((entry_name, message),) = [(fault.entry, fault.message) for fault in reading.faults]
    assert (entry_name, message) == ("e256", "and what comes after it: ConfigMap tools has more than 256 keys")


@pytest.mark.parametrize("key", ["true", "false.yaml"])
def test_an_entry_that_no_pod_could_ask_for_is_told(key: str) -> None:
    (fault,) = source.read("shop", "tools", LABELLED, {key: "labels: {a: b}"}).faults

    assert fault.message.endswith("cannot name an entry: where pods ask for entries it means yes or no")


def test_a_message_that_quotes_a_long_text_is_cut() -> None:
    key = "k" * 100_000

    ((_, message),) = faults_of(f"? {key}\n: 1\n? {key}\n: 2\n")

    assert len(message) == 400


def test_of_very_many_faults_the_first_hundred_are_told_and_a_long_path_is_cut() -> None:
    assert len(faults_of("{" + ", ".join(f"x{i}: 1" for i in range(15_000)) + "}")) == 100
    ((path, message),) = faults_of(json.dumps({"labels": {"k" * 100_000: "v"}}))
    assert len(path) == 200 and len(message) < 500


@pytest.mark.parametrize("good", [entry(), init(restartPolicy="Always"), init(), ENVOY], ids=range(4))
def test_what_the_table_of_broken_entries_starts_from_is_good(good: Any) -> None:
    assert faults_of(good) == []


def test_json_is_an_entry_as_well_and_its_faults_have_lines() -> None:
    text = json.dumps({"labels": {"a": "b"}, "containers": [{"name": "x"}]}, indent=1)

    (fault,) = source.read("shop", "tools", LABELLED, {"a": text}).faults

    assert (fault.line, fault.path, fault.message) == (6, "containers[0].image", "is required")
