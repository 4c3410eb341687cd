"""Vectors of the personas by an embedder that was not trained on them: it needs no folds of its own.

The request classifier is trained on the personas, so it has a fold each: a persona's requests are classified
by one that has not seen them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from contextune.context.build_scene import RequestVectors
from contextune.context.signals.request_classifier import RequestClassifier
from contextune.datasets import Persona, Query, bundled_pairs, training_pairs
from contextune.embed import Embedder, Matrix, embed_items
from contextune.store import Store
from contextune.tools import bundled_toolbox
from contextune.tools.tool_text import tool_text
from contextune.types import Progress, User
from contextune.types.app_schema import APPS
from contextune_lab.train.embedder.data import (
    content_texts,
    embed_persona,
    habits,
    situation_text,
)
from contextune_lab.train.embedder.fold_vectors import PersonaSplit

_CHUNK = 128
_OWNER = "training texts"
Labels = tuple[str, Sequence[str]]
"""The kind of a request, and the applications of its items."""


class TextVectors:
    """Embeds each text once; with a store, also across runs."""

    def __init__(self, embedder: Embedder, store: Store | None = None) -> None:
        self._embedder, self._store = embedder, store
        self._vectors: dict[str, Matrix] = {}
        if store is not None and _OWNER not in store.users():
            store.put_user(User(_OWNER))

    @property
    def name(self) -> str:
        """The name of the embedder."""
        return self._embedder.name

    @property
    def scripts(self) -> frozenset[str] | None:
        """The scripts that the embedder can read, if it tells."""
        return getattr(self._embedder, "scripts", None)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Matrix:
        """One unit vector per text."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if self._store is not None and missing:
            rows = embed_items(
                missing, embedder=self._embedder, store=self._store, user=_OWNER, progress=progress
            )
            self._vectors.update(zip(missing, rows, strict=True))
        else:
            for start in range(0, len(missing), _CHUNK):
                chunk = missing[start : start + _CHUNK]
                self._vectors.update(zip(chunk, self._embedder.embed(chunk), strict=True))
                if progress:
                    progress(start + len(chunk), len(missing))
        return np.stack([self._vectors[text] for text in texts]) if texts else np.empty((0, 0), np.float32)


@dataclass(frozen=True, eq=False)
class EmbeddedPersonas(PersonaSplit):
    """`PersonaVectors` of one embedder."""

    texts: TextVectors
    requests: Mapping[str, Sequence[Query]] = field(default_factory=dict[str, Sequence[Query]])
    """The training requests by persona; without them, there are only the personas' own."""

    def embed_all(self, progress: Progress | None = None) -> None:
        """Embed all texts of the personas, short ones first: texts of one batch are about as long."""
        texts = {text for persona in self.all_personas for text in _texts(persona)}
        texts |= {text for _, query in self._queries for text in (query.text, situation_text(query))}
        texts |= {*_tool_texts(), *(pair.query for pair in (*bundled_pairs(), *training_pairs()))}
        self.texts.embed(sorted(texts, key=lambda text: (len(text), text)), progress=progress)

    @cached_property
    def classifier(self) -> RequestClassifier:
        """The request classifier, fitted on all requests."""
        return self._fit(None)

    def __iter__(self) -> Iterator[tuple[Persona, dict[str, Matrix]]]:
        """Each persona with the parts that `FoldVectors` has, but those for a chain of thought."""
        return iter(self._parts)

    @cached_property
    def _parts(self) -> list[tuple[Persona, dict[str, Matrix]]]:
        classifiers = {fold: self._fit(fold) for fold in sorted(set(self.fold.values()))}
        tools = self.texts.embed(_tool_texts())
        parts: list[tuple[Persona, dict[str, Matrix]]] = []
        for persona in self.all_personas:
            items, contents = embed_persona(persona, self.texts)
            classifier = classifiers[self.fold[persona.id]]
            own = self._request_parts(persona.queries, classifier)
            more = self._request_parts(self.requests.get(persona.id, ()), classifier)
            rows = {"items": items, "contents": contents, "tools": tools, **own}
            parts.append((persona, rows | {f"more_{name}": matrix for name, matrix in more.items()}))
        return parts

    def _request_parts(self, queries: Sequence[Query], classifier: RequestClassifier) -> dict[str, Matrix]:
        vectors = self._request_vectors(queries)
        classes = [classifier.classify(each.situated, each.text) for each in vectors]
        return {
            "bare": np.array([each.text for each in vectors], np.float32),
            "around": np.array([each.moment for each in vectors], np.float32),
            "kinds": np.array([list(each.kinds.values()) for each in classes], np.float32),
            "apps": np.array([list(each.apps.values()) for each in classes], np.float32),
        }

    def _request_vectors(self, queries: Sequence[Query]) -> list[RequestVectors]:
        said = self.texts.embed([query.text for query in queries])
        around = self.texts.embed([situation_text(query) for query in queries])
        return [RequestVectors(*pair) for pair in zip(said, around, strict=True)]

    @property
    def _queries(self) -> list[tuple[Persona, Query]]:
        return [
            (persona, query)
            for persona in self.all_personas
            for query in (*persona.queries, *self.requests.get(persona.id, ()))
        ]

    @cached_property
    def _labelled(self) -> tuple[Matrix, list[Labels], np.ndarray]:
        """Vectors, labels and folds of all requests, and of the pairs, which belong to no fold."""
        queries, pairs = self._queries, [*bundled_pairs(), *training_pairs()]
        situated = [each.situated for each in self._request_vectors([query for _, query in queries])]
        rows = np.vstack([*situated, self.texts.embed([pair.query for pair in pairs])])
        labels: list[Labels] = [(query.gold.kind or "", _apps(persona, query)) for persona, query in queries]
        labels += [(pair.kind, sorted({item.app for item in pair.items})) for pair in pairs]
        folds = [*(self.fold[persona.id] for persona, _ in queries), *[-1] * len(pairs)]
        return rows, labels, np.array(folds)

    def _fit(self, excluded: int | None) -> RequestClassifier:
        rows, labels, folds = self._labelled
        chosen = range(len(rows)) if excluded is None else np.flatnonzero(folds != excluded).tolist()
        kinds, apps = zip(*(labels[n] for n in chosen), strict=True)
        tools = bundled_toolbox()
        return RequestClassifier.fit(
            rows[list(chosen)], kinds, apps, self.texts.embed(_tool_texts()), [tool.app for tool in tools]
        )


def _texts(persona: Persona) -> list[str]:
    return [*content_texts(persona), *(phrase for of_item in habits(persona) for phrase in of_item)]


def _tool_texts() -> list[str]:
    return [tool_text(tool) for tool in bundled_toolbox()]


def _apps(persona: Persona, query: Query) -> list[str]:
    relevant = query.gold.relevant or {}
    return sorted({item.app for item in persona.items if item.id in relevant} & APPS.keys())
