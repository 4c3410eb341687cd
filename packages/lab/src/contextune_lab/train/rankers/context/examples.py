"""Training examples for the context ranker: requests as scenes with graded items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from contextune.context.build_scene import RequestVectors, scene_from_vectors, scene_without_vectors
from contextune.context.index import UserIndex
from contextune.context.signals import RequestClasses, Scene, UseColumns
from contextune.context.signals.request_classifier import build_request_classes
from contextune.datasets import Persona, Query, usage_events
from contextune.embed import Matrix
from contextune.tools import bundled_toolbox
from contextune.types import Progress, UsageEvent
from contextune_lab.train.embedder.fold_vectors import PersonaVectors


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


def from_folds(vectors: PersonaVectors, *, progress: Progress | None = None) -> list[ContextExample]:
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
