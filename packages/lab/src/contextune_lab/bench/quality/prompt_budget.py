"""Prompt budget benchmark: share of needed facts that survive fitting the items into a token budget.

A fact is a value of the right call's arguments that occurs in a field of a relevant item. It is kept if the
prompt still contains it: a time by its day and hour on one line, anything else verbatim. The baseline joins
the items and truncates at the budget; it has no tags, so it fits slightly more text.

The values and shares of `pack` were chosen on every fourth of the first 96 bundled personas; the others are
reported. Their rankings come from models that have not seen the persona.
"""

import re
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from rich.table import Table as RichTable

from contextune.context.excerpt import Excerpt
from contextune.context.packing import CountTokens, estimate_tokens, pack
from contextune.datasets import Persona, Query, load_persona
from contextune.errors import InvalidDataError
from contextune.evaluate.metrics import Run
from contextune.evaluate.stats import Interval, bootstrap, paired_test
from contextune.store import SQLiteStore
from contextune.tuner import Tuner
from contextune.types import ItemHit, Progress, Request
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.planned_requests import fuse_out_of_fold
from contextune_lab.train.rankers.context.examples import from_folds
from contextune_lab.train.rankers.context.train import FeaturedExamples
from contextune_lab.train.rankers.tools.examples import out_of_fold_context_scores

BUDGETS = (64, 128, 256, 512, 1024, 2048)
PACKED, TRUNCATED = "packed", "truncated"
ORACLE = "right order"
_CHOSEN_AMONG = 96
"""Among so many of the bundled personas, every fourth was used to choose the values of `pack`."""

RankFunction = Callable[[Persona, Query], Sequence[ItemHit]]
"""Ranks a query's items, best first."""
_Writer = Callable[[Sequence[ItemHit], Request, int, CountTokens], str]
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)")
_FREE_TEXT = "*"
"""Marks text that the assistant words itself."""


@dataclass(frozen=True, slots=True)
class FactsKept:
    """Mean share of the needed facts that are kept; `p` is against truncation."""

    share: Interval
    p: float | None = None


@dataclass(frozen=True, slots=True)
class BudgetTable:
    """`cells` by (ranking, packing, budget), over `queries` queries that need `facts` facts."""

    cells: Mapping[tuple[str, str, int], FactsKept]
    queries: int
    facts: int


def budget_table(
    personas: Sequence[Persona],
    rank: RankFunction | None = None,
    budgets: Sequence[int] = BUDGETS,
    progress: Progress | None = None,
    *,
    name: str = "semantic",
    count: CountTokens = estimate_tokens,
) -> BudgetTable:
    """Facts kept at each budget, for the oracle ranking and for `rank` (labelled `name`).

    Without `rank`, the Tuner ranks with the method called `name`.
    """
    if rank is None:
        with tuner_ranking(name) as ranking:
            return budget_table(personas, ranking, budgets, progress, name=name, count=count)
    packings: dict[str, _Writer] = {PACKED: _packed, TRUNCATED: _truncated}
    scores: dict[tuple[str, str, int], list[float]] = {}
    groups: list[str] = []
    facts = 0
    for number, persona in enumerate(personas, 1):
        for query in persona.queries:
            if not (needed := needed_facts(persona, query)):
                continue
            groups.append(persona.id)
            facts += len(needed)
            for ranking_name, hits in (
                (ORACLE, oracle_ranking(persona, query)),
                (name, rank(persona, query)),
            ):
                for packing, write in packings.items():
                    for budget in budgets:
                        text = write(hits, persona.request(query), budget, count)
                        share = sum(contains_fact(text, fact) for fact in needed) / len(needed)
                        scores.setdefault((ranking_name, packing, budget), []).append(share)
        if progress:
            progress(number, len(personas))
    if not groups:
        raise InvalidDataError(
            "nothing to measure: no query has an argument value from one of its `relevant` items"
        )
    cells = {
        (ranking_name, packing, budget): FactsKept(
            bootstrap(shares, groups=groups),
            paired_test(shares, scores[ranking_name, TRUNCATED, budget], groups=groups)
            if packing == PACKED
            else None,
        )
        for (ranking_name, packing, budget), shares in scores.items()
    }
    return BudgetTable(cells, len(groups), facts)


def reported_personas(personas: Sequence[Persona]) -> list[Persona]:
    """The personas that nothing in `pack` was chosen on."""
    return [persona for number, persona in enumerate(personas) if number % 4 or number >= _CHOSEN_AMONG]


