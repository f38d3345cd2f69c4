"""A minute of writes to five thousand nodes, as fast as the machine gives: the cache ends as the server is."""

from __future__ import annotations

from pathlib import Path

from tests.apiserver.scale import measure
from tests.server.figures import Figures

SECONDS = 60.0
LAG_BELOW_S = 20.0


def test_a_minute_of_writes_to_five_thousand_nodes_is_followed(tmp_path: Path, figures: Figures) -> None:
    scale = measure("soak-scale", tmp_path, SECONDS)

    scale.show(figures)
    assert scale.guarded[0] == scale.guarded[1]
    assert scale.objects[0] == scale.objects[1]
    assert scale.versions[0] == scale.versions[1]
    assert max(*scale.lags_s, scale.caught_up_s) < LAG_BELOW_S
