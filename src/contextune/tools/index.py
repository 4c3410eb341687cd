"""What is worked out once for a catalogue: words by field, vectors, and names to recognise."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from contextune.tools.tool_text import FIELDS, LONGEST_NAME, Span, field_words, tool_text
from contextune.types import Progress

MANY = 20_000
"""From so many tools on, looking at nearly all of the nearest takes less time than looking at all tools."""
_BATCH = 256
_EXAMPLES = 8
"""Of one tool, at most so many: a server that lists hundreds shall not hold up the rest."""


class VectorCache(Protocol):
    """Where vectors of tools are kept from one run to the next."""

    def vectors(self, model: str, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Those kept for these text digests under this model."""
        ...

    def put_vectors(self, model: str, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Keep vectors."""
        ...


class MemoryVectorCache:
    """A shelf for as long as the program runs; with more than `most` vectors it begins anew."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._kept: dict[tuple[str, bytes], NDArray[np.float32]] = {}

    def vectors(self, model: str, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Those kept for these text digests under this model."""
        return {digest: self._kept[model, digest] for digest in digests if (model, digest) in self._kept}

    def put_vectors(self, model: str, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Keep vectors, if need be instead of all others."""
        if self._most is not None and len(self._kept) + len(vectors) > self._most:
            self._kept = {}
        self._kept |= {(model, digest): vector for digest, vector in vectors.items()}


@dataclass(frozen=True, eq=False)
class ToolIndex:
    """A catalogue, ready to be searched."""

    catalog: Catalog
    vectors: Matrix
    fields: Mapping[str, LexicalIndex]
    """By field, and "all" for the fields together."""
    names: Mapping[tuple[str, ...], tuple[int, ...]]
    """The words of a name → the tools called so."""
    name_words: Sequence[tuple[str, ...]]
    """Of each tool, without those of its application."""
    lengths: NDArray[np.float64]
    """How many words describe each tool."""
    apps: Sequence[str]
    """Applications or servers, each once."""
    app: NDArray[np.int64]
    """Of each tool, by number."""
    app_sizes: NDArray[np.float64]
    """How many tools each application has."""
    app_words: Sequence[frozenset[str]]
    """Of each application's name."""
    graph: AnnIndex | None = None
    """Finds the nearest of very many."""
    examples: Matrix | None = None
    """Vectors of the requests that tools say they serve, if any do."""
    example_of: NDArray[np.int64] | None = None
    """The place of the tool each example is of."""

    @classmethod
    def build(
        cls,
        catalog: Catalog,
        embedder: Embedder,
        *,
        shelf: VectorCache | None = None,
        progress: Progress | None = None,
    ) -> "ToolIndex":
        """Index a catalogue; with a shelf, only tools whose text is new are embedded."""
        vectors = _embedded([tool_text(tool) for tool in catalog], embedder, shelf, progress)
        index = cls.of(catalog, vectors)
        said = [(place, text) for place, tool in enumerate(catalog) for text in tool.examples[:_EXAMPLES]]
        if said:
            rows = _embedded([text for _, text in said], embedder, shelf, None)
            index = replace(index, examples=rows, example_of=np.array([place for place, _ in said], np.int64))
        return replace(index, graph=_graph(vectors, shelf)) if len(catalog) >= MANY else index

    @classmethod
    def of(cls, catalog: Catalog, vectors: Matrix) -> "ToolIndex":
        """Index a catalogue whose vectors there are already, a row a tool."""
        found = [field_words(tool) for tool in catalog]
        lexical = {name: LexicalIndex([fields[name] for fields in found]) for name in FIELDS}
        lexical["all"] = LexicalIndex(
            [[word for name in FIELDS for word in fields[name]] for fields in found]
        )
        spelled = [tuple(identifier_words(tool.name)) for tool in catalog]
        names: dict[tuple[str, ...], list[int]] = {}
        for place, name in enumerate(spelled):
            if name:
                names.setdefault(name[:LONGEST_NAME], []).append(place)
        number = {app: n for n, app in enumerate(dict.fromkeys(tool.app for tool in catalog))}
        app = np.array([number[tool.app] for tool in catalog], np.int64)
        return cls(
            catalog,
            vectors,
            lexical,
            {name: tuple(places) for name, places in names.items()},
            name_words=spelled,
            lengths=np.array([len(fields["description"]) for fields in found], np.float64),
            apps=list(number),
            app=app,
            app_sizes=np.bincount(app, minlength=len(number)).astype(np.float64),
            app_words=[frozenset(identifier_words(app)) for app in number],
        )

    def nearest(self, vector: Matrix, k: int, visible: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
        """The places of the `k` visible tools likest to a vector, best first; of very many, most of these."""
        if self.graph and (visible is None or visible.all()):
            return self.graph.nearest(vector, k)
        return top(similarities(vector, self.vectors), k, visible=visible)

    def by_example(self, vector: Matrix) -> NDArray[np.float64] | None:
        """Of each tool, how like a vector its nearest example is, -1 where it has none; None without any."""
        if self.examples is None or self.example_of is None:
            return None
        best = np.full(len(self.catalog), -1.0)
        np.maximum.at(best, self.example_of, similarities(vector, self.examples))
        return best

    def named(self, spans: Iterable[Span]) -> list[int]:
        """The tools whose whole name is one of these, longest name first."""
        found: dict[int, int] = {}
        for span in spans:
            for place in self.names.get(span, ()):
                found[place] = max(len(span), found.get(place, 0))
        return sorted(found, key=lambda place: (-found[place], place))

    def name(self, place: int) -> Span:
        """What of a tool's name is looked for in a request."""
        return self.name_words[place][:LONGEST_NAME]


def _graph(vectors: Matrix, shelf: VectorCache | None) -> AnnIndex | None:
    """Built once, and kept beside the vectors; without the library for it, all vectors are looked at."""
    file = Path(f"{shelf.path}.graph") if isinstance(shelf, Database) else None
    try:
        if file:
            try:
                return AnnIndex.load(file, vectors)
            except StoreError:
                pass  # there is none yet, or it is of other tools
        graph = AnnIndex.build(vectors)
    except MissingExtraError:
        return None
    if file:
        graph.save(file)
    return graph


def _embedded(
    texts: Sequence[str], embedder: Embedder, shelf: VectorCache | None, progress: Progress | None
) -> Matrix:
    digests = [text_digest(text) for text in texts]
    kept = shelf.vectors(embedder.name, digests) if shelf else {}
    new = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in kept}
    pending = sorted(new, key=lambda digest: len(new[digest]))  # like with like: less padding
    for start in range(0, len(pending), _BATCH):
        part = pending[start : start + _BATCH]
        rows = embedder.embed([new[digest] for digest in part])
        made = dict(zip(part, rows, strict=True))
        kept |= made
        if shelf:
            shelf.put_vectors(embedder.name, made)
        if progress:
            progress(start + len(part), len(pending))
    return np.stack([kept[digest] for digest in digests]) if texts else embedder.embed([])
