"""Training examples for the tool ranker: requests with graded tools.

Every vector comes from an embedder that has not seen the request: for a persona, the embedder of its fold;
for a public request, an embedder trained without it and, on ToolBench, without any request to one of its
servers.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from contextune.embed import Embedder, Matrix
from contextune.errors import InvalidDataError
from contextune.rank import CandidateGroup
from contextune.tools import Catalog, bundled_toolbox
from contextune.tools.candidates import select_candidates
from contextune.tools.features import feature_matrix
from contextune.tools.index import ToolIndex
from contextune.tools.query import PastCalls, QueryContext, ToolQuery
from contextune.tools.subqueries import split_subqueries
from contextune.types import Progress
from contextune_lab.public_data.folds import assign_folds, training_toolsets
from contextune_lab.public_data.toolset import Toolset, read_toolset
from contextune_lab.train.embedder.data import FOLDS
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.rankers.context.examples import ContextExample, from_folds
from contextune_lab.train.rankers.context.train import FeaturedExamples, fit_by_fold

Floats = NDArray[np.float64]
RIGHT, PLAUSIBLE = 3, 1
UNTRAINED = ("bfcl", "workbench")
"""Public catalogues that no embedder is trained on."""
_FAMILIES = {"toolbench": "rapidapi", "toollens": "rapidapi"}
"""ToolLens has tools of ToolBench's servers."""


