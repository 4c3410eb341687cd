"""How many of the facts a call needs are still there when ranked items must fit into a prompt.

A fact is needed where a value of the right call's arguments stands in a field of an item the query
hangs on. It is kept where a prompt still says it: a time by its day and hour on one line, anything
else in the same words. Measured against what most people do, the items one after the other, cut off
where the budget ends; that has no fences, and so more room.
"""

import re
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from rich.table import Table as RichTable

from contextune.context.excerpt import Excerpt
from contextune.context.packing import Count, estimate_tokens, pack
from contextune.datasets import Persona, Query, load_persona
from contextune.errors import InvalidDataError
from contextune.evaluate.stats import Interval, bootstrap, paired_test
from contextune.store import SQLiteStore
from contextune.tuner import Tuner
from contextune.types import ItemHit, Progress, Request

BUDGETS = (64, 128, 256, 512, 1024, 2048)
PACKED, CUT = "packed", "cut off"
ORACLE = "right order"

Rank = Callable[[Persona, Query], Sequence[ItemHit]]
"""A query's items, best first."""
_Writer = Callable[[Sequence[ItemHit], Request, int, Count], str]
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)")
_FREE = "*"
"""Stands for text that the assistant writes itself."""


@dataclass(frozen=True, slots=True)
class FactsKept:
    """The mean share of a query's needed facts that are kept; p is against the items cut off."""

    share: Interval
    p: float | None = None


@dataclass(frozen=True, slots=True)
class BudgetTable:
    """`cells` by ranking, way of writing and budget, over `queries` queries that need `facts` facts."""

    cells: Mapping[tuple[str, str, int], FactsKept]
    queries: int
    facts: int


def budget_table(
    personas: Sequence[Persona],
    rank: Rank | None = None,
    budgets: Sequence[int] = BUDGETS,
    progress: Progress | None = None,
    *,
    name: str = "semantic",
    count: Count = estimate_tokens,
) -> BudgetTable:
    """The facts kept at each budget, for the right order and for `rank`, which is shown as `name`.

    Without `rank`, the Tuner ranks by the method called `name`.
    """
    if rank is None:
        with ranked_by(name) as ranking:
            return budget_table(personas, ranking, budgets, progress, name=name, count=count)
    ways: dict[str, _Writer] = {PACKED: _packed, CUT: _cut}
    scores: dict[tuple[str, str, int], list[float]] = {}
    groups: list[str] = []
    facts = 0
    for number, persona in enumerate(personas, 1):
        for query in persona.queries:
            if not (needed := needed_facts(persona, query)):
                continue
            groups.append(persona.id)
            facts += len(needed)
            for order, hits in ((ORACLE, right_order(persona, query)), (name, rank(persona, query))):
                for way, write in ways.items():
                    for budget in budgets:
                        text = write(hits, persona.request(query), budget, count)
                        share = sum(says(text, fact) for fact in needed) / len(needed)
                        scores.setdefault((order, way, budget), []).append(share)
        if progress:
            progress(number, len(personas))
    if not groups:
        raise InvalidDataError("no query's `args` hold a fact of its `relevant` items: nothing to measure")
    cells = {
        (order, way, budget): FactsKept(
            bootstrap(shares, groups=groups),
            paired_test(shares, scores[order, CUT, budget], groups=groups) if way == PACKED else None,
        )
        for (order, way, budget), shares in scores.items()
    }
    return BudgetTable(cells, len(groups), facts)


def needed_facts(persona: Persona, query: Query) -> list[str]:
    """The values of the right call's arguments that an item the query hangs on has in a field."""
    relevant = query.gold.relevant or {}
    fields = [text for item in persona.items if item.id in relevant for text in _texts(item.fields)]
    wanted = dict.fromkeys(_texts(query.gold.args or {}))
    return [fact for fact in wanted if fact != _FREE and any(fact in text for text in fields)]


def says(text: str, fact: str) -> bool:
    """Whether the text holds the fact; a time is held where its day and its hour are on one line."""
    if moment := _MOMENT.fullmatch(fact):
        return any(moment[1] in line and moment[2] in line for line in text.splitlines())
    return fact in text


def right_order(persona: Persona, query: Query) -> list[ItemHit]:
    """The items as a perfect ranking has them: the needed ones, those that help, the others it may see."""
    grades = query.gold.relevant or {}
    seen = [persona.items[number] for number in persona.visible(query)]
    ranked = sorted(seen, key=lambda item: -grades.get(item.id, 0))
    return [ItemHit(item, float(grades.get(item.id, 0))) for item in ranked]


@contextmanager
def ranked_by(method: str) -> Generator[Rank]:
    """The Tuner's ranking by a method, each persona being loaded when its first query comes."""
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
    for order, way in dict.fromkeys((order, way) for order, way, _ in table.cells):
        rich.add_row(order, way, *(_shown(table.cells[order, way, budget]) for budget in budgets))
    rich.caption = "In percent, ± half the 95 % bootstrap interval; † p < 0.05 against the items cut off."
    return rich


def _shown(kept: FactsKept) -> str:
    half = (kept.share.high - kept.share.low) / 2
    spread = f" ±{100 * half:.1f}" if half == half else ""  # there is none for a single persona
    return f"{100 * kept.share.mean:.1f}{spread}{' †' if kept.p is not None and kept.p < 0.05 else ''}"


def _packed(hits: Sequence[ItemHit], request: Request, budget: int, count: Count) -> str:
    return pack(hits, request, budget, count=count).text


def _cut(hits: Sequence[ItemHit], _request: Request, budget: int, count: Count) -> str:
    """The same words without fences, up to the last character that fits."""
    text, taken = "", 0
    for hit in hits:
        line = f"{hit.item.schema.noun}: {Excerpt(hit.item).whole}\n"
        text, taken = text + line, taken + count(line)
        if taken > budget:
            break
    fits, end = 0, len(text)
    while fits < end:
        middle = (fits + end + 1) // 2
        fits, end = (middle, end) if count(text[:middle]) <= budget else (fits, middle - 1)
    return text[:fits]


def _texts(value: object) -> Iterator[str]:
    """Every value in nested data, as text."""
    if isinstance(value, Mapping):
        for inner in cast("Mapping[str, Any]", value).values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in cast("Sequence[object]", value):
            yield from _texts(inner)
    elif value is not None and str(value):
        yield str(value)
