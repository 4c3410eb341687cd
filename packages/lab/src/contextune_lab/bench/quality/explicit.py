"""Explicit requests: people who name the item they mean ("When is nightdress + slippers in bag due?").

They come from the training requests of all personas, and are ranked by models that have not seen the persona.
The fold vectors must hold the training requests too: parts whose names begin with `more_`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from contextune.datasets import Persona, Query, training_requests
from contextune.embed import Matrix
from contextune.evaluate.results import ResultTable, evaluate_runs
from contextune.types import Progress
from contextune_lab.bench.quality.haystack import RankedExamples, rank_examples
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.rankers.context.examples import ContextExample
from contextune_lab.train.rankers.context.haystack import haystack_examples
from contextune_lab.train.rankers.context.mixture import request_parts, training_request_examples
from contextune_lab.train.rankers.context.train import TrainedPasses

EXPLICIT = "explicit"
METRICS = ("recall@1", "recall@3", "recall@5", "mrr")
_REQUEST_PARTS = ("bare", "around", "kinds", "apps")


def explicit_positions(requests: Sequence[Query]) -> list[int]:
    """Positions of the explicit requests that need an item; half of the explicit ones need none."""
    return [n for n, query in enumerate(requests) if query.gold.kind == EXPLICIT and query.gold.relevant]


def explicit_examples(folds: FoldVectors, *, progress: Progress | None = None) -> Iterator[ContextExample]:
    """The explicit requests that need an item, of every persona, embedded by models that have not seen it."""
    examples = training_request_examples(folds, progress=progress)
    return (example for example in examples if example.kind == EXPLICIT)


def explicit_rows(
    folds: FoldVectors, trained: Mapping[int, TrainedPasses], *, progress: Progress | None = None
) -> RankedExamples:
    """Rankings of the explicit requests among the items of their persona."""
    return rank_examples(explicit_examples(folds, progress=progress), trained)


def explicit_haystack_rows(
    folds: FoldVectors, trained: Mapping[int, TrainedPasses], size: int, *, progress: Progress | None = None
) -> RankedExamples:
    """The same over `size` items, for the measured personas.

    The usage history of a persona ends at its first request. So only explicit requests after it are measured,
    and the first request stays among the requests, to be left out of the result.
    """
    view = _ExplicitFolds(folds.personas, folds.training_only, folds.file, folds)
    names = view.explicit_names
    examples = haystack_examples(view, size, progress=progress)
    return rank_examples((example for example in examples if example.name in names), trained)


def explicit_table(folds: FoldVectors, ranked: RankedExamples) -> ResultTable:
    """Evaluate the rows; each is tested against the last."""
    requests = training_requests()
    queries = {
        persona.name(requests[persona.id][n]): (persona, requests[persona.id][n])
        for persona in folds.all_personas
        for n in explicit_positions(requests.get(persona.id, []))
    }
    chosen = {name: queries[name] for name in next(iter(ranked.rows.values()))}
    return evaluate_runs(
        ranked.rows,
        {name: query.gold.relevant or {} for name, (_, query) in chosen.items()},
        METRICS,
        groups={name: persona.id for name, (persona, _) in chosen.items()},
        baseline=list(ranked.rows)[-1],
    )


@dataclass(frozen=True)
class _ExplicitFolds(FoldVectors):
    """Personas with their first request, which ends their history, and the explicit ones after it."""

    folds: FoldVectors

    @property
    def explicit_names(self) -> frozenset[str]:
        """The names of the explicit requests."""
        return frozenset(persona.name(query) for persona, _ in self for query in persona.queries[1:])

    def __iter__(self) -> Iterator[tuple[Persona, dict[str, Matrix]]]:
        requests = training_requests()
        for persona, parts in self.folds:
            own = requests.get(persona.id, [])
            more = request_parts(parts)
            first = min(range(len(persona.queries)), key=lambda n: _wall_clock(persona.queries[n]))
            start = _wall_clock(persona.queries[first])
            later = [n for n in explicit_positions(own) if _wall_clock(own[n]) >= start]
            vectors = {
                part: np.concatenate([parts[part][first : first + 1], more[part][later]])
                for part in _REQUEST_PARTS
            }
            queries = (persona.queries[first], *(own[n] for n in later))
            yield replace(persona, queries=queries), {**parts, **vectors}


def _wall_clock(query: Query) -> datetime:
    return query.time.replace(tzinfo=None)
