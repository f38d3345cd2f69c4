"""Loading modules without the garbage collector."""

from __future__ import annotations

import gc

import pytest

from controllers.collector.loading import undisturbed


def test_the_collector_rests_while_modules_are_loaded() -> None:
    with undisturbed():
        during = gc.isenabled()

    assert not during
    assert gc.isenabled()


def test_it_works_again_after_a_module_that_cannot_be_loaded() -> None:
    with pytest.raises(ImportError), undisturbed():
        raise ImportError("no such module")

    assert gc.isenabled()
