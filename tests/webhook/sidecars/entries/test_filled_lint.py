"""What can be judged only when placeholders are filled in is judged then."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from webhook.objects.schema import named
from webhook.sidecars.entries import filled_lint, source
from webhook.sidecars.entries.entry import AppWiring, Entry
from webhook.sidecars.entries.placeholders import Scope, substitute


def read(**parts: Any) -> Entry:
    (found,) = source.read("shop", "tools", {"gatehouse.dev/sidecars": "true"}, {"one": json.dumps(parts)}).entries
    return found


def filled(entry: Entry, value: str) -> Entry:
    """*entry* in a pod whose label x has *value*."""
    scope = Scope({"metadata": {"labels": {"x": value}}}, "shop", None, 0.0)

    def fill(code: str, tree: Any) -> Any:
        made = substitute(tree, named(code), scope)
        assert made.unresolved == ()
        return made.value

    collector = entry.log_collector
    return attrs.evolve(
        entry,
        containers=tuple(fill("[]Container", list(entry.containers))),
        volumes=tuple(fill("[]Volume", list(entry.volumes))),
        host_aliases=tuple(fill("[]HostAlias", list(entry.host_aliases))),
        labels=fill("{}string", dict(entry.labels)),
        log_collector=collector and attrs.evolve(collector, container=fill("Container", collector.container)),
    )


X = "${pod.labels['x']}"


@pytest.mark.parametrize(
    ("parts", "good", "bad", "path", "message"),
    [
        (
            {"containers": [{"name": "a", "image": "b", "ports": [{"containerPort": X}]}]},
            "80",
            "99999",
            ("containers", 0, "ports", 0, "containerPort"),
            "must be from 1 to 65535, not 99999",
        ),
        (
            {"containers": [{"name": "a", "image": "b", "resources": {"requests": {"cpu": X}, "limits": {"cpu": 1}}}]},
            "500m",
            "2",
            ("containers", 0, "resources", "requests", "cpu"),
            "2 is more than the limit, 1",
        ),
        ({"containers": [{"name": "a", "image": X}]}, "b", "", ("containers", 0, "image"), "is required"),
        (
            {"volumes": [{"name": "a", "hostPath": {"path": f"/data/{X}"}}]},
            "b",
            "../etc",
            ("volumes", 0, "hostPath", "path"),
            '"/data/../etc" is not a path',
        ),
        *[
            (
                {
                    "containers": [{"name": "a", "image": "b", "volumeMounts": [mount]}],
                    "volumes": [{"name": "v", "emptyDir": {}}],
                },
                "b",
                bad,
                ("containers", 0, "volumeMounts", 0, key),
                message,
            )
            for key, mount, bad, message in (
                (
                    "subPath",
                    {"name": "v", "mountPath": "/a", "subPath": X},
                    "../../${pod.name}",
                    '"../../$${pod.name}" has to stay',
                ),
                ("mountPath", {"name": "v", "mountPath": f"/a/{X}"}, "../${now}", '"/a/../$${now}" is not an absolute'),
                ("mountPath", {"name": "v", "mountPath": f"/a/{X}"}, "b\n", '"/a/b\\n" has a control character'),
            )
        ],
        (
            {"volumes": [{"name": "a", "hostPath": {"path": f"/data/{X}"}}]},
            "b",
            "../${pod.name}",
            ("volumes", 0, "hostPath", "path"),
            '"/data/../$${pod.name}" is not a path',
        ),
        (
            {"containers": [{"name": "a", "image": f"b:{X}"}]},
            "1",
            "1 ",
            ("containers", 0, "image"),
            '"b:1 " has blanks at its ends',
        ),
        ({"hostAliases": [{"ip": X}]}, "1.2.3.4", "web", ("hostAliases", 0, "ip"), '"web" is not an IP address'),
        ({"labels": {"a": X}}, "b", "b c", ("labels", "a"), f'"{X}": label value "b c"'),
        (
            {"logCollector": {"path": "/l/a", "image": X}},
            "busybox",
            "",
            ("logCollector", "image"),
            "is required",
        ),
    ],
)
def test_a_value_that_the_api_server_would_refuse_is_told_with_its_path(
    parts: dict[str, Any], good: str, bad: str, path: tuple[str | int, ...], message: str
) -> None:
    entry = read(**parts)

    assert list(filled_lint.entry_faults(filled(entry, good), entry)) == []
    ((found_path, found_message),) = filled_lint.entry_faults(filled(entry, bad), entry)
    assert found_path == path
    assert found_message.startswith(message)


def test_what_goes_into_the_pods_own_containers_is_judged_as_well() -> None:
    mount = {"name": "a", "mountPath": "relative"}

    ((path, message),) = filled_lint.app_faults(AppWiring(volume_mounts=(mount,)))

    assert path == ("app", "volumeMounts", 0, "mountPath")
    assert message.startswith('"relative" is not an absolute path')
