"""ToolIndex: BM25 fields, vectors and names of a catalogue, computed once."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from contextune.embed import Embedder, Matrix
from contextune.errors import MissingExtraError, StoreError
from contextune.search import LexicalIndex, identifier_words, similarities, top
from contextune.search.ann import AnnIndex
from contextune.store import text_digest
from contextune.store.database import Database
from contextune.tools.catalog import Catalog
from contextune.tools.tool_text import FIELDS, MAX_NAME_WORDS, Span, field_tokens, tool_text
from contextune.types import Progress, Tool

ANN_MIN_TOOLS = 20_000
"""From this many tools on, approximate nearest neighbours are faster than comparing every vector."""
_SCORE_ALL_UP_TO = 80
"""In a catalogue of at most this size, every tool is a candidate."""
_BATCH = 256
SAMPLED_TOOLS = 512
"""Tools whose similarities describe the catalogue's: enough for a mean and a deviation."""
MAX_EXAMPLES = 8
"""Per tool, so that a server that lists hundreds does not slow down the rest."""


class FieldScores(Protocol):
    """BM25T over one field of the tools of an index; `LexicalIndex` is one."""

    def __len__(self) -> int:
        """Number of tools that the statistics are of."""
        ...

    def document_frequency(self, word: str) -> int:
        """Number of tools with a word."""
        ...

    def scores(
        self, query: Sequence[str], *, visible: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Score of each tool."""
        ...

    def scores_for(self, query: Sequence[str], documents: NDArray[np.intp]) -> NDArray[np.float64]:
        """Scores of some tools."""
        ...

    def matching_words(self, query: Sequence[str], document: int) -> list[str]:
        """The words of the query that a tool has."""
        ...


class VectorCache(Protocol):
    """Keeps tool vectors, by embedder name and text digest."""

    def vectors(self, model: str, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """The vectors stored for these text digests and this embedder."""
        ...

    def put_vectors(self, model: str, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Store vectors."""
        ...


class MemoryVectorCache:
    """In-process vector cache; it is emptied when it would exceed `max_size` vectors."""

    def __init__(self, max_size: int | None = None) -> None:
        self._max_size = max_size
        self._vectors: dict[tuple[str, bytes], NDArray[np.float32]] = {}

    def vectors(self, model: str, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """The vectors stored for these text digests and this embedder."""
        return {
            digest: self._vectors[model, digest] for digest in digests if (model, digest) in self._vectors
        }

    def put_vectors(self, model: str, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Store vectors; first drop all others if they do not fit."""
        if self._max_size is not None and len(self._vectors) + len(vectors) > self._max_size:
            self._vectors = {}
        self._vectors |= {(model, digest): vector for digest, vector in vectors.items()}


@dataclass(frozen=True, eq=False)
class ToolIndex:
    """A catalogue prepared for search. A tool's position is its index in the catalogue."""

    catalog: Catalog
    vectors: Matrix
    """One row per tool; no columns in a lexical index."""
    fields: Mapping[str, FieldScores]
    """By field name, and "all" for the fields together."""
    names: Mapping[tuple[str, ...], tuple[int, ...]]
    """Words of a name → positions of the tools with that name."""
    name_words: Sequence[tuple[str, ...]]
    """Words of each tool's name, without its application."""
    lengths: NDArray[np.float64]
    """Number of description tokens of each tool."""
    apps: Sequence[str]
    """Distinct applications or servers."""
    app: NDArray[np.int64]
    """Position in `apps` of each tool's application."""
    app_sizes: NDArray[np.float64]
    """Number of tools of each application."""
    app_words: Sequence[frozenset[str]]
    """Words of each application's name."""
    ann: AnnIndex | None = None
    """Approximate nearest neighbours, for large catalogues."""
    examples: Matrix | None = None
    """Vectors of the tools' example requests, if there are any."""
    example_of: NDArray[np.int64] | None = None
    """Position of the tool of each example."""

    @classmethod
    def build(
        cls,
        catalog: Catalog,
        embedder: Embedder,
        *,
        vector_cache: VectorCache | None = None,
        progress: Progress | None = None,
        searched: Sequence[Tool] | None = None,
    ) -> "ToolIndex":
        """Index a catalogue; only texts that are not in `vector_cache` are embedded.

        `searched` are the tools with the texts to search, if these are not their own.
        """
        texts = [tool_text(tool) for tool in searched or catalog]
        vectors = embed_texts(texts, embedder, vector_cache, progress)
        index = cls.from_vectors(catalog, vectors, searched)
        examples = [
            (position, text)
            for position, tool in enumerate(searched or catalog)
            for text in tool.examples[:MAX_EXAMPLES]
        ]
        if examples:
            index = replace(
                index,
                examples=embed_texts([text for _, text in examples], embedder, vector_cache, None),
                example_of=np.array([position for position, _ in examples], np.int64),
            )
        if len(catalog) < ANN_MIN_TOOLS:
            return index
        return replace(index, ann=_load_or_build_ann(vectors, vector_cache))

    @classmethod
    def lexical(cls, catalog: Catalog, searched: Sequence[Tool] | None = None) -> "ToolIndex":
        """Index a catalogue for BM25 alone: nothing is embedded."""
        return cls.from_vectors(catalog, np.empty((len(catalog), 0), np.float32), searched)

    @classmethod
    def from_vectors(
        cls, catalog: Catalog, vectors: Matrix, searched: Sequence[Tool] | None = None
    ) -> "ToolIndex":
        """Index a catalogue that is embedded already, one row per tool; `searched` as in `build`."""
        tokens = [field_tokens(tool) for tool in searched or catalog]
        lexical: dict[str, FieldScores] = {
            name: LexicalIndex([fields[name] for fields in tokens]) for name in FIELDS
        }
        lexical["all"] = LexicalIndex(
            [[word for name in FIELDS for word in fields[name]] for fields in tokens]
        )
        name_words = [tuple(identifier_words(tool.name)) for tool in catalog]
        names: dict[tuple[str, ...], list[int]] = {}
        for position, name in enumerate(name_words):
            if name:
                names.setdefault(name[:MAX_NAME_WORDS], []).append(position)
        app_numbers = {app: n for n, app in enumerate(dict.fromkeys(tool.app for tool in catalog))}
        app = np.array([app_numbers[tool.app] for tool in catalog], np.int64)
        return cls(
            catalog,
            vectors,
            lexical,
            {name: tuple(positions) for name, positions in names.items()},
            name_words=name_words,
            lengths=np.array([len(fields["description"]) for fields in tokens], np.float64),
            apps=list(app_numbers),
            app=app,
            app_sizes=np.bincount(app, minlength=len(app_numbers)).astype(np.float64),
            app_words=[frozenset(identifier_words(app)) for app in app_numbers],
        )

    @property
    def size(self) -> int:
        """The number of tools in the catalogue."""
        return len(self.catalog)

    def all_positions(self) -> NDArray[np.intp] | None:
        """Every position, if there are so few tools that each is a candidate for every request."""
        return np.arange(len(self.catalog)) if len(self.catalog) <= _SCORE_ALL_UP_TO else None

    def visible(self, tool_filter: Callable[[Tool], bool] | None) -> NDArray[np.bool_]:
        """Which tools a search may return."""
        if tool_filter is None:
            return np.ones(len(self.catalog), bool)
        return np.fromiter(map(tool_filter, self.catalog), bool, len(self.catalog))

    def positions(self, ids: Sequence[str]) -> dict[str, int]:
        """Positions of the tools with these ids; unknown ids are left out."""
        return {name: self._positions[name] for name in ids if name in self._positions}

    @cached_property
    def _positions(self) -> Mapping[str, int]:
        return {tool.id: position for position, tool in enumerate(self.catalog)}

    def nearest(self, vector: Matrix, k: int, visible: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
        """Positions of the `k` visible tools most similar to a vector, best first; approximate with `ann`."""
        if self.ann and (visible is None or visible.all()):
            return self.ann.nearest(vector, k)
        return top(similarities(vector, self.vectors), k, visible=visible)

    def best_by_words(
        self, tokens: Sequence[str], k: int, visible: NDArray[np.bool_] | None = None
    ) -> NDArray[np.intp]:
        """Positions of the `k` visible tools that score best by BM25T, best first."""
        return top(self.fields["all"].scores(tokens), k, visible=visible)

    def best_by_examples(
        self, vector: Matrix, k: int, visible: NDArray[np.bool_] | None = None
    ) -> NDArray[np.intp]:
        """Positions of the `k` visible tools with the nearest examples, best first."""
        examples = self.example_similarities(vector)
        if examples is None:
            return np.empty(0, np.intp)
        has_example = examples > -1
        return top(examples, k, visible=has_example if visible is None else has_example & visible)

    def nearest_of_apps(
        self, vector: Matrix, apps: Collection[str], k: int, visible: NDArray[np.bool_] | None = None
    ) -> NDArray[np.intp]:
        """Positions of the `k` visible tools of these applications that are most similar, best first."""
        numbers = [number for number, app in enumerate(self.apps) if app in apps]
        in_apps = np.isin(self.app, numbers)
        tools = np.flatnonzero(in_apps if visible is None else in_apps & visible)
        return tools[top(similarities(vector, self.vectors[tools]), k)]

    def similarity_spread(self, vector: Matrix) -> tuple[float, float]:
        """Mean and standard deviation of a vector's similarity to the catalogue's tools, from a sample.

        How near the nearest tool is means little by itself: requests and catalogues differ in style.
        """
        step = max(1, len(self.vectors) // SAMPLED_TOOLS)
        sample = similarities(vector, self.vectors[::step])
        return float(sample.mean()), float(sample.std()) + 0.02  # a catalogue of few, similar tools

    def example_similarities(self, vector: Matrix) -> NDArray[np.float64] | None:
        """Similarity of a vector to each tool's nearest example, -1 without one; None if no tool has any."""
        if self.examples is None or self.example_of is None:
            return None
        best = np.full(len(self.catalog), -1.0)
        np.maximum.at(best, self.example_of, similarities(vector, self.examples))
        return best

    def find_named(self, spans: Iterable[Span]) -> list[int]:
        """Positions of the tools whose name is one of these spans, longest name first."""
        lengths: dict[int, int] = {}
        for span in spans:
            for position in self.names.get(span, ()):
                lengths[position] = max(len(span), lengths.get(position, 0))
        return sorted(lengths, key=lambda position: (-lengths[position], position))

    def name(self, position: int) -> Span:
        """The words of a tool's name that are looked for in a request."""
        return self.name_words[position][:MAX_NAME_WORDS]


def _load_or_build_ann(vectors: Matrix, cache: VectorCache | None) -> AnnIndex | None:
    """Load the index saved next to the cache file, or build and save it; None if usearch is not installed."""
    file = Path(f"{cache.path}.graph") if isinstance(cache, Database) else None
    try:
        if file:
            try:
                return AnnIndex.load(file, vectors)
            except StoreError:
                pass  # not saved yet, or for other tools
        ann = AnnIndex.build(vectors)
    except MissingExtraError:
        return None
    if file:
        ann.save(file)
    return ann


def embed_texts(
    texts: Sequence[str], embedder: Embedder, cache: VectorCache | None, progress: Progress | None
) -> Matrix:
    """One row per text; only texts that are not in the cache are embedded."""
    digests = [text_digest(text) for text in texts]
    vectors = cache.vectors(embedder.name, digests) if cache else {}
    new = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in vectors}
    pending = sorted(new, key=lambda digest: len(new[digest]))  # similar lengths need less padding
    for start in range(0, len(pending), _BATCH):
        digests_in_batch = pending[start : start + _BATCH]
        rows = embedder.embed([new[digest] for digest in digests_in_batch])
        batch = dict(zip(digests_in_batch, rows, strict=True))
        vectors |= batch
        if cache:
            cache.put_vectors(embedder.name, batch)
        if progress:
            progress(start + len(batch), len(pending))
    return np.stack([vectors[digest] for digest in digests]) if texts else embedder.embed([])
