"""The untuned methods on the inputs of the tuned rows: enriched item texts, and the request with its moment.

Without these rows, the gain of tuning and the gain of better texts cannot be told apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextune.context.build_scene import RequestVectors
from contextune.context.methods import hybrid_scores, join_applications
from contextune.datasets import Persona, Query
from contextune.embed import Embedder, Matrix
from contextune.evaluate.metrics import Run
from contextune.search import LexicalIndex, similarities, tokenize, top
from contextune.types import Progress
from contextune_lab.train.embedder.data import embed_persona, item_texts, situation_text


@dataclass(frozen=True, eq=False)
class EnrichedPersona:
    """A persona's items by their enriched texts: lexical indexes of each application and of all, vectors."""

    persona: Persona
    apps: Mapping[str, NDArray[np.intp]]
    """Positions of the items of each application."""
    lexical: Mapping[str, LexicalIndex]
    store_lexical: LexicalIndex
    vectors: Matrix

    @classmethod
    def build(cls, persona: Persona, embedder: Embedder) -> "EnrichedPersona":
        """Index and embed the enriched texts."""
        texts = item_texts(persona)
        positions: dict[str, list[int]] = {}
        for position, item in enumerate(persona.items):
            positions.setdefault(item.app, []).append(position)
        apps = {app: np.array(rows, np.intp) for app, rows in sorted(positions.items())}
        tokens = [tokenize(text) for text in texts]
        lexical = {app: LexicalIndex([tokens[n] for n in rows]) for app, rows in positions.items()}
        vectors, _ = embed_persona(persona, embedder)
        return cls(persona, apps, lexical, LexicalIndex(tokens), vectors)

    def bm25(self, query: Query) -> list[tuple[int, float]]:
        """BM25T per application, joined as in `contextune.context.methods.bm25`."""
        visible, words = self._visible(query), _words(query)
        matches = np.zeros(len(visible), np.bool_)
        lists: list[tuple[float, list[int]]] = []
        for app, rows in self.apps.items():
            scores = self.lexical[app].scores(words, visible=visible[rows])
            matches[rows] = scores > 0
            best = top(scores, len(rows), visible=visible[rows])
            lists.append((float(scores.max()), rows[best].tolist()))
        return join_applications(lists, matches)

    def hybrid(self, query: Query, by_words: Sequence[tuple[int, float]], by_meaning: list[int]) -> list[int]:
        """The rankings of `bm25` and `semantic` and BM25T over all items, fused as in the method `hybrid`."""
        visible = self._visible(query)
        over_all = self.store_lexical.scores(_words(query), visible=visible)
        lists = [
            [row for row, score in by_words if score > 0],
            top(over_all, len(visible), visible=over_all > 0).tolist(),
            by_meaning,
        ]
        return top(hybrid_scores(lists, len(visible)), len(visible), visible=visible).tolist()

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


def _words(query: Query) -> list[str]:
    return tokenize(f"{query.text} {situation_text(query)}")


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
            scored = enriched.bm25(query)
            lexical, fused = [row for row, _ in scored], enriched.hybrid(query, scored, plain)
            for title, ranking in zip(titles, (lexical, plain, fused, *with_cot), strict=True):
                rows[title][name] = enriched.ids(ranking)
        if progress:
            progress(number, len(personas))
    return dict(rows)