def out_of_fold_rankings(folds: FoldVectors, progress: Progress | None = None) -> dict[str, RankFunction]:
    """Semantic search and the ranker, by models that have not seen the persona."""
    examples = from_folds(folds)
    data = FeaturedExamples.build(examples)
    fused = fuse_out_of_fold(data, out_of_fold_context_scores(data, progress=progress))
    learned: dict[str, list[str]] = {}
    for example, scores in zip(examples, fused, strict=True):
        ids = example.ids
        learned[example.name] = [ids[int(place)] for place in np.argsort(-scores, kind="stable")]
    return {"semantic": run_ranking(folds.ranked(cot=False)), "learned": run_ranking(learned)}


def run_ranking(run: Run) -> RankFunction:
    """The ranking of a run, by the names of requests."""

    def rank(persona: Persona, query: Query) -> list[ItemHit]:
        items = {item.id: item for item in persona.items}
        return [ItemHit(items[name], -float(place)) for place, name in enumerate(run[persona.name(query)])]

    return rank


def needed_facts(persona: Persona, query: Query) -> list[str]:
    """Argument values of the right call that occur in a field of a relevant item."""
    relevant = query.gold.relevant or {}
    fields = [text for item in persona.items if item.id in relevant for text in _texts(item.fields)]
    values = dict.fromkeys(_texts(query.gold.args or {}))
    return [fact for fact in values if fact != _FREE_TEXT and any(fact in text for text in fields)]


def contains_fact(text: str, fact: str) -> bool:
    """Whether the text contains the fact; a time needs its day and hour on one line."""
    if moment := _MOMENT.fullmatch(fact):
        return any(moment[1] in line and moment[2] in line for line in text.splitlines())
    return fact in text


def oracle_ranking(persona: Persona, query: Query) -> list[ItemHit]:
    """Visible items, most relevant first."""
    grades = query.gold.relevant or {}
    visible = [persona.items[number] for number in persona.visible(query)]
    ranked = sorted(visible, key=lambda item: -grades.get(item.id, 0))
    return [ItemHit(item, float(grades.get(item.id, 0))) for item in ranked]


@contextmanager
def tuner_ranking(method: str) -> Generator[RankFunction]:
    """The Tuner's ranking with a method; personas are loaded on first use."""
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "bench.db") as store:
        tuner = Tuner(store, method=method)
        loaded: set[str] = set()

        def rank(persona: Persona, query: Query) -> list[ItemHit]:
            if persona.id not in loaded:
                load_persona(store, persona)
                loaded.add(persona.id)
            return tuner.context(persona.request(query), k=None)

        yield rank


def to_rich(table: BudgetTable) -> RichTable:
    """The table for a terminal, in percent."""
    budgets = list(dict.fromkeys(budget for _, _, budget in table.cells))
    title = f"Facts kept within a budget of tokens (n = {table.queries} queries, {table.facts} facts)"
    rich = RichTable("ranking", "items", title=title, title_justify="left", caption_justify="left")
    for budget in budgets:
        rich.add_column(f"{budget:,}", justify="right")
    for ranking_name, packing in dict.fromkeys(
        (ranking_name, packing) for ranking_name, packing, _ in table.cells
    ):
        rich.add_row(
            ranking_name,
            packing,
            *(_cell_text(table.cells[ranking_name, packing, budget]) for budget in budgets),
        )
    rich.caption = "In percent, ± half the 95 % bootstrap interval; † p < 0.05 against truncation."
    return rich


def _cell_text(cell: FactsKept) -> str:
    half = (cell.share.high - cell.share.low) / 2
    spread = f" ±{100 * half:.1f}" if half == half else ""  # undefined for a single persona
    return f"{100 * cell.share.mean:.1f}{spread}{' †' if cell.p is not None and cell.p < 0.05 else ''}"


def _packed(hits: Sequence[ItemHit], request: Request, budget: int, count: CountTokens) -> str:
    return pack(hits, request, budget, count=count).text


def _truncated(hits: Sequence[ItemHit], _request: Request, budget: int, count: CountTokens) -> str:
    """The same text without fences, up to the last character that fits."""
    text, tokens = "", 0
    for hit in hits:
        line = f"{hit.item.schema.noun}: {Excerpt(hit.item).whole}\n"
        text, tokens = text + line, tokens + count(line)
        if tokens > budget:
            break
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) <= budget else (low, middle - 1)
    return text[:low]


def _texts(value: object) -> Iterator[str]:
    """All values in nested data, as text."""
    if isinstance(value, Mapping):
        for inner in cast("Mapping[str, Any]", value).values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in cast("Sequence[object]", value):
            yield from _texts(inner)
    elif value is not None and str(value):
        yield str(value)
