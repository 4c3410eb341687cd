"""Requests with the items they hang on, as scenes that a ranker can be trained and judged on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from contextune.context.build_scene import RequestVectors, scene_of
from contextune.context.index import UserIndex
from contextune.context.signals import RequestClasses, Scene, UseColumns
from contextune.context.signals.request_classifier import RequestClassifier, reading
from contextune.datasets import Pair, Persona, Query, bundled_pairs, training_pairs, uses
from contextune.embed import Embedder, Matrix
from contextune.lab.train.embedder.data import around, folds, portraits
from contextune.lab.train.embedder.fold_vectors import FoldVectors
from contextune.tools import bundled_toolbox
from contextune.tools.tool_text import tool_text
from contextune.types import Progress, UsageEvent
from contextune.types.app_schema import APPS


@dataclass(frozen=True, eq=False)
class ContextExample:
    """One request: its candidates, how right each of them is, and which fold and kind it belongs to."""

    name: str
    group: str
    """The persona or user."""
    fold: int
    kind: str
    scene: Scene
    grades: NDArray[np.int64]
    relevant: int
    """How many items are right, candidates or not."""
    measured: bool = True
    """Whether it may be measured on, or is only to learn from."""

    @property
    def ids(self) -> list[str]:
        """The candidates' items."""
        return [item.id for item in self.scene.items]


def from_folds(vectors: FoldVectors, *, progress: Progress | None = None) -> list[ContextExample]:
    """The personas' requests, each as an embedder sees it that has not seen the persona."""
    measured = {persona.id for persona in vectors.personas}
    tool_apps = [tool.app for tool in bundled_toolbox()]
    found: list[ContextExample] = []
    for number, (persona, parts) in enumerate(vectors, 1):
        stage = PersonaStage.of(persona, parts["items"])
        for n, query in enumerate(persona.queries):
            asked = RequestVectors(parts["bare"][n], parts["around"][n])
            read = reading(parts["kinds"][n], parts["apps"][n], parts["tools"] @ asked.bare, tool_apps)
            example = stage.example(query, asked, read, vectors.fold[persona.id])
            found.append(replace(example, measured=persona.id in measured))
        if progress:
            progress(number, len(vectors.everybody))
    return found


@dataclass(frozen=True)
class PersonaStage:
    """A persona made ready: its items in the order an index has them, with their vectors and uses."""

    persona: Persona
    index: UserIndex
    vectors: Matrix
    uses: UseColumns

    @classmethod
    def of(
        cls, persona: Persona, vectors: Matrix, used: Sequence[UsageEvent] | None = None
    ) -> "PersonaStage":
        """`vectors` are those of the portraits, in the items' order; `used` stands in for the habits."""

        def no_texts(texts: Sequence[str]) -> Matrix:
            raise AssertionError(f"{len(texts)} texts would be embedded, but all vectors are given")

        index = UserIndex(persona.user, list(persona.items), no_texts)
        place = {item.id: number for number, item in enumerate(persona.items)}
        order = [place[item.id] for item in index.items]
        return cls(
            persona,
            index,
            vectors[order],
            UseColumns.of(index.facts, uses(persona) if used is None else used),
        )

    def example(self, query: Query, asked: RequestVectors, read: RequestClasses, fold: int) -> ContextExample:
        """One of the persona's requests."""
        scene = scene_of(
            self.persona.request(query),
            self.index,
            self.uses,
            vectors=self.vectors,
            asked=asked,
            reading=read,
            depth=10,
        )
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
    """The personas' requests as any embedder sees them, and a reader for its vectors.

    For embedders that were not trained on the personas. What the reader says of a request comes
    from one that has not seen the request's fold; the reader returned has seen everything.
    """
    fold, tools = folds(personas), bundled_toolbox()
    pairs = [*bundled_pairs(), *training_pairs()]
    tool_vectors = embedder.embed([tool_text(tool) for tool in tools])
    tool_apps = [tool.app for tool in tools]
    asked = [(persona, query) for persona in personas for query in persona.queries]
    bare = embedder.embed([query.text for _, query in asked])
    vectors = [
        RequestVectors(*pair)
        for pair in zip(bare, embedder.embed([around(query) for _, query in asked]), strict=True)
    ]
    labels = [
        *((query.gold.kind or "", _apps(persona, query)) for persona, query in asked),
        *map(_labels, pairs),
    ]
    rows = np.vstack([*(one.meant for one in vectors), embedder.embed([pair.query for pair in pairs])])
    of_fold = np.array([*(fold[persona.id] for persona, _ in asked), *[-1] * len(pairs)])

    def reader(without: int | None) -> RequestClassifier:
        chosen = [n for n in range(len(rows)) if without is None or of_fold[n] != without]
        kinds, apps = zip(*(labels[n] for n in chosen), strict=True)
        return RequestClassifier.fit(rows[chosen], kinds, apps, tool_vectors, tool_apps)

    readers = {number: reader(number) for number in sorted(set(fold.values()))}
    found: list[ContextExample] = []
    number = 0
    for done, persona in enumerate(personas, 1):
        stage = PersonaStage.of(persona, embedder.embed(portraits(persona)))
        for query in persona.queries:
            one = vectors[number]
            read = readers[fold[persona.id]].read(one.meant, one.bare)
            found.append(stage.example(query, one, read, fold[persona.id]))
            number += 1
        if progress:
            progress(done, len(personas))
    return found, reader(None)


def _apps(persona: Persona, query: Query) -> list[str]:
    return sorted(
        {item.app for item in persona.items if item.id in (query.gold.relevant or {})} & APPS.keys()
    )


def _labels(pair: Pair) -> tuple[str, list[str]]:
    return pair.kind, sorted({item.app for item in pair.items})
