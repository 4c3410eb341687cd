"""The untuned methods on the inputs of the tuned rows: enriched item texts, and the request with its moment.

Without these rows, the gain of tuning and the gain of better texts cannot be told apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextune.context.build_scene import RequestVectors
from contextune.datasets import Persona, Query
from contextune.embed import Embedder, Matrix
from contextune.evaluate.metrics import Run
from contextune.lab.train.embedder.data import item_texts, situation_text
from contextune.search import LexicalIndex, reciprocal_rank_fusion, similarities, tokenize, top
from contextune.types import Progress


@dataclass(frozen=True, eq=False)
class EnrichedPersona:
    """A persona's items by their enriched texts: one lexical index per application, and vectors."""

    persona: Persona
    apps: Mapping[str, NDArray[np.intp]]
    """Positions of the items of each application."""
    lexical: Mapping[str, LexicalIndex]
    vectors: Matrix

    @classmethod
    def build(cls, persona: Persona, embedder: Embedder) -> "EnrichedPersona":
        """Index and embed the enriched texts."""
        texts = item_texts(persona)
        positions: dict[str, list[int]] = {}
        for position, item in enumerate(persona.items):
            positions.setdefault(item.app, []).append(position)
        apps = {app: np.array(rows, np.intp) for app, rows in sorted(positions.items())}
        lexical = {app: LexicalIndex([tokenize(texts[n]) for n in rows]) for app, rows in positions.items()}
        return cls(persona, apps, lexical, embedder.embed(texts))

    def bm25(self, query: Query, text: str) -> list[int]:
        """BM25T per application, joined by rank as in `contextune.context.methods.bm25`."""
        visible = self._visible(query)
        words = tokenize(f"{text} {situation_text(query)}")
        lists: list[tuple[float, list[int]]] = []
        for app, rows in self.apps.items():
            scores = self.lexical[app].scores(words, visible=visible[rows])
            best = top(scores, len(rows), visible=visible[rows])
            lists.append((float(scores.max()), rows[best].tolist()))
        lists.sort(key=lambda entry: -entry[0])
        return [row for row, _ in reciprocal_rank_fusion([rows for _, rows in lists])]

    def semantic(self, query: Query, vectors: RequestVectors) -> list[int]:
        """Cosine similarity to the sum of the vectors of the request and of its moment."""
        scores = similarities(vectors.situated, self.vectors)
        return top(scores, len(scores), visible=self._visible(query)).tolist()

    def ids(self, positions: Sequence[int]) -> list[str]:
        """The ids of the items at these positions."""
        return [self.persona.items[position].id for position in positions]

    def _visible(self, query: Query) -> NDArray[np.bool_]:
        visible = np.zeros(len(self.persona.items), bool)
        visible[self.persona.visible(query)] = True
        return visible


def same_input_rows(
    personas: Sequence[Persona],
    embedder: Embedder,
    thoughts: Mapping[str, Mapping[str, str]],
    *,
    progress: Progress | None = None,
) -> dict[str, Run]:
    """BM25T, semantic search, their fusion, and semantic search with each chain of thought.

    `thoughts` has chains of thought by row title and request name.
    """
    titles = ("BM25T", "Semantic search", "Hybrid, RRF", *thoughts)
    rows: dict[str, dict[str, list[str]]] = {title: {} for title in titles}
    for number, persona in enumerate(personas, 1):
        enriched = EnrichedPersona.build(persona, embedder)
        moments = embedder.embed([situation_text(query) for query in persona.queries])
        for query, moment in zip(persona.queries, moments, strict=True):
            name = persona.name(query)
            texts = [query.text, *(f"{query.text} {cots[name]}" for cots in thoughts.values())]
            plain, *with_cot = (
                enriched.semantic(query, RequestVectors(vector, moment)) for vector in embedder.embed(texts)
            )
            lexical = enriched.bm25(query, query.text)
            fused = [row for row, _ in reciprocal_rank_fusion([lexical, plain])]
            for title, ranking in zip(titles, (lexical, plain, fused, *with_cot), strict=True):
                rows[title][name] = enriched.ids(ranking)
        if progress:
            progress(number, len(personas))
    return dict(rows)
