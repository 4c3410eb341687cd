"""Training examples for the context ranker: requests as scenes with graded items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from contextune.context.build_scene import RequestVectors, scene_from_vectors, scene_without_vectors
from contextune.context.index import UserIndex
from contextune.context.signals import RequestClasses, Scene, UseColumns
from contextune.context.signals.request_classifier import RequestClassifier, build_request_classes
from contextune.datasets import Pair, Persona, Query, bundled_pairs, training_pairs, usage_events
from contextune.embed import Embedder, Matrix
from contextune.lab.train.embedder.data import assign_folds, embed_persona, situation_text
from contextune.lab.train.embedder.fold_vectors import FoldVectors
from contextune.tools import bundled_toolbox
from contextune.tools.tool_text import tool_text
from contextune.types import Progress, UsageEvent
from contextune.types.app_schema import APPS


@dataclass(frozen=True, eq=False)
class ContextExample:
    """One request: its candidates, their grades, its fold and kind."""

    name: str
    group: str
    """Persona or user id."""
    fold: int
    kind: str
    scene: Scene
    grades: NDArray[np.int64]
    relevant: int
    """Number of relevant items, whether candidates or not."""
    measured: bool = True
    """False if it is for training only."""

    @property
    def ids(self) -> list[str]:
        """Item ids of the candidates."""
        return [item.id for item in self.scene.items]


def from_folds(vectors: FoldVectors, *, progress: Progress | None = None) -> list[ContextExample]:
    """The personas' requests, embedded by models that have not seen the persona."""
    measured = {persona.id for persona in vectors.personas}
    examples: list[ContextExample] = []
    for number, (persona, parts) in enumerate(vectors, 1):
        scenes = PersonaScenes.build(persona, parts["items"], contents=parts["contents"])
        for n, query in enumerate(persona.queries):
            example = scenes.fold_example(query, parts, n, vectors.fold[persona.id])
            examples.append(replace(example, measured=persona.id in measured))
        if progress:
            progress(number, len(vectors.all_personas))
    return examples


def fold_classes(parts: Mapping[str, Matrix], number: int) -> RequestClasses:
    """The classes of a persona's request, from its part of the fold vectors."""
    similarities = parts["tools"] @ parts["bare"][number]
    return build_request_classes(parts["kinds"][number], parts["apps"][number], similarities, _tool_apps())


@cache
def _tool_apps() -> list[str]:
    return [tool.app for tool in bundled_toolbox()]


@dataclass(frozen=True)
class PersonaScenes:
    """A persona prepared for scenes: its items in index order, with vectors and uses."""

    persona: Persona
    index: UserIndex
    vectors: Matrix
    contents: Matrix
    uses: UseColumns

    @classmethod
    def build(
        cls,
        persona: Persona,
        vectors: Matrix,
        events: Sequence[UsageEvent] | None = None,
        *,
        contents: Matrix,
    ) -> "PersonaScenes":
        """`vectors` are those of the items with habits, `contents` without, in item order.

        `events` replaces the generated uses.
        """

        def no_texts(texts: Sequence[str]) -> Matrix:
            raise AssertionError(f"unexpected embedding of {len(texts)} texts: all vectors are given")

        index = UserIndex(persona.user, list(persona.items), no_texts)
        place = {item.id: number for number, item in enumerate(persona.items)}
        order = [place[item.id] for item in index.items]
        return cls(
            persona,
            index,
            vectors[order],
            contents[order],
            UseColumns.build(index.item_columns, usage_events(persona) if events is None else events),
        )

    def fold_example(
        self, query: Query, parts: Mapping[str, Matrix], number: int, fold: int
    ) -> ContextExample:
        """The example of a query, whose vectors have this number in the parts of the fold vectors."""
        vectors = RequestVectors(parts["bare"][number], parts["around"][number])
        return self.example(query, vectors, fold_classes(parts, number), fold)

    def example(
        self, query: Query, request_vectors: RequestVectors, classes: RequestClasses, fold: int
    ) -> ContextExample:
        """The example of one of the persona's queries."""
        scene = scene_from_vectors(
            self.persona.request(query),
            self.index,
            self.uses,
            vectors=self.vectors,
            contents=self.contents,
            request_vectors=request_vectors,
            request_classes=classes,
            depth=10,
        )
        return self._graded(query, scene, fold)

    def blind_example(self, query: Query, fold: int) -> ContextExample:
        """The example of a query that the embedder cannot read."""
        scene = scene_without_vectors(self.persona.request(query), self.index, self.uses, depth=10)
        return self._graded(query, scene, fold)

    def _graded(self, query: Query, scene: Scene, fold: int) -> ContextExample:
        gold = query.gold.relevant or {}
        grades = np.array([gold.get(item.id, 0) for item in scene.items], np.int64)
        return ContextExample(
            self.persona.name(query),
            self.persona.id,
            fold,
            query.gold.kind or "unknown",
            scene,
            grades,
            len(gold),
        )


def from_embedder(
    personas: Sequence[Persona], embedder: Embedder, *, progress: Progress | None = None
) -> tuple[list[ContextExample], RequestClassifier]:
    """The personas' requests for any embedder, and a request classifier for its vectors.

    For embedders that were not trained on the personas. Request classes come from out-of-fold classifiers;
    the returned classifier is fitted on everything.
    """
    fold, tools = assign_folds(personas), bundled_toolbox()
    pairs = [*bundled_pairs(), *training_pairs()]
    tool_vectors = embedder.embed([tool_text(tool) for tool in tools])
    tool_apps = [tool.app for tool in tools]
    queries = [(persona, query) for persona in personas for query in persona.queries]
    bare = embedder.embed([query.text for _, query in queries])
    vectors = [
        RequestVectors(*pair)
        for pair in zip(bare, embedder.embed([situation_text(query) for _, query in queries]), strict=True)
    ]
    labels = [
        *((query.gold.kind or "", _apps(persona, query)) for persona, query in queries),
        *map(_labels, pairs),
    ]
    rows = np.vstack(
        [
            *(query_vectors.situated for query_vectors in vectors),
            embedder.embed([pair.query for pair in pairs]),
        ]
    )
    of_fold = np.array([*(fold[persona.id] for persona, _ in queries), *[-1] * len(pairs)])

    def classifier(excluded_fold: int | None) -> RequestClassifier:
        chosen = [n for n in range(len(rows)) if excluded_fold is None or of_fold[n] != excluded_fold]
        kinds, apps = zip(*(labels[n] for n in chosen), strict=True)
        return RequestClassifier.fit(rows[chosen], kinds, apps, tool_vectors, tool_apps)

    classifiers = {number: classifier(number) for number in sorted(set(fold.values()))}
    examples: list[ContextExample] = []
    number = 0
    for done, persona in enumerate(personas, 1):
        vectors_of_items, contents = embed_persona(persona, embedder)
        scenes = PersonaScenes.build(persona, vectors_of_items, contents=contents)
        for query in persona.queries:
            query_vectors = vectors[number]
            classes = classifiers[fold[persona.id]].classify(query_vectors.situated, query_vectors.text)
            examples.append(scenes.example(query, query_vectors, classes, fold[persona.id]))
            number += 1
        if progress:
            progress(done, len(personas))
    return examples, classifier(None)


def _apps(persona: Persona, query: Query) -> list[str]:
    return sorted(
        {item.app for item in persona.items if item.id in (query.gold.relevant or {})} & APPS.keys()
    )


def _labels(pair: Pair) -> tuple[str, list[str]]:
    return pair.kind, sorted({item.app for item in pair.items})
