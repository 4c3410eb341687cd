"""Requests with the tools that serve them, as a ranker of tools can be trained and judged on.

Every vector is by an embedder that has not seen the request: of a persona by the embedder of its
fold; of a public training request by an embedder that was trained without it and, on ToolBench, without
any request to one of its servers. Of the others it may have seen some.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from contextune.context.signals import recompute_links
from contextune.embed import Matrix
from contextune.errors import InvalidDataError
from contextune.lab.public_data.folds import folded, training_toolsets
from contextune.lab.public_data.toolset import Toolset
from contextune.lab.train.embedder.data import FOLDS
from contextune.lab.train.embedder.fold_vectors import FoldVectors
from contextune.lab.train.rankers.context import SECOND, FeaturedExamples, fit, unseen_scores
from contextune.lab.train.rankers.context_examples import ContextExample, from_folds
from contextune.rank import CandidateGroup
from contextune.tools import Catalog, bundled_toolbox
from contextune.tools.candidates import candidates
from contextune.tools.features import measure
from contextune.tools.index import ToolIndex
from contextune.tools.query import PastCalls, QueryContext, ToolQuery
from contextune.types import Progress

Floats = NDArray[np.float64]
RIGHT, PLAUSIBLE = 3, 1


@dataclass(frozen=True, eq=False)
class ToolExample:
    """One request to one catalogue."""

    name: str
    group: str
    """The persona, or the data it is of."""
    fold: int
    kind: str
    index: ToolIndex
    wish: ToolQuery
    grades: Mapping[int, int]
    """How right tools are, by place in the catalogue; others are wrong."""
    measured: bool = False

    def places(self) -> NDArray[np.intp]:
        """The candidates."""
        return candidates(self.index, self.wish)

    def group_of(self, places: NDArray[np.intp]) -> CandidateGroup:
        """As a ranker learns from it."""
        grades = np.array([self.grades.get(int(place), 0) for place in places], np.int64)
        return CandidateGroup(measure(self.index, self.wish, places), grades)


def from_personas(
    folds: FoldVectors, examples: Sequence[ContextExample], scores: Sequence[Floats]
) -> list[ToolExample]:
    """The personas' requests with the context that a ranker found which had not seen the persona."""
    toolbox = Catalog(bundled_toolbox())
    place = {tool.name: number for number, tool in enumerate(toolbox)}
    plain = ToolIndex.of(toolbox, np.zeros((len(toolbox), 1), np.float32))
    known = {example.name: (example, score) for example, score in zip(examples, scores, strict=True)}
    found: list[ToolExample] = []
    for persona, parts in folds:
        index = replace(plain, vectors=parts["tools"])
        for number, query in enumerate(persona.queries):
            example, score = known[persona.name(query)]
            order = np.argsort(-score, kind="stable")
            context = QueryContext.of(
                [example.scene.items[n] for n in map(int, order)],
                score[order].tolist(),
                example.scene.vectors[order],
            )
            gold = query.gold
            grades = {place[name]: PLAUSIBLE for name in gold.tools or ()} | {place[gold.api or ""]: RIGHT}
            apps = example.scene.reading.apps
            wish = ToolQuery(query.text, parts["bare"][number], context, apps=apps)
            found.append(
                ToolExample(
                    name=example.name,
                    group=persona.id,
                    fold=example.fold,
                    kind=example.kind,
                    index=index,
                    wish=wish,
                    grades=grades,
                    measured=example.measured,
                )
            )
    return found


def people_examples(folds: FoldVectors, *, progress: Progress | None = None) -> list[ToolExample]:
    """As `from_personas`, with all that is needed for it worked out."""
    examples = from_folds(folds)
    return from_personas(folds, examples, found_scores(FeaturedExamples.of(examples, progress=progress)))


def found_scores(data: FeaturedExamples, *, progress: Progress | None = None) -> list[Floats]:
    """Scores of both passes, made anew for each fold: not even the links learnt from have seen it."""
    found: list[Floats] = [np.empty(0)] * len(data.examples)
    folds = sorted({example.fold for example in data.examples})
    for number, fold in enumerate(folds, 1):
        rest = data.part(lambda example, fold=fold: example.fold != fold)
        first, second = fit(rest), fit(rest.linked(unseen_scores(rest)), SECOND)
        for n, example in enumerate(data.examples):
            if example.fold == fold:
                matrix = data.matrices[n]
                found[n] = second.score(recompute_links(example.scene, matrix, first.score(matrix)))
        if progress:
            progress(number, len(folds))
    return found


