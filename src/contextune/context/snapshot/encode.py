"""The state of a user as arrays."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.context.enriched.habits import HabitHistory
from contextune.context.index import UserState
from contextune.context.mentions import MentionIndex
from contextune.context.signals import UseColumns
from contextune.context.signals.row_list import as_row_list
from contextune.context.snapshot.pack import pack_bytes, pack_lists, pack_numbers, pack_strings
from contextune.context.snapshot.tables import NO_PHRASE, NO_PLACE, ItemTable, UseTable
from contextune.search import LexicalIndex
from contextune.store.snapshots import Sections, SnapshotError
from contextune.types import Item, UsageEvent

USE_COLUMNS = ("item", "time", "hour", "weekday", "place")
LEXICAL_ARRAYS = ("lengths", "documents", "frequencies", "starts")
_MAX_PHRASES = 3


@dataclass(frozen=True, eq=False)
class _Words:
    """Numbers of words, in the order of their first use."""

    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def number(self, word: str) -> int:
        return self.numbers.setdefault(word, len(self.numbers))

    def array(self, words: Sequence[str]) -> NDArray[np.int32]:
        return np.fromiter(map(self.number, words), np.int32, len(words))

    def rows(self, name: str, rows: Sequence[Sequence[str]]) -> Sections:
        known = list(rows)
        numbers = (self.number(word) for words in known for word in words)
        return pack_numbers(name, numbers, [len(words) for words in known], np.int32)


def encode_state(state: UserState) -> tuple[dict[str, Any], Sections]:
    """Metadata and arrays from which `decode_state` makes an equal state; its vectors must be computed.

    Raises `SnapshotError` if there are uses of items that the state does not have.
    """
    index, columns, words = state.index, state.index.item_columns, _Words()
    vectors = vars(index).get("vectors")
    uses = _encode_uses(state)
    sections: dict[str, NDArray[Any]] = {
        **pack_strings("ids", list(index.ids)),
        **pack_bytes("fields", _fields(index.items)),
        "created": index.created.view(np.int64),
        **words.rows("tokens", index.tokens),
        **words.rows("titles", columns.title_words),
        **{f"columns.{name}": array for name, array in columns.arrays.items()},
        **_encode_lexical("lexical.all", index.store_lexical, words),
        **_encode_mentions(index.mentions, words),
        **uses,
        **_encode_use_columns(state.enriched.columns(columns)),
        **_encode_vectors(state),
        **({} if vectors is None else {"vectors": vectors}),
    }
    for number, app in enumerate(index.apps):
        sections |= _encode_lexical(f"lexical.{number}", index.lexical[app], words)
    sections |= pack_strings("words", list(words.numbers))
    parts = [[app, part.start, part.stop] for app, part in index.apps.items()]
    return {"apps": parts, "names": columns.names}, sections


def _fields(items: Sequence[Item]) -> list[bytes]:
    rows = as_row_list(items)
    base = rows.base

    def encode(item: Item) -> bytes:
        return json.dumps(dict(item.fields)).encode()

    if isinstance(base, ItemTable):
        return list(rows.convert(base.fields_json, encode))
    return list(map(encode, items))


def _encode_lexical(name: str, index: LexicalIndex, words: _Words) -> Sections:
    arrays = index.arrays
    return {
        f"{name}.terms": words.array(arrays.terms),
        **{f"{name}.{part}": getattr(arrays, part) for part in LEXICAL_ARRAYS},
    }


def _encode_mentions(mentions: MentionIndex, words: _Words) -> Sections:
    sections: dict[str, NDArray[Any]] = {}
    for name, rows_by_word in zip(("names", "title_starts"), mentions.rows_by_word(), strict=True):
        sections[f"{name}.words"] = words.array(list(rows_by_word))
        sections |= pack_lists(name, list(rows_by_word.values()), np.int32)
    return sections


def _encode_uses(state: UserState) -> Sections:
    uses = as_row_list(state.enriched.uses)
    base = uses.base

    def encode(use: UsageEvent) -> tuple[str, bytes, str | None]:
        return use.item, use.time.isoformat().encode(), use.place

    def encode_base(row: int) -> tuple[str, bytes, str | None]:
        if isinstance(base, UseTable):
            return base.item(row), base.time(row), base.place(row)
        return encode(base[row])

    rows = list(uses.convert(encode_base, encode))
    row_by_id = state.index.row_by_id
    if any(item not in row_by_id for item, _, _ in rows):
        raise SnapshotError("the state has uses of unknown items")
    places = {
        place: code for code, place in enumerate(dict.fromkeys(row[2] for row in rows if row[2] is not None))
    }
    codes = [NO_PLACE if place is None else places[place] for _, _, place in rows]
    return {
        "uses.items": np.array([row_by_id[item] for item, _, _ in rows], np.int32),
        **pack_bytes("uses.times", [time for _, time, _ in rows]),
        **pack_strings("uses.places", list(places)),
        "uses.place_codes": np.array(codes, np.int32),
    }


def _encode_use_columns(columns: UseColumns) -> Sections:
    return {f"use_columns.{name}": getattr(columns, name) for name in USE_COLUMNS}


def _encode_vectors(state: UserState) -> Sections:
    enriched = state.enriched.enriched
    if enriched is None:
        raise SnapshotError("the vectors are not computed")
    numbers = {phrase: number for number, phrase in enumerate(enriched.phrases)}
    digests = b"".join(enriched.digests)
    contents, vectors = enriched.contents.matrix, enriched.vectors.matrix
    used = np.flatnonzero((contents != vectors).any(1))  # the others have no habits
    phrases = np.stack([*enriched.phrases.values()]) if numbers else contents[:0]
    return {
        "digests": np.frombuffer(digests, np.uint8).reshape(len(enriched.digests), -1),
        "enriched": vectors,
        "contents.rows": used,
        "contents.vectors": contents[used],
        "changed": enriched.changed,
        **pack_strings("phrases", list(numbers)),
        "phrases.vectors": phrases,
        **_encode_habits(enriched.habits, numbers),
    }


def _encode_habits(habits: Sequence[HabitHistory], numbers: Mapping[str, int]) -> Sections:
    histories = list(habits)
    versions = [version for history in histories for version in history.phrases]
    table = np.full((len(versions), _MAX_PHRASES), NO_PHRASE, np.int32)
    for row, version in enumerate(versions):
        table[row, : len(version)] = [numbers[phrase] for phrase in version]
    return {
        **pack_lists("habits.times", [history.times for history in histories], np.float64),
        "habits.phrases": table,
    }
