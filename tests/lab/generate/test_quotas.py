"""How much is made of what: the paper's tables, whatever the run."""

from collections import Counter
from datetime import datetime

import pytest

from contextune.lab.generate.quotas import (
    APIS,
    ITEMS,
    PERSONAS,
    QUERIES,
    item_counts,
    kinds,
    offered,
    query_count,
)
from contextune.lab.generate.traits import traits
from contextune.tools import bundled_toolbox


@pytest.mark.parametrize("seed", [0, 7])
def test_the_papers_items(seed: int) -> None:
    counts = [item_counts(number, PERSONAS, seed) for number in range(PERSONAS)]
    for app, average in ITEMS.items():
        held = [each[app] for each in counts]
        assert round(sum(held) / PERSONAS, 2) == average
        assert min(held) >= 1
        assert len(set(held)) > 2  # people differ


def test_the_papers_toolbox() -> None:
    assert Counter(tool.app for tool in bundled_toolbox()) == APIS
    assert sum(APIS.values()) == 59


def test_the_papers_queries_over_all_kinds() -> None:
    counts = [query_count(number) for number in range(PERSONAS)]
    assert sum(counts) == QUERIES == 5_274
    found = Counter(kind for number, count in enumerate(counts) for kind in kinds(number, count))
    assert len(found) == 7
    assert max(found.values()) - min(found.values()) <= 1


def test_every_api_has_its_turn() -> None:
    tools = bundled_toolbox()
    found = Counter(
        tool.name for n in range(PERSONAS) for offer in offered(n, query_count(n), tools) for tool in offer
    )
    assert len(found) == len(tools)
    assert max(found.values()) < 1.1 * min(found.values())
    assert all(len({tool.name for tool in offer}) == 3 for offer in offered(5, 7, tools))


def test_more_personas_change_nothing_of_earlier_ones() -> None:
    few = [item_counts(number, 10, 3) for number in range(10)]
    assert few == [item_counts(number, 500, 3) for number in range(10)]
    assert [traits(n, 3) for n in range(10)] == [traits(n, 3) for n in range(10)]
    assert item_counts(4, 10, 3) != item_counts(4, 10, 4)


def test_people_are_spread() -> None:
    found = [traits(number) for number in range(122)]
    assert set(Counter(one.country for one in found).values()) == {2}
    assert len({one.field for one in found}) > 40
    assert max(one.age for one in found) - min(one.age for one in found) > 60
    assert all(one.age >= 60 for one in found if one.field.startswith("retirement"))
    assert len({one.now.date() for one in found}) == 122
    assert all(datetime(2023, 1, 2) <= one.now < datetime(2025, 10, 1) for one in found)
