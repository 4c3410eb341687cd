"""Quotas match the paper's tables."""

from collections import Counter
from datetime import datetime

import pytest

from contextune_lab.generate.files import bundled_tools
from contextune_lab.generate.quotas import (
    APIS,
    ITEMS,
    PERSONAS,
    QUERIES,
    item_counts,
    kinds,
    query_count,
    suggested_apis,
)
from contextune_lab.generate.traits import draw_traits


@pytest.mark.parametrize("seed", [0, 7])
def test_item_counts_match_the_paper(seed: int) -> None:
    counts = [item_counts(number, PERSONAS, seed) for number in range(PERSONAS)]
    for app, average in ITEMS.items():
        held = [each[app] for each in counts]
        assert round(sum(held) / PERSONAS, 2) == average
        assert min(held) >= 1
        assert len(set(held)) > 2  # people differ


def test_api_counts_match_the_paper() -> None:
    assert Counter(tool.app for tool in bundled_tools()) == APIS
    assert sum(APIS.values()) == 59


def test_query_counts_match_the_paper_over_all_kinds() -> None:
    counts = [query_count(number) for number in range(PERSONAS)]
    assert sum(counts) == QUERIES == 5_274
    counts = Counter(kind for number, count in enumerate(counts) for kind in kinds(number, count))
    assert len(counts) == 7
    assert max(counts.values()) - min(counts.values()) <= 1


def test_every_api_is_suggested() -> None:
    tools = bundled_tools()
    counts = Counter(
        tool.name
        for n in range(PERSONAS)
        for offer in suggested_apis(n, query_count(n), tools)
        for tool in offer
    )
    assert len(counts) == len(tools)
    assert max(counts.values()) < 1.1 * min(counts.values())
    assert all(len({tool.name for tool in offer}) == 3 for offer in suggested_apis(5, 7, tools))


def test_more_personas_do_not_change_earlier_ones() -> None:
    few = [item_counts(number, 10, 3) for number in range(10)]
    assert few == [item_counts(number, 500, 3) for number in range(10)]
    assert [draw_traits(n, 3) for n in range(10)] == [draw_traits(n, 3) for n in range(10)]
    assert item_counts(4, 10, 3) != item_counts(4, 10, 4)


def test_traits_are_diverse() -> None:
    counts = [draw_traits(number) for number in range(122)]
    assert set(Counter(value.country for value in counts).values()) == {2}
    assert len({value.field for value in counts}) > 40
    assert max(value.age for value in counts) - min(value.age for value in counts) > 60
    assert all(value.age >= 60 for value in counts if value.field.startswith("retirement"))
    assert len({value.now.date() for value in counts}) == 122
    assert all(datetime(2023, 1, 2) <= value.now < datetime(2025, 10, 1) for value in counts)
