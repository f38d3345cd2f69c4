"""Five thousand nodes, a quarter of a minute of writes to them: Gatehouse ends with what the API server has.

The long form is in tests/soak; what is measured is shown in the table of figures.
"""

from __future__ import annotations

import pytest

from tests.apiserver.scale import Scale, measure
from tests.server.figures import Figures

SECONDS = 15.0
RESIDENT_BELOW = 400 * 2**20  # 50 MB are listed; what is not used of them must be gone
LAG_BELOW_S = 20.0  # on any machine, however busy


@pytest.fixture(scope="module")
def scale(tmp_path_factory: pytest.TempPathFactory) -> Scale:
    return measure("scale", tmp_path_factory.mktemp("scale"), SECONDS)


def test_the_cache_ends_equal_to_the_servers_list(scale: Scale) -> None:
    assert scale.guarded[0] == scale.guarded[1]
    assert scale.objects[0] == scale.objects[1]
    assert scale.versions[0] == scale.versions[1]


def test_it_does_not_fall_behind(scale: Scale, figures: Figures) -> None:
    scale.show(figures)

    assert scale.writes_per_s > 20
    assert max(*scale.lags_s, scale.caught_up_s) < LAG_BELOW_S


def test_its_memory_is_that_of_the_facts_not_of_the_objects(scale: Scale) -> None:
    assert max(scale.resident_bytes) < RESIDENT_BELOW
