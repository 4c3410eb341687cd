"""Facts kept within a budget, on a few personas."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from contextune.datasets import Gold, Persona, Query, bundled_personas
from contextune.errors import InvalidDataError
from contextune.lab.bench.quality.prompt_budget import (
    CUT,
    ORACLE,
    PACKED,
    BudgetTable,
    budget_table,
    needed_facts,
    right_order,
    says,
    to_rich,
)
from contextune.types import ItemHit

PEOPLE = bundled_personas()[:6]


def backwards(persona: Persona, query: Query) -> Sequence[ItemHit]:
    return right_order(persona, query)[::-1]


@pytest.fixture(scope="module")
def table() -> BudgetTable:
    return budget_table(PEOPLE, backwards, (64, 256, 1024, 100_000), name="backwards")


def test_with_room_for_all_nothing_is_lost(table: BudgetTable) -> None:
    for order in (ORACLE, "backwards"):
        for way in (PACKED, CUT):
            assert table.cells[order, way, 100_000].share.mean == 1


def test_more_room_keeps_more_and_a_better_order_too(table: BudgetTable) -> None:
    for way in (PACKED, CUT):
        kept = [table.cells[ORACLE, way, budget].share.mean for budget in (64, 256, 1024)]
        assert kept == sorted(kept)
        assert kept[1] > table.cells["backwards", way, 256].share.mean


def test_the_right_order_keeps_nearly_all(table: BudgetTable) -> None:
    assert table.cells[ORACLE, PACKED, 256].share.mean > 0.9


def test_the_tuner_ranks_by_default() -> None:
    told: list[tuple[int, int]] = []
    result = budget_table(PEOPLE[:1], budgets=(128,), progress=lambda done, of: told.append((done, of)))
    assert ("semantic", PACKED, 128) in result.cells
    assert told == [(1, 1)]


def test_what_is_needed() -> None:
    persona = PEOPLE[0]
    item = persona.items[0]
    gold = Gold(
        relevant={item.id: 2},
        args={"title": item.title, "text": "*", "who": ["Nobody at all", *map(str, [item.title])], "n": None},
    )
    query = replace(persona.queries[0], gold=gold)
    assert needed_facts(persona, query) == [item.title]
    assert right_order(persona, query)[0].item == item


@pytest.mark.parametrize(
    ("text", "fact", "held"),
    [
        ("when: Thu 2024-05-16 19:00 to 21:00", "2024-05-16T21:00", True),
        ("when: Thu 2024-05-16 19:00\nuntil 21:00", "2024-05-16T21:00", False),
        ("when: Thu 2024-05-16", "2024-05-16", True),
        ("Kiln slots", "Kiln", True),
        ("Kiln", "Kiln slots", False),
    ],
)
def test_says(text: str, fact: str, held: bool) -> None:
    assert says(text, fact) is held


def test_nothing_to_measure() -> None:
    bare = replace(PEOPLE[0], queries=())
    with pytest.raises(InvalidDataError, match="nothing to measure"):
        budget_table([bare], backwards)


def test_the_table_is_shown(table: BudgetTable) -> None:
    rich = to_rich(table)
    assert rich.row_count == 4
    assert [str(column.header) for column in rich.columns][2:] == ["64", "256", "1,024", "100,000"]
    assert "±" not in str(list(to_rich(budget_table(PEOPLE[:1], backwards, (64,))).columns[2].cells))
