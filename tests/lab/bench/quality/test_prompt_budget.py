"""Prompt budget benchmark on a few personas."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from contextune.datasets import Gold, Persona, Query, bundled_personas
from contextune.errors import InvalidDataError
from contextune.types import ItemHit
from contextune_lab.bench.quality.prompt_budget import (
    ORACLE,
    PACKED,
    TRUNCATED,
    BudgetTable,
    budget_table,
    contains_fact,
    needed_facts,
    oracle_ranking,
    reported_personas,
    run_ranking,
    to_rich,
)

PERSONAS = bundled_personas()[:3]


def reversed_ranking(persona: Persona, query: Query) -> Sequence[ItemHit]:
    return oracle_ranking(persona, query)[::-1]


@pytest.fixture(scope="module")
def table() -> BudgetTable:
    return budget_table(PERSONAS, reversed_ranking, (64, 256, 1024, 100_000), name="backwards")


def test_large_budget_keeps_all_facts(table: BudgetTable) -> None:
    for ranking in (ORACLE, "backwards"):
        for packing in (PACKED, TRUNCATED):
            assert table.cells[ranking, packing, 100_000].share.mean == 1


def test_larger_budget_and_better_ranking_keep_more_facts(table: BudgetTable) -> None:
    for packing in (PACKED, TRUNCATED):
        shares = [table.cells[ORACLE, packing, budget].share.mean for budget in (64, 256, 1024)]
        assert shares == sorted(shares)
        assert shares[1] > table.cells["backwards", packing, 256].share.mean


def test_packing_keeps_as_many_facts_as_truncation() -> None:
    """On a quarter of the personas that packing was not tuned on; the benchmark has all of them."""
    budgets = (128, 256)
    personas = reported_personas(bundled_personas())[::4]
    table = budget_table(personas, reversed_ranking, budgets, name="backwards")
    for budget in budgets:
        packed, truncated = (table.cells[ORACLE, packing, budget] for packing in (PACKED, TRUNCATED))
        assert packed.share.mean >= truncated.share.mean


def test_run_gives_the_ranking_of_a_request() -> None:
    persona = PERSONAS[0]
    query = persona.queries[0]
    best = persona.items[3].id
    hits = run_ranking({persona.name(query): [best, persona.items[0].id]})(persona, query)
    assert [hit.item.id for hit in hits] == [best, persona.items[0].id]
    assert hits[0].score > hits[1].score


def test_personas_that_packing_was_tuned_on_are_not_reported() -> None:
    personas = bundled_personas()
    reported = {persona.id for persona in reported_personas(personas)}
    assert len(reported) == len(personas) - 24
    assert personas[0].id not in reported
    assert personas[1].id in reported


def test_oracle_ranking_keeps_most_facts(table: BudgetTable) -> None:
    assert table.cells[ORACLE, PACKED, 256].share.mean > 0.9


def test_tuner_ranks_by_default() -> None:
    progress_calls: list[tuple[int, int]] = []
    result = budget_table(
        PERSONAS[:1], budgets=(128,), progress=lambda done, total: progress_calls.append((done, total))
    )
    assert ("semantic", PACKED, 128) in result.cells
    assert progress_calls == [(1, 1)]


def test_needed_facts_are_argument_values_of_relevant_items() -> None:
    persona = PERSONAS[0]
    item = persona.items[0]
    gold = Gold(
        relevant={item.id: 2},
        args={"title": item.title, "text": "*", "who": ["Nobody at all", *map(str, [item.title])], "n": None},
    )
    query = replace(persona.queries[0], gold=gold)
    assert needed_facts(persona, query) == [item.title]
    assert oracle_ranking(persona, query)[0].item == item


@pytest.mark.parametrize(
    ("text", "fact", "contained"),
    [
        ("when: Thu 2024-05-16 19:00 to 21:00", "2024-05-16T21:00", True),
        ("when: Thu 2024-05-16 19:00\nuntil 21:00", "2024-05-16T21:00", False),
        ("when: Thu 2024-05-16", "2024-05-16", True),
        ("Kiln slots", "Kiln", True),
        ("Kiln", "Kiln slots", False),
    ],
)
def test_contains_fact(text: str, fact: str, contained: bool) -> None:
    assert contains_fact(text, fact) is contained


def test_queries_without_facts_are_rejected() -> None:
    bare = replace(PERSONAS[0], queries=())
    with pytest.raises(InvalidDataError, match="nothing to measure"):
        budget_table([bare], reversed_ranking)


def test_table_has_a_row_per_ranking_and_packing(table: BudgetTable) -> None:
    rich = to_rich(table)
    assert rich.row_count == 4
    assert [str(column.header) for column in rich.columns][2:] == ["64", "256", "1,024", "100,000"]
    assert "±" not in str(list(to_rich(budget_table(PERSONAS[:1], reversed_ranking, (64,))).columns[2].cells))