@dataclass(frozen=True, eq=False)
class ToolExample:
    """One request to one catalogue."""

    name: str
    group: str
    """Persona id or dataset name."""
    fold: int
    kind: str
    index: ToolIndex
    query: ToolQuery
    grades: Mapping[int, int]
    """Grades by place in the catalogue; missing tools are irrelevant."""
    measured: bool = False
    embedder: str = "fold"
    """Whose vectors these are: of the embedder of its fold, or of the shipped one, which has not seen it."""

    def places(self, visible: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
        """Places of the candidate tools, or of those that are visible."""
        return select_candidates(self.index, self.query, visible)

    @property
    def source(self) -> str:
        """Where the request comes from: a public catalogue, or "personas"."""
        return self.group if self.kind == self.group else "personas"

    @property
    def family(self) -> str:
        """Sources that share tools; a model is tested on a family that it has not seen."""
        return _FAMILIES.get(self.source, self.source)

    @property
    def holdout(self) -> str:
        """What is left out to test on this request: its family, or the fold of a persona."""
        return f"personas {self.fold}" if self.source in ("personas", "plain") else self.family

    def group_of(self, places: NDArray[np.intp]) -> CandidateGroup:
        """The training group of these candidates."""
        grades = np.array([self.grades.get(int(place), 0) for place in places], np.int64)
        return CandidateGroup(feature_matrix(self.index, self.query, places), grades)


def from_personas(
    folds: FoldVectors, examples: Sequence[ContextExample], scores: Sequence[Floats]
) -> list[ToolExample]:
    """The personas' requests with context retrieved by out-of-fold rankers."""
    toolbox = Catalog(bundled_toolbox())
    place = {tool.name: number for number, tool in enumerate(toolbox)}
    template = ToolIndex.from_vectors(toolbox, np.zeros((len(toolbox), 1), np.float32))
    by_name = {example.name: (example, score) for example, score in zip(examples, scores, strict=True)}
    tool_examples: list[ToolExample] = []
    for persona, parts in folds:
        index = replace(template, vectors=parts["tools"])
        for number, query in enumerate(persona.queries):
            example, score = by_name[persona.name(query)]
            order = np.argsort(-score, kind="stable")
            context = QueryContext.build(
                [example.scene.items[n] for n in map(int, order)],
                score[order].tolist(),
                example.scene.vectors[order],
            )
            gold = query.gold
            grades = {place[name]: PLAUSIBLE for name in gold.tools or ()} | {place[gold.api or ""]: RIGHT}
            apps = example.scene.request_classes.apps
            tool_query = ToolQuery(query.text, parts["bare"][number], context, app_probabilities=apps)
            tool_examples.append(
                ToolExample(
                    name=example.name,
                    group=persona.id,
                    fold=example.fold,
                    kind=example.kind,
                    index=index,
                    query=tool_query,
                    grades=grades,
                    measured=example.measured,
                )
            )
    return tool_examples


def persona_examples(folds: FoldVectors, *, progress: Progress | None = None) -> list[ToolExample]:
    """`from_personas`, including all its inputs."""
    examples = from_folds(folds)
    return from_personas(
        folds, examples, out_of_fold_context_scores(FeaturedExamples.build(examples, progress=progress))
    )


def out_of_fold_context_scores(data: FeaturedExamples, *, progress: Progress | None = None) -> list[Floats]:
    """Scores of the second pass, by rankers that have not seen the fold."""
    passes = fit_by_fold(data, progress=progress)
    return [
        passes[example.fold].rank(example, matrix).scores
        for example, matrix in zip(data.examples, data.matrices, strict=True)
    ]


def public_examples(folder: Path, vectors: Path) -> list[ToolExample]:
    """`from_public`, reading the public data and the vectors of a training run."""
    return from_public(training_toolsets(folder), PublicVectors.read(vectors))


def untrained_examples(folder: Path, embedder: Embedder) -> list[ToolExample]:
    """Requests to those of the `UNTRAINED` catalogues that are in the folder, with the shipped embedder."""
    examples: list[ToolExample] = []
    for name in UNTRAINED:
        if not (folder / name).is_dir():
            continue
        toolset = read_toolset(folder / name)
        index = ToolIndex.build(Catalog(toolset.tools), embedder)
        queries = [query for query in toolset.queries if query.relevant]
        parts = [split_subqueries(query.text) for query in queries]
        rows = iter(embedder.embed([text for row in parts for text in row]))
        vectors = embedder.embed([query.text for query in queries])
        for number, (query, vector, texts) in enumerate(zip(queries, vectors, parts, strict=True)):
            tool_query = _with_parts(ToolQuery(query.text, vector), texts, rows)
            grades = dict.fromkeys(sorted(query.relevant), RIGHT)
            example = ToolExample(
                f"{name}-{number}", name, number % FOLDS, name, index, tool_query, grades, embedder="shipped"
            )
            examples.append(example)
    return examples


def _with_parts(query: ToolQuery, texts: Sequence[str], rows: Iterator[Matrix]) -> ToolQuery:
    """The query with its parts, whose vectors are the next rows."""
    return query.with_parts(texts, np.stack([next(rows) for _ in texts])) if texts else query


def without_context(example: ToolExample) -> ToolExample:
    """The same request without context."""
    return replace(example, query=replace(example.query, context=None))


@dataclass(frozen=True, eq=False)
class PublicVectors:
    """Vectors of public catalogues and requests, keyed `FOLD/TOOLSET tools` and `FOLD/TOOLSET queries`.

    `FOLD/TOOLSET parts` are the parts of all these requests (`split_subqueries`), in order; without them,
    the ranker learns about parts from the `UNTRAINED` catalogues only.
    """

    rows: Mapping[str, Matrix]

    @classmethod
    def read(cls, file: Path) -> "PublicVectors":
        """Read a file written by the embedders' training run."""
        try:
            with np.load(file, allow_pickle=False) as arrays:
                return cls({name: _unit(arrays[name]) for name in arrays.files})
        except (OSError, EOFError, TypeError, ValueError, BadZipFile) as error:
            raise InvalidDataError(f"{file}: not a file of public vectors: {error}") from None

    def select(self, name: str, count: int) -> Matrix:
        """The rows under `name`; refused unless there are `count`."""
        rows = self.rows.get(name)
        if rows is None or len(rows) != count:
            available = 0 if rows is None else len(rows)
            raise InvalidDataError(
                f"vectors {name!r}: expected {count:,} rows, found {available:,}; "
                "the vectors are of other data: train the embedders again"
            )
        return rows

    def select_parts(self, name: str, count: int) -> Iterator[Matrix] | None:
        """The rows of the requests' parts in order; None in a file without parts."""
        return iter(self.select(name, count)) if name in self.rows else None


def from_public(toolsets: Sequence[Toolset], vectors: PublicVectors, *, seed: int = 0) -> list[ToolExample]:
    """Requests to public catalogues; half of them get a random history of past calls."""
    rng = np.random.default_rng(seed)
    examples: list[ToolExample] = []
    for toolset in toolsets:
        template = ToolIndex.from_vectors(
            Catalog(toolset.tools), np.zeros((len(toolset.tools), 1), np.float32)
        )
        requests = assign_folds(toolset, FOLDS)
        for fold in range(FOLDS):
            requests_of_fold = [query for query in requests if query["kept"] == fold]
            tools = vectors.select(f"{fold}/{toolset.name} tools", len(toolset.tools))
            rows = vectors.select(f"{fold}/{toolset.name} queries", len(requests_of_fold))
            index = replace(template, vectors=tools)
            parts = [split_subqueries(query["text"]) for query in requests_of_fold]
            part_rows = vectors.select_parts(f"{fold}/{toolset.name} parts", sum(map(len, parts)))
            for number, query in enumerate(requests_of_fold):
                past = _sample_past_calls(requests_of_fold, rows, number, rng) if rng.random() < 0.5 else None
                tool_query = ToolQuery(query["text"], rows[number], past_calls=past)
                if part_rows is not None:
                    tool_query = _with_parts(tool_query, parts[number], part_rows)
                grades = dict.fromkeys(query["relevant"], RIGHT)
                name = f"{toolset.name}-{fold}-{number}"
                examples.append(
                    ToolExample(name, toolset.name, fold, toolset.name, index, tool_query, grades)
                )
    return examples


def _sample_past_calls(
    queries: list[dict[str, Any]], rows: Matrix, excluded: int, rng: np.random.Generator
) -> PastCalls:
    """A random history of other requests, mostly with right tools, sometimes with a wrong one."""
    count = int(math.exp(rng.uniform(0, math.log(max(2, len(queries)) / 2))))
    rngn = cast("list[int]", rng.choice(len(queries), count, replace=False).tolist())
    chosen = [n for n in rngn if queries[n]["text"] != queries[excluded]["text"]]
    uses = list(_uses(queries, chosen, rng))
    return PastCalls(
        np.array([tool for tool, _, _ in uses], np.int64),
        rows[np.array([number for _, number, _ in uses], np.int64)],
        rng.exponential(20, len(uses)),
        np.array([ok for _, _, ok in uses], bool),
    )


def _uses(
    queries: list[dict[str, Any]], chosen: Sequence[int], rng: np.random.Generator
) -> Iterator[tuple[int, int, bool]]:
    every = sorted({place for query in queries for place in query["relevant"]})
    for number in chosen:
        for place in queries[number]["relevant"]:
            yield place, number, True
        if rng.random() < 0.2 and (wrong := int(rng.choice(every))) not in queries[number]["relevant"]:
            yield wrong, number, False


def _unit(rows: NDArray[Any]) -> Matrix:
    values = rows.astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True)
