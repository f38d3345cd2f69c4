"""Which Kubernetes a cluster is of, and that each that can be asked for is pinned."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster import binaries

SOURCES = Path(binaries.__file__).parent


def test_the_newest_is_taken_unless_another_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("", "1.34"):
        monkeypatch.setenv("KUBERNETES", value)
        assert binaries.kubernetes() == (value or binaries.NEWEST)
    monkeypatch.delenv("KUBERNETES")
    assert binaries.kubernetes() == binaries.NEWEST == list(binaries.VERSIONS)[-1]


@pytest.mark.parametrize("asked", ["1.33", "v1.34", "1.34.4", "latest"])
def test_what_is_not_pinned_is_refused_with_what_is(asked: str) -> None:
    with pytest.raises(binaries.BuildError, match=f"KUBERNETES={asked}: have 1.34, 1.35"):
        binaries.kubernetes(asked)


@pytest.mark.parametrize("series", binaries.VERSIONS)
def test_each_release_has_its_modules(series: str) -> None:
    version = binaries.VERSIONS[series]
    folder = SOURCES / ("controlplane" if series == binaries.NEWEST else f"versions/{series}")
    text = (folder / "go.mod").read_text()

    assert version.startswith(f"v{series}.")
    assert f"k8s.io/kubernetes {version}\n" in text
    assert f"k8s.io/api v0.{version[3:]}\n" in text
    assert f"k8s.io/kubernetes {version} h1:" in (folder / "go.sum").read_text()
