"""Arrays to the state of a user; objects are made when they are read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from contextune.context.enriched.items import EmbedContents, EnrichedItems
from contextune.context.enriched.row_vectors import RowVectors
from contextune.context.enriched.vectors import EnrichedVectors
from contextune.context.index import UserIndex, UserState
from contextune.context.mentions import MentionIndex
from contextune.context.searched_text import searched_text
from contextune.context.signals import ItemColumns, UseColumns
from contextune.context.signals.row_list import RowNumbers
from contextune.context.snapshot.encode import LEXICAL_ARRAYS, USE_COLUMNS
from contextune.context.snapshot.lazy_rows import ComputedRows, DigestRows, WordRows
from contextune.context.snapshot.pack import ByteRows, unpack_strings
from contextune.context.snapshot.tables import HabitTable, ItemTable, RowGroups, UsesByItem, UseTable
from contextune.embed import Matrix
from contextune.search import LexicalArrays, LexicalIndex
from contextune.store import StoreRevision
from contextune.store.snapshots import Sections, Snapshot
from contextune.types import User


@dataclass(frozen=True)
class Embedding:
    """How texts are embedded that a state lacks."""

    items: Callable[[Sequence[str]], Matrix]
    contents: EmbedContents


@dataclass(eq=False)
class _SavedMentions:
    """A `MentionLayer` in arrays."""

    by_name: Mapping[str, Sequence[int]]
    by_title: Mapping[str, Sequence[tuple[int, Sequence[str]]]]


def decode_state(snapshot: Snapshot, user: User, revision: StoreRevision, embed: Embedding) -> UserState:
    """The state that `encode_state` encoded, for the same user."""
    sections, metadata = snapshot.sections, snapshot.metadata
    words, ids = unpack_strings(sections, "words"), unpack_strings(sections, "ids")
    names: Mapping[str, list[str]] = metadata["names"]
    items = ItemTable(ids, names["apps"], sections["columns.app"], ByteRows(sections, "fields"))
    size, row_by_id = len(ids), RowNumbers(ids)
    tokens = _word_rows(sections, "tokens", words)
    title_rows = _word_rows(sections, "titles", words)
    titles = ComputedRows(size, lambda row: tuple(title_rows[row]))
    arrays = {
        name.removeprefix("columns."): array
        for name, array in sections.items()
        if name.startswith("columns.")
    }
    columns = ItemColumns.restored(user, items, tokens, row_by_id, titles, arrays, names)
    apps = {app: slice(start, stop) for app, start, stop in metadata["apps"]}
    parts: dict[str, Any] = {
        "items": items,
        "ids": ids,
        "row_by_id": row_by_id,
        "_created": sections["created"].view("datetime64[us]"),
        "texts": ComputedRows(size, lambda row: searched_text(items[row])),
        "tokens": tokens,
        "people": ComputedRows(size, lambda row: items[row].people),
        "apps": apps,
        "lexical": {app: _lexical(sections, f"lexical.{n}", words) for n, app in enumerate(apps)},
        "store_lexical": _lexical(sections, "lexical.all", words),
        "item_columns": columns,
        "mentions": _mentions(sections, words, titles),
    }
    if "vectors" in sections:
        parts["vectors"] = sections["vectors"]
    index = UserIndex.restored(user, embed.items, parts)
    places = unpack_strings(sections, "uses.places")
    used, codes = sections["uses.items"], sections["uses.place_codes"]
    uses = UseTable(ids, used, ByteRows(sections, "uses.times"), places, codes)
    enriched = EnrichedItems.restored(
        user,
        items,
        uses,
        embed.contents,
        embed.items,
        uses_by_item=UsesByItem(uses, used, row_by_id),
        enriched=_vectors(sections),
        columns=UseColumns(*(sections[f"use_columns.{name}"] for name in USE_COLUMNS)),
        item_columns=columns,
    )
    return UserState(revision, index, enriched)


def _word_rows(sections: Sections, name: str, words: Sequence[str]) -> WordRows:
    return WordRows(words, sections[f"{name}.numbers"], sections[f"{name}.ends"])


def _pick(words: Sequence[str], numbers: NDArray[np.int32]) -> list[str]:
    return [words[number] for number in cast("list[int]", numbers.tolist())]


def _lexical(sections: Sections, name: str, words: Sequence[str]) -> LexicalIndex:
    terms = _pick(words, sections[f"{name}.terms"])
    arrays = [sections[f"{name}.{part}"] for part in LEXICAL_ARRAYS]
    return LexicalIndex.from_arrays(LexicalArrays(terms, *arrays))


def _mentions(sections: Sections, words: Sequence[str], titles: Sequence[tuple[str, ...]]) -> MentionIndex:
    def groups(name: str, convert: Callable[[list[int]], Any]) -> RowGroups[Any]:
        keys = _pick(words, sections[f"{name}.words"])
        return RowGroups(keys, sections[f"{name}.numbers"], sections[f"{name}.ends"], convert)

    layer = _SavedMentions(
        groups("names", lambda rows: rows),
        groups("title_starts", lambda rows: [(row, titles[row]) for row in rows]),
    )
    return MentionIndex.from_layer(layer, len(titles))


def _vectors(sections: Sections) -> EnrichedVectors:
    phrases = unpack_strings(sections, "phrases")
    return EnrichedVectors(
        DigestRows(sections["digests"]),
        RowVectors.sharing(sections["enriched"], sections["contents.rows"], sections["contents.vectors"]),
        HabitTable(
            phrases,
            sections["habits.times.ends"],
            sections["habits.times.numbers"],
            sections["habits.phrases"],
        ),
        dict(zip(phrases, sections["phrases.vectors"], strict=True)),
        RowVectors.from_matrix(sections["enriched"]),
        np.asarray(sections["changed"]),
    )
