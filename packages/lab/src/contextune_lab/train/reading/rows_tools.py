"""Rows of tools: a request with its first items beside tools of one catalogue, and beside "no tool"."""

# arrays and tensors of untyped libraries
# pyright: basic, reportArgumentType=false, reportDeprecated=false

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

import numpy as np

from contextune.embed import CachedEmbedder, Embedder, Matrix, default_embedder
from contextune.reading.texts import NO_TOOL, tool_text
from contextune.search import tokenize
from contextune.search.tokenize import identifier_words
from contextune.tools import bundled_toolbox
from contextune.types import Item, Tool
from contextune_lab.train.reading.catalogues import TrainingCatalogue, read_catalogues
from contextune_lab.train.reading.rows import ListRow, RowRequest
from contextune_lab.train.reading.sources import RequestSource
from contextune_lab.worlds.world import WorldCall

BUNDLED = "bundled"
_NEAREST, _BY_WORDS, _BY_KIND = 8, 3, 2
"""Tools of each list of hard negatives: by meaning, by words, for each kind of the first items."""
_HARD, _RANDOM, _NEGATIVES, _POSITIVES = 9, 2, 10, 3
_WITHDRAWN = 0.1
"""Share of the rows without the tools that serve: nothing does, then."""
_BUNDLED_SHARE = 0.3
"""Share of the personas' requests that are asked with the bundled names."""
_OTHER_CATALOGUES = 2


@dataclass(frozen=True, eq=False)
class EmbeddedTools:
    """The tools of a catalogue with their texts and vectors, to find those that are easily mistaken."""

    name: str
    tools: Sequence[Tool]
    embedder: Embedder

    @cached_property
    def by_id(self) -> Mapping[str, Tool]:
        """The tools by id."""
        return {tool.id: tool for tool in self.tools}

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The texts that the model reads, by id."""
        return {tool.id: tool_text(tool) for tool in self.tools}

    @cached_property
    def _vectors(self) -> Matrix:
        return self.embedder.embed(list(self.texts.values()))

    @cached_property
    def _words(self) -> list[frozenset[str]]:
        return [
            frozenset(tokenize(f"{' '.join(identifier_words(tool.name))} {tool.description}"))
            for tool in self.tools
        ]

    def nearest(self, text: str, count: int) -> list[str]:
        """The ids of the tools nearest in meaning."""
        return self._best(self._vectors @ self.embedder.embed([text])[0], count)

    def hard(self, text: str, items: Iterable[Item] = ()) -> list[str]:
        """The ids of tools that may be mistaken for the right one: by meaning, words, and kind of item."""
        meaning = self._vectors @ self.embedder.embed([text])[0]
        said = frozenset(tokenize(text))
        shared = [len(said & words) / (3 + len(words)) for words in self._words]
        ids = [*self._best(meaning, _NEAREST), *self._best(np.array(shared, np.float32), _BY_WORDS)]
        for noun in dict.fromkeys(item.schema.noun for item in items):
            kind = self._vectors @ self.embedder.embed([f"open and read one {noun}, find {noun}s"])[0]
            ids += self._best(kind + 0.5 * meaning, _BY_KIND)
        return list(dict.fromkeys(ids))

    def _best(self, scores: Matrix, count: int) -> list[str]:
        return [self.tools[number].id for number in np.argsort(-scores, kind="stable")[:count].tolist()]


@dataclass(frozen=True, eq=False)
class CatalogueVariant:
    """A catalogue that a request is asked with, and its right calls in the terms of the catalogue."""

    tools: EmbeddedTools
    calls: Sequence[WorldCall]
    also_right: frozenset[str]
    asks_for: str | None = None
    is_renamed: bool = False


class ToolRows:
    """Makes the rows of tools."""

    def __init__(self, draw: Random, embedder: Embedder | None = None) -> None:
        self._draw = draw
        self._embedder = CachedEmbedder(embedder or default_embedder())
        self._catalogues = read_catalogues()
        self._embedded: dict[str, EmbeddedTools] = {}

    def embedded(self, name: str, tools: Sequence[Tool]) -> EmbeddedTools:
        """The tools of a catalogue, embedded once."""
        if name not in self._embedded:
            self._embedded[name] = EmbeddedTools(name, tools, self._embedder)
        return self._embedded[name]

    @property
    def bundled(self) -> EmbeddedTools:
        """The bundled toolbox."""
        return self.embedded(BUNDLED, bundled_toolbox())

    def drawn(self) -> TrainingCatalogue:
        """One of the catalogues."""
        return self._catalogues[self._draw.choice(sorted(self._catalogues))]

    def variants(self, source: RequestSource, request: RowRequest) -> Iterator[CatalogueVariant]:
        """The catalogues that a request is asked with: its own, or the bundled one and others."""
        labels = request.labels
        if source.has_own_tools:
            own = self.embedded(source.name, source.tools)
            yield CatalogueVariant(own, labels.calls, labels.also_right, labels.asks_for)
            return
        bundled = CatalogueVariant(self.bundled, labels.calls, labels.also_right, labels.asks_for)
        if source.is_persona:
            renamed = None if self._draw.random() < _BUNDLED_SHARE else self._renamed(request, self.drawn())
            yield renamed or bundled
            return
        yield bundled
        if labels.calls:
            for name in self._draw.sample(sorted(self._catalogues), _OTHER_CATALOGUES):
                if renamed := self._renamed(request, self._catalogues[name]):
                    yield renamed

    def _renamed(self, request: RowRequest, catalogue: TrainingCatalogue) -> CatalogueVariant | None:
        """The right calls in another catalogue; None if its first tool is there, but not that call."""
        labels = request.labels
        calls = [catalogue.translate(call) for call in labels.calls]
        if calls[0] is None and (any(calls) or catalogue.counterpart(labels.calls[0].tool)):
            return None
        others = (catalogue.counterpart(tool) for tool in labels.also_right)
        return CatalogueVariant(
            self.embedded(catalogue.name, catalogue.tools),
            [call for call in calls if call],
            frozenset(filter(None, others)),
            is_renamed=True,
        )

    def row(self, request: RowRequest, variant: CatalogueVariant) -> tuple[ListRow, list[str]]:
        """The row of a request, and tools that may be mistaken for the right one."""
        tools, labels = variant.tools, request.labels
        served = frozenset(call.tool for call in variant.calls if call.tool in tools.by_id)
        right = served | ({variant.asks_for} if variant.asks_for else frozenset())
        others = [tool for tool in tools.hard(request.request.text, request.best[:2]) if tool not in right]
        chosen = sorted(right)[:_POSITIVES]
        if served and self._draw.random() < _WITHDRAWN:
            chosen = []
            others = [tool for tool in others if tool not in variant.also_right]
        row = self.list_row(
            labels.id, request.source, request.text_with_items(), tools, chosen, others, excluded=right
        )
        return row, others

    def list_row(
        self,
        name: str,
        source: str,
        text: str,
        tools: EmbeddedTools,
        right: Sequence[str],
        others: Sequence[str],
        *,
        excluded: frozenset[str],
    ) -> ListRow:
        """A row with "no tool", the right tools, the first of the others, and random ones."""
        ids = list(tools.by_id)
        drawn = self._draw.sample(ids, min(len(ids), _RANDOM))
        wrong = [tool for tool in dict.fromkeys([*others[:_HARD], *drawn]) if tool not in excluded]
        shown = [*right, *wrong[:_NEGATIVES]]
        grades = [int(not right), *(int(tool in right) for tool in shown)]
        return ListRow(name, source, text, [NO_TOOL, *(tools.texts[tool] for tool in shown)], grades)
