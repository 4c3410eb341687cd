"""Train the ranker before the reading model: it chooses the items that the model reads.

    python -m contextune_lab.train.reading.first_ranker OUT --worlds FOLDER

`OUT` gets `wide.json.gz`, of all worlds and personas, and `wide-0.json.gz` to `wide-3.json.gz`, each without
a fold: rows and later rankers are made with the one that has not seen the request.
"""

# arrays and tensors of untyped libraries
# pyright: basic, reportArgumentType=false, reportDeprecated=false

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contextune.context.reading import WIDE_FEATURES, wide_matrix
from contextune.datasets import bundled_personas, training_personas
from contextune.rank import CandidateGroup, Ranker, RankerSettings
from contextune_lab.train.reading.manifest import WIDE_WORLDS
from contextune_lab.train.reading.processes import for_each
from contextune_lab.train.reading.scenes import ranked_requests
from contextune_lab.train.reading.sources import FOLDS, RequestSource, open_persona, open_worlds

SETTINGS = RankerSettings(
    rounds=260, rate=0.06, seeds=1, leaves=18, smallest_leaf=60, feature_share=0.3, truncation=12
)
_BEST, _RANDOM = 70, 60
"""Candidates of a request that are learned from: the best so far, and random ones."""
_MORE = 6
"""Requests of a persona beside its own."""
_LEARNED_RANK = WIDE_FEATURES.index("learned rank")


@dataclass(frozen=True, eq=False)
class WideExample:
    """The candidates of one request, in a fold."""

    fold: int
    group: CandidateGroup


def wide_examples(source: RequestSource, rng: np.random.Generator) -> Iterator[WideExample]:
    """The requests of a source that need some of their candidates."""
    for ranked in ranked_requests(source):
        grades = ranked.grades
        if not (grades == 2).any() or (grades == 2).all():
            continue
        matrix = wide_matrix(ranked.ranked)
        kept = _sample(matrix, grades, rng)
        yield WideExample(source.fold, CandidateGroup(matrix[kept], grades[kept]))


def _sample(
    matrix: NDArray[np.float32], grades: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.intp]:
    best = np.argsort(matrix[:, _LEARNED_RANK], kind="stable")[:_BEST]
    drawn = rng.choice(len(grades), min(_RANDOM, len(grades)), replace=False)
    return np.unique(np.concatenate([np.flatnonzero(grades), best, drawn]))


def fit_wide(
    examples: Sequence[WideExample], without: int | None = None, settings: RankerSettings = SETTINGS
) -> Ranker:
    """The ranker of all folds, or of all but one."""
    groups = [example.group for example in examples if example.fold != without]
    return Ranker.fit(groups, WIDE_FEATURES, settings)


def few_requests(source: RequestSource, rng: np.random.Generator) -> RequestSource:
    """A persona with its own requests and a few others."""
    own = [request for request in source.requests if "/own/" in request.id]
    more = [request for request in source.requests if "/own/" not in request.id]
    drawn = [more[number] for number in rng.permutation(len(more))[:_MORE].tolist()]
    return replace(source, requests=[*own, *drawn])


def _examples(worlds: Path, name: str) -> list[WideExample]:
    """Of a world or a persona."""
    rng = np.random.default_rng(list(name.encode()))
    for persona in (*bundled_personas(), *training_personas()):
        if persona.id == name:
            with open_persona(persona, everyday=False) as source:
                return list(wide_examples(few_requests(source, rng), rng))
    return [each for source in open_worlds([name], worlds) for each in wide_examples(source, rng)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the rankers from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--worlds", type=Path, required=True, help="the folder of the worlds")
    parser.add_argument("--names", default=",".join(WIDE_WORLDS), help="worlds, separated by commas")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--rows", type=Path, help="a folder to keep examples in")
    options = parser.parse_args(arguments)
    personas = [persona.id for persona in (*bundled_personas(), *training_personas())]
    read = for_each(
        partial(_examples, options.worlds),
        [*options.names.split(","), *personas],
        processes=options.processes,
        keep=options.rows,
        stage="wide",
    )
    examples = [example for each in read.values() for example in each]
    options.out.mkdir(parents=True, exist_ok=True)
    for fold in range(FOLDS):
        fit_wide(examples, fold).save(options.out / f"wide-{fold}.json.gz")
    fit_wide(examples).save(options.out / "wide.json.gz")


if __name__ == "__main__":
    main()
