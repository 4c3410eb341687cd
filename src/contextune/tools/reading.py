"""Order tools by reading the request, with its best items, beside each of them.

The tools that are read come from several lists: those that the search ranks first, those nearest in meaning,
and those that read or change the kind of item that was found, whatever they are called: a question about a
mail needs the tool that opens mails.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from contextune._internal.assets import model_folder
from contextune.embed import Matrix
from contextune.rank import Ranker
from contextune.reading.model import ReadingModel, default_reading_model
from contextune.reading.texts import NO_TOOL, Names, brief_item_text, request_text, tool_text
from contextune.search import top
from contextune.time_phrases import parse_time_phrases
from contextune.tools.filter import ToolFilter
from contextune.tools.index import ToolIndex
from contextune.tools.matches import ToolMatches
from contextune.tools.profiles.profile import PROFILE_FEATURES, profile_row
from contextune.types import Item, Request, Tool, ToolHit, User, local_time

if TYPE_CHECKING:
    from contextune.tools.retriever import ToolRetriever

READ_TOOLS = 12
"""Tools that are read at most."""
READ_FIRST = 10
"""Tools that are read for a text without a user."""
_ANY_MOMENT = datetime(2024, 5, 15, 10)
"""The time that is read with a text without a user: the same text always gives the same order."""
_SEARCHED, _MEANING, _KIND = 8, 3, 3
"""Tools of each list: of the search, by meaning, and for each of the two kinds of items found first."""
_SERVED_IN_TRAINING, _SERVED = 0.94, 0.86
"""Share of the requests that a tool serves: in the training data, and as it is assumed. People who know their
assistant ask little that it cannot do, but a new catalogue is asked anything."""
_ITEMS = 3
"""Items that are read with the request."""
_TIMED = 600
"""Characters of a request in which times are looked for."""
TOOL_FEATURES: tuple[str, ...] = (
    *("read", "read lead", "read rank", "read share", "read over none", "searched rank", "searched lead"),
    *("meaning", "meaning rank", "kind", "kind rank", "item", "item rank", "name words", "catalogue"),
    *PROFILE_FEATURES,
    *("question", "order", "time said", "number said", "request words", "item share", "first of server"),
)
"""What the ranker of tools reads, a row per tool."""
FIT_FEATURES: tuple[str, ...] = (
    *("best over none", "second over none", "none share", "mean read", "lead", "fits", "best meaning"),
    *("best kind", "catalogue", "length", "history", "question", "order", "item share"),
)
_QUESTION, _ORDER = "what, when, where, who, how much: a question about a fact", "do this now: an order"
"""Texts that requests are compared with by meaning."""
"""What says whether any tool serves, a row per request."""
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ToolReadingRankers:
    """The ranker of tools that were read, and the probability that any serves."""

    tools: Ranker
    fits: Ranker

    @classmethod
    def load(cls, folder: Path) -> "ToolReadingRankers":
        """Read the rankers from a folder."""
        return cls(
            Ranker.load(folder / "tools.json.gz", TOOL_FEATURES),
            Ranker.load(folder / "fits.json.gz", FIT_FEATURES),
        )


@cache
def default_tool_reading_rankers() -> ToolReadingRankers:
    """The bundled rankers, loaded once."""
    return ToolReadingRankers.load(model_folder("reading_tools"))


@dataclass(frozen=True, eq=False)
class ReadTools:
    """The tools that were read and their features; `matrix` has a row for each, `fit` is one row."""

    hits: Sequence[ToolHit]
    matrix: Floats
    fit: Floats


def read_request_tools(
    retriever: "ToolRetriever",
    matches: ToolMatches,
    request: Request,
    user: User,
    place: str | None,
    items: Sequence[Item],
    item_vectors: Matrix,
    model: ReadingModel | None = None,
    *,
    item_share: float | None = None,
    visible: ToolFilter | None = None,
) -> ReadTools:
    """Read the request beside the candidates of a catalogue.

    `item_share` is the probability that the request needs the first item; `visible` says which tools may be
    found.
    """
    now = local_time(request.time, user.zone).replace(second=0, microsecond=0)
    names = Names(user)
    text = request_text(request, now, place)
    text += "".join(
        f" || {number} {brief_item_text(item, now, user, names)}"
        for number, item in enumerate(items[:_ITEMS], 1)
    )
    hits = list(matches.hits)
    similar = _Similarities.build(retriever, request.text, items, item_vectors, visible)
    chosen = _candidates(retriever, hits, similar)
    scores = (model or default_reading_model()).score_tools(
        text, [NO_TOOL, *(tool_text(retriever.as_searched(hit.tool)) for hit in chosen)]
    )
    share = np.nan if item_share is None else item_share
    profiles = [profile_row(retriever.as_searched(hit.tool)) for hit in chosen]
    matrix = _tool_matrix(request, hits, chosen, profiles, similar, scores, len(retriever.catalog), share)
    fit = _fit_row(request, matches, similar, scores, len(retriever.catalog), share)
    return ReadTools(chosen, matrix, fit)


def reorder(matches: ToolMatches, read: ReadTools, rankers: ToolReadingRankers | None = None) -> ToolMatches:
    """The matches with the tools that were read first, in their new order, and the new probability."""
    if not read.hits:
        return matches
    rankers = rankers or default_tool_reading_rankers()
    fits = with_share(float(rankers.fits.score(read.fit)[0]))
    return replace(_in_order(matches, read.hits, rankers.tools.score(read.matrix)), fits=fits)


def read_first(
    matches: ToolMatches,
    text: str,
    as_searched: Callable[[Tool], Tool],
    model: ReadingModel | None = None,
) -> ToolMatches:
    """The first matches by the search and by the reading model, which count the same, then the others.

    For a text without a user: the probability that any fits remains that of the search, which is the better
    one there.
    """
    first = matches.hits[:READ_FIRST]
    if len(first) < 2:  # nothing to reorder
        return matches
    request = request_text(Request(text, "anybody", _ANY_MOMENT), _ANY_MOMENT)
    texts = [tool_text(as_searched(hit.tool)) for hit in first]
    read = (model or default_reading_model()).score_tools(request, texts)
    searched = np.array([hit.score for hit in first], np.float32)
    return _in_order(matches, first, _standardized(searched) + _standardized(read))


def _standardized(values: Floats) -> Floats:
    return (values - values.mean()) / (values.std() + np.float32(1e-6))


def _in_order(
    matches: ToolMatches, hits: Sequence[ToolHit], scores: NDArray[np.floating[Any]]
) -> ToolMatches:
    """The matches with these hits first, by their scores."""
    order: list[int] = np.argsort(-scores, kind="stable").tolist()
    # tools that the request names stay first, whatever the model thinks of them
    named = {tool: float(scores.max()) for tool in matches.named}
    places = {tool: place for place, tool in enumerate(named)}
    order.sort(key=lambda number: places.get(hits[number].tool.id, len(places)))
    first = [replace(hits[n], score=named.get(hits[n].tool.id, float(scores[n]))) for n in order]
    known = {hit.tool.id for hit in first}
    lowest = first[-1].score
    rest = [
        replace(hit, score=lowest - 1 - n) for n, hit in enumerate(matches.hits) if hit.tool.id not in known
    ]
    return replace(matches, hits=(*first, *rest))


def with_share(probability: float) -> float:
    """The probability that a tool serves where more requests have none than in the training data."""
    odds = probability / max(1 - probability, 1e-6)
    odds *= (_SERVED / (1 - _SERVED)) / (_SERVED_IN_TRAINING / (1 - _SERVED_IN_TRAINING))
    return odds / (1 + odds)


@dataclass(frozen=True, eq=False)
class _Similarities:
    """How near each tool of the catalogue is to the request, to the kinds of its items, and to the items."""

    by_id: dict[str, int]
    visible: NDArray[np.bool_]
    """Which tools may be found."""
    meaning: Floats
    kinds: Sequence[Floats]
    item: Floats
    question: float
    """How near the request is in meaning to a question."""
    order: float

    @classmethod
    def build(
        cls,
        retriever: "ToolRetriever",
        text: str,
        items: Sequence[Item],
        item_vectors: Matrix,
        visible: ToolFilter | None,
    ) -> "_Similarities | None":
        """None for a catalogue that is not in memory or has no vectors."""
        index = retriever.index
        if not isinstance(index, ToolIndex) or index.vectors.size == 0:
            return None
        nouns = list(dict.fromkeys(item.schema.noun for item in items[:2]))
        vectors = retriever.embedder.embed(
            [text, _QUESTION, _ORDER, *(f"open and read one {noun}, find {noun}s" for noun in nouns)]
        )
        meaning = (index.vectors @ vectors[0]).astype(np.float32)
        kinds = [(index.vectors @ vector + 0.5 * meaning).astype(np.float32) for vector in vectors[3:]]
        near = item_vectors[:_ITEMS]
        item = (index.vectors @ near.T).max(1) if near.size else np.zeros(len(meaning), np.float32)
        by_id = {tool.id: number for number, tool in enumerate(index.catalog)}
        question, order = (float(vectors[0] @ vector) for vector in vectors[1:3])
        return cls(by_id, index.visible(visible), meaning, kinds, item.astype(np.float32), question, order)

    def best(self, values: Floats, count: int) -> list[int]:
        """The numbers of the visible tools with the highest values."""
        return top(values, count, visible=self.visible).tolist()


def _candidates(
    retriever: "ToolRetriever", hits: Sequence[ToolHit], similar: _Similarities | None
) -> list[ToolHit]:
    if similar is None:
        return list(hits[:READ_TOOLS])
    by_id = {hit.tool.id: hit for hit in hits}
    numbers: list[int] = [similar.by_id[hit.tool.id] for hit in hits[:_SEARCHED]]
    for kind in similar.kinds:
        numbers += similar.best(kind, _KIND)
    numbers += similar.best(similar.meaning, _MEANING)
    distinct = list(dict.fromkeys(numbers))[:READ_TOOLS]
    tools: list[Tool] = list(retriever.catalog)
    return [by_id.get(tools[number].id) or ToolHit(tools[number], 0.0) for number in distinct]


def _tool_matrix(
    request: Request,
    hits: Sequence[ToolHit],
    chosen: Sequence[ToolHit],
    profiles: Sequence[Sequence[float]],
    similar: _Similarities | None,
    scores: Floats,
    size: int,
    share: float,
) -> Floats:
    ranks = {hit.tool.id: rank for rank, hit in enumerate(hits)}
    best = max((hit.score for hit in hits), default=0.0)
    none, read = float(scores[0]), scores[1:]
    shares = np.exp(read - read.max(initial=-99.0))
    said = frozenset(request.text.casefold().split())
    of_request = [
        similar.question if similar else np.nan,
        similar.order if similar else np.nan,
        float(bool(parse_time_phrases(request.text[:_TIMED], request.time))),
        float(any(char.isdigit() for char in request.text)),
        float(len(request.text.split())),
        share,
    ]
    best_of_server: dict[str, int] = {}
    for number in np.argsort(-read, kind="stable").tolist():
        best_of_server.setdefault(chosen[number].tool.app, number)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    rows: list[list[float]] = []
    for number, hit in enumerate(chosen):
        rank = ranks.get(hit.tool.id)
        at = similar.by_id[hit.tool.id] if similar else None
        rows.append(
            [
                float(read[number]),
                float(read[number] - read.max()),
                float((read > read[number]).sum()),
                float(shares[number] / shares.sum()),
                float(read[number]) - none,
                float(rank) if rank is not None else 30.0,
                hit.score - best if rank is not None else np.nan,
                *_standing(similar.meaning if similar else None, at),
                *_standing(np.max(similar.kinds, 0) if similar and similar.kinds else None, at),
                *_standing(similar.item if similar else None, at),
                float(len(said & frozenset(hit.tool.name.casefold().replace("-", "_").split("_")))),
                float(np.log1p(size)),
                *profiles[number],
                *of_request,
                float(best_of_server[hit.tool.app] == number),
            ]
        )
    return np.array(rows, np.float32).reshape(len(rows), len(TOOL_FEATURES))


def _standing(values: Floats | None, at: int | None) -> tuple[float, float]:
    """A value in standard deviations above the catalogue's mean, and its rank."""
    if values is None or at is None:
        return np.nan, np.nan
    return float((values[at] - values.mean()) / (values.std() + 1e-6)), float((values > values[at]).sum())


def _fit_row(
    request: Request,
    matches: ToolMatches,
    similar: _Similarities | None,
    scores: Floats,
    size: int,
    share: float,
) -> Floats:
    none, read = float(scores[0]), np.sort(scores[1:])[::-1]
    best, second = (float(read[n]) if len(read) > n else -9.0 for n in (0, 1))
    shares = np.exp(scores - scores.max())
    meaning = similar.meaning if similar else None
    kind = np.max(similar.kinds, 0) if similar and similar.kinds else None
    row = [
        best - none,
        second - none,
        float(shares[0] / shares.sum()),
        float(read.mean()) - none if len(read) else np.nan,
        best - second,
        np.nan if matches.fits is None else matches.fits,
        float((meaning.max() - meaning.mean()) / (meaning.std() + 1e-6)) if meaning is not None else np.nan,
        float((kind.max() - kind.mean()) / (kind.std() + 1e-6)) if kind is not None else np.nan,
        float(np.log1p(size)),
        float(len(request.text.split())),
        float(bool(request.history)),
        similar.question if similar else np.nan,
        similar.order if similar else np.nan,
        share,
    ]
    return np.array([row], np.float32)
