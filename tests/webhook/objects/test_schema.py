"""What the API server can decode, and what it cannot."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webhook.objects import schema
from webhook.objects.schema import Kind, ListOf, MapOf, Scalar, Struct, Text, check, named

CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
ROOT = Path(__file__).parents[3]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "env", "ports", "resources", "limits", "x"]) | st.text(max_size=5), inner)
    ),
    max_leaves=20,
)


def misfits(value: Any, code: str) -> list[tuple[str, str]]:
    return [(".".join(map(str, misfit.path)), misfit.message) for misfit in check(value, named(code))]


FITS: list[tuple[str, Any]] = [
    ("Container", {"name": "app", "image": "busybox"}),
    ("Container", {"name": "app", "ports": [{"containerPort": 80, "name": None}], "env": None}),
    ("Container", {"name": "app", "imagePullPolicy": ""}),
    ("ResourceRequirements", {"limits": {"cpu": 1, "memory": "1.5Gi"}, "requests": {"cpu": 0.5, "memory": None}}),
    ("Probe", {"httpGet": {"port": 80}, "periodSeconds": 3}),
    ("Probe", {"httpGet": {"port": "http"}}),
    ("Volume", {"name": "a", "emptyDir": {}}),
    ("PodSpec", {"containers": [{"name": "app"}], "nodeSelector": {"a": "b"}}),
    ("ObjectMeta", {"creationTimestamp": "2026-11-29T12:00:00Z", "managedFields": [{"fieldsV1": {"f:a": {}}}]}),
    ("[]EnvVar", []),
    ("{}string", {"a": "", "b": None}),
    ("int64", 2**63 - 1),
]

MISFITS: list[tuple[str, Any, str, str]] = [
    ("ContainerPort", {"containerPort": "80"}, "containerPort", 'must be an integer, not the string "80"'),
    ("ContainerPort", {"containerPort": 80.5}, "containerPort", "must be an integer, not 80.5"),
    ("ContainerPort", {"containerPort": True}, "containerPort", "must be an integer, not true"),
    ("ContainerPort", {"containerPort": 2**31}, "containerPort", "must fit 32 bits, which 2147483648 does not"),
    (
        "ContainerPort",
        {"containerPort": 10**5000},
        "containerPort",
        "must fit 32 bits, which a number of more than 38 digits does not",
    ),
    ("ContainerPort", {"containerPort": 80, "protocol": "tcp"}, "protocol", 'must be one of SCTP, TCP, UDP, not "tcp"'),
    (
        "ContainerPort",
        {"containerport": 80, "containerPort": 80},
        "containerport",
        "is not a field that exists here; containerPort?",
    ),
    ("ContainerPort", {}, "containerPort", "is required"),
    ("ContainerPort", {"containerPort": None}, "containerPort", "is required"),
    ("Container", {"name": "a", "command": "sh"}, "command", 'must be a list, not the string "sh"'),
    ("Container", {"name": "a", "args": [1]}, "args.0", "must be a string, not 1"),
    ("Container", {"name": "a", "args": [None]}, "args.0", "must be a string, not null"),
    ("Container", {"name": "a", "stdin": "yes"}, "stdin", 'must be true or false, not the string "yes"'),
    ("Container", {"name": "a", "resources": []}, "resources", "must be an object, not a list"),
    ("EnvVar", {"name": "A", "value": 1}, "value", "must be a string, not 1"),
    ("Probe", {"httpGet": {"port": 1.5}}, "httpGet.port", "must be an integer or a string, not 1.5"),
    ("ResourceRequirements", {"limits": {"cpu": "1K"}}, "limits.cpu", '"1K" is not a quantity'),
    ("ResourceRequirements", {"limits": {"cpu": True}}, "limits.cpu", "must be a quantity such as 500m or 64Mi, not true"),
    ("ObjectMeta", {"creationTimestamp": "yesterday"}, "creationTimestamp", 'must be an RFC 3339 time, not "yesterday"'),
    ("{}string", {"a": 1}, "a", "must be a string, not 1"),
    ("{}string", [], "", "must be an object, not a list"),
    ("int64", 2**63, "", "must fit 64 bits, which 9223372036854775808 does not"),
]


@pytest.mark.parametrize(("code", "value"), FITS, ids=range(len(FITS)))
def test_what_the_api_server_decodes_fits(code: str, value: Any) -> None:
    assert misfits(value, code) == []


@pytest.mark.parametrize(("code", "value", "path", "message"), MISFITS, ids=range(len(MISFITS)))
def test_what_it_cannot_decode_is_told_with_its_path(code: str, value: Any, path: str, message: str) -> None:
    ((found_path, found_message),) = misfits(value, code)

    assert found_path == path
    assert found_message.startswith(message)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    container = {"ports": [{"containerPort": "80"}, {"hostPort": []}], "tty": 1, "name": 7}

    assert [path for path, _ in misfits(container, "Container")] == [
        "ports.0.containerPort",
        "ports.1.hostPort",
        "ports.1.containerPort",
        "tty",
        "name",
    ]


@pytest.mark.parametrize(
    ("code", "text", "fits"),
    [
        ("int32", Text.OPEN, True),
        ("int32", Text.PARTLY_OPEN, False),
        ("boolean", Text.OPEN, True),
        ("boolean", Text.PARTLY_OPEN, False),
        ("quantity", Text.PARTLY_OPEN, True),
        ("=TCP|UDP", Text.OPEN, True),
        ("string", Text.PARTLY_OPEN, True),
    ],
)
def test_a_string_that_is_not_known_yet_fits_where_it_may_become_something_that_fits(code: str, text: Text, fits: bool) -> None:
    assert (not list(check("?", named(code), (), lambda _: text))) is fits


@CALM
@given(JSON, st.sampled_from(["Container", "Volume", "PodSpec", "[]EnvVar", "{}quantity", "int-or-string"]))
def test_any_value_is_judged_without_an_exception(value: Any, code: str) -> None:
    for misfit in check(value, named(code)):
        assert misfit.message


def walk(code: str, seen: set[str]) -> None:
    found = named(code)
    while isinstance(found, ListOf | MapOf):
        found = found.item if isinstance(found, ListOf) else found.value
    if isinstance(found, Struct) and found.name not in seen:
        seen.add(found.name)
        assert set(found.required) <= set(found.fields)
        for field in found.fields.values():
            walk(field, seen)


def test_every_type_that_a_pod_names_is_there_and_no_other() -> None:
    seen: set[str] = set()
    walk("PodSpec", seen)

    stored = json.loads(Path(schema.__file__).with_name(schema.DATA_FILE).read_text())
    assert seen == set(stored["types"])
    assert {"Container", "Volume", "EnvVar", "HostAlias", "LocalObjectReference", "EphemeralContainer"} <= seen


def test_the_version_of_the_types_is_recorded() -> None:
    assert schema.version().split(".")[0] == "1"
    assert int(schema.version().split(".")[1]) >= 37


def test_an_unknown_type_is_a_fault_of_the_caller() -> None:
    with pytest.raises(KeyError):
        named("Conteiner")


def test_kinds_are_those_of_the_data_file() -> None:
    assert named("int-or-string") == Scalar(Kind.INT_OR_STRING)
    assert named("[]{}=A|B") == ListOf(MapOf(Scalar(Kind.STRING, ("A", "B"))))


def test_the_types_are_read_from_an_archive_as_well(tmp_path: Path) -> None:
    archive = tmp_path / "gatehouse.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in (ROOT / "webhook").rglob("*"):
            if path.suffix in (".py", ".json"):
                file.write(path, path.relative_to(ROOT))

    command = (
        "import sys; sys.path[0] = sys.argv[1]; from webhook.objects import schema; print(schema.__file__, schema.version())"
    )
    shown = subprocess.run(
        [sys.executable, "-c", command, str(archive)], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert shown.stdout.startswith(str(archive))
    assert shown.stdout.strip().endswith(schema.version())


def test_no_type_is_read_before_it_is_needed() -> None:
    imports = "from webhook.sidecars.entries import source; from webhook.objects import schema"
    command = f"{imports}; print(schema._data.cache_info().misses)"
    shown = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True, cwd=ROOT)

    assert shown.stdout.strip() == "0"
