"""Smaller catalogues sampled from public ones: same requests, same tools, other neighbours."""

import numpy as np
from tests.lab.train.tiny_tools import vector

from contextune.tools import Catalog
from contextune.tools.index import ToolIndex
from contextune.tools.query import PastCalls, ToolQuery
from contextune.types import Tool
from contextune_lab.train.rankers.tools.examples import RIGHT, ToolExample
from contextune_lab.train.rankers.tools.sampled_catalogues import MIN_TOOLS, sample_catalogues, sample_places

TOOLS = [Tool(f"tool {n}", f"does {n}", app=f"server {n // 4}" if n % 8 < 4 else "") for n in range(240)]
INDEX = ToolIndex.from_vectors(Catalog(TOOLS), np.stack([vector(n) for n in range(len(TOOLS))]))


def example(number: int, past: PastCalls | None = None) -> ToolExample:
    query = ToolQuery(f"request {number}", vector("request", number), past_calls=past)
    return ToolExample(f"q{number}", "made", 0, "made", INDEX, query, {number: RIGHT, number + 1: RIGHT})


def tool_names(example: ToolExample, places: list[int]) -> set[str]:
    return {example.index.catalog[place].name for place in places}


def test_half_of_the_requests_move_to_smaller_catalogues() -> None:
    before = [example(number) for number in range(160)]
    after = sample_catalogues(before)
    moved = [new for old, new in zip(before, after, strict=True) if new.index is not old.index]
    assert len(moved) == 80
    assert len({id(new.index) for new in moved}) == 2
    for old, new in zip(before, after, strict=True):
        assert (new.name, new.query.text) == (old.name, old.query.text)
        assert tool_names(new, list(new.grades)) == tool_names(old, list(old.grades))
    for new in moved:
        assert MIN_TOOLS <= len(new.index.catalog) < len(TOOLS)
        for tool, row in zip(new.index.catalog, new.index.vectors, strict=True):
            np.testing.assert_array_equal(row, INDEX.vectors[TOOLS.index(tool)])


def test_sampling_is_deterministic() -> None:
    examples = [example(number) for number in range(100)]
    first, second = (
        [list(new.index.catalog) for new in sample_catalogues(examples, seed=3)] for _ in range(2)
    )
    assert first == second


def test_past_calls_of_tools_that_are_left_are_kept() -> None:
    past = PastCalls(
        np.array([60, 239, 5]),
        np.stack([vector("p", n) for n in range(3)]),
        np.array([1.0, 2, 3]),
        np.ones(3, bool),
    )
    for new in sample_catalogues([example(number, past) for number in range(80)])[40:]:
        calls = new.query.past_calls
        left = {tool.name for tool in new.index.catalog}
        expected = [f"tool {n}" for n in (60, 239, 5) if f"tool {n}" in left]
        assert expected
        assert calls is not None
        assert [new.index.catalog[int(place)].name for place in calls.tool] == expected
        assert len(calls.vectors) == len(calls.age) == len(calls.ok) == len(expected)


def test_small_catalogue_is_left_alone() -> None:
    few = ToolIndex.from_vectors(Catalog(TOOLS[:50]), INDEX.vectors[:50])
    query = ToolQuery("request", vector("request"))
    examples = [ToolExample(f"q{n}", "made", 0, "made", few, query, {n % 40: RIGHT}) for n in range(90)]
    assert sample_catalogues(examples) == examples


def test_sampled_places_have_the_needed_tools_and_whole_servers() -> None:
    rng = np.random.default_rng(0)
    for size in (20, 60, 150):
        places = sample_places(INDEX, [0, 1, 77], size, rng)
        assert {0, 1, 77} <= set(places)
        assert places == sorted(set(places))
        assert size <= len(places) <= size + 8
