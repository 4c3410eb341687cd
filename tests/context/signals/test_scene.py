"""Ranks of many candidates are computed by sorting, and are those of comparing all pairs."""

import numpy as np
import pytest
from tests.context.signals.conftest import MakeScene

from contextune.context.signals import scene as scene_module
from contextune.types import Item


def test_sorting_gives_the_ranks_of_comparing_pairs(
    make_scene: MakeScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = [Item(f"n{n}", "Notes", {"title": "Kiln", "modified": "2024-05-10T09:00"}) for n in range(20)]
    searches = [Item(f"g{n}", "Google", {"query": "kiln", "date": "2024-05-10T09:00"}) for n in range(9)]
    scene = make_scene("kiln", [*notes, *searches])
    draw, count = np.random.default_rng(0), len(scene.rows)
    unknown = np.where(draw.random(count) < 0.2, np.nan, draw.integers(0, 6, count).astype(np.float64))
    columns = {"unknown": unknown, "tied": draw.integers(0, 4, count).astype(np.float64)}

    def compute(max_pairs: int) -> dict[str, np.ndarray]:
        monkeypatch.setattr(scene_module, "_MAX_PAIRS", max_pairs)
        ranks = {f"{name} alone": scene.rank(values) for name, values in columns.items()}
        within = {f"{name} within": scene.rank(values, within_app=True) for name, values in columns.items()}
        return {**ranks, **within, **scene.with_ranks(columns)}

    by_pairs, by_sorting = compute(count), compute(0)
    assert by_pairs.keys() == by_sorting.keys()
    for name, values in by_pairs.items():
        np.testing.assert_array_equal(by_sorting[name], values, err_msg=name)
    assert len(set(by_pairs["tied rank"])) > 1