def public_examples(folder: Path, vectors: Path) -> list[ToolExample]:
    """As `from_public`, of the public data in a folder and the vectors of a training run."""
    return from_public(training_toolsets(folder), PublicVectors.read(vectors))


def without_context(example: ToolExample) -> ToolExample:
    """The same request by itself."""
    return replace(example, wish=replace(example.wish, context=None))


@dataclass(frozen=True, eq=False)
class PublicVectors:
    """Vectors of public catalogues and of requests to them, as `FOLD/TOOLSET tools` and `… queries`."""

    rows: Mapping[str, Matrix]

    @classmethod
    def read(cls, file: Path) -> "PublicVectors":
        """From a file of the embedders' training run."""
        try:
            with np.load(file, allow_pickle=False) as found:
                return cls({name: _unit(found[name]) for name in found.files})
        except (OSError, EOFError, TypeError, ValueError, BadZipFile) as error:
            raise InvalidDataError(f"{file}: is no file of public vectors: {error}") from None

    def part(self, name: str, count: int) -> Matrix:
        """The rows of a name; refused unless there are as many as the data asks for."""
        rows = self.rows.get(name)
        if rows is None or len(rows) != count:
            found = "there are none" if rows is None else f"there are {len(rows):,}"
            raise InvalidDataError(
                f"of the vectors {name!r} {count:,} are needed and {found}: they are of other data; "
                "train the embedders again"
            )
        return rows


def from_public(toolsets: Sequence[Toolset], vectors: PublicVectors, *, seed: int = 0) -> list[ToolExample]:
    """Requests to public catalogues; half of them with a past of other such requests."""
    draw = np.random.default_rng(seed)
    found: list[ToolExample] = []
    for toolset in toolsets:
        plain = ToolIndex.of(Catalog(toolset.tools), np.zeros((len(toolset.tools), 1), np.float32))
        kept = folded(toolset, FOLDS)
        for fold in range(FOLDS):
            mine = [query for query in kept if query["kept"] == fold]
            tools = vectors.part(f"{fold}/{toolset.name} tools", len(toolset.tools))
            rows = vectors.part(f"{fold}/{toolset.name} queries", len(mine))
            index = replace(plain, vectors=tools)
            for number, query in enumerate(mine):
                past = _past(mine, rows, number, draw) if draw.random() < 0.5 else None
                wish = ToolQuery(query["text"], rows[number], past=past)
                grades = dict.fromkeys(query["relevant"], RIGHT)
                name = f"{toolset.name}-{fold}-{number}"
                found.append(ToolExample(name, toolset.name, fold, toolset.name, index, wish, grades))
    return found


def _past(queries: list[dict[str, Any]], rows: Matrix, but: int, draw: np.random.Generator) -> PastCalls:
    """Some earlier requests, a few or many: with tools that were right, now and then with a wrong one."""
    count = int(math.exp(draw.uniform(0, math.log(max(2, len(queries)) / 2))))
    drawn = cast("list[int]", draw.choice(len(queries), count, replace=False).tolist())
    chosen = [n for n in drawn if queries[n]["text"] != queries[but]["text"]]
    uses = list(_uses(queries, chosen, draw))
    return PastCalls(
        np.array([tool for tool, _, _ in uses], np.int64),
        rows[np.array([number for _, number, _ in uses], np.int64)],
        draw.exponential(20, len(uses)),
        np.array([ok for _, _, ok in uses], bool),
    )


def _uses(
    queries: list[dict[str, Any]], chosen: Sequence[int], draw: np.random.Generator
) -> Iterator[tuple[int, int, bool]]:
    every = sorted({place for query in queries for place in query["relevant"]})
    for number in chosen:
        for place in queries[number]["relevant"]:
            yield place, number, True
        if draw.random() < 0.2 and (wrong := int(draw.choice(every))) not in queries[number]["relevant"]:
            yield wrong, number, False


def _unit(rows: NDArray[Any]) -> Matrix:
    values = rows.astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True)
