"""A user's items and usage events as numpy columns, computed once and read by every request."""

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from contextune.search import tokenize
from contextune.types import NAMELESS, Contact, Item, UsageEvent, User, local_time
from contextune.types.app_schema import AppSchema

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Value = TypeVar("Value")

NO_CONTACT = -1
NO_PLACE = -1
_EPOCH = datetime(1970, 1, 1)  # naive: all times are on the user's wall clock
REPLY_PREFIXES = ("re", "fw", "fwd", "aw", "sv", "wg")
"""What mail programs put before the subject of a reply or a forwarded mail, in several languages."""
_REPLY_PREFIX = re.compile(rf"^\s*((?:{'|'.join(REPLY_PREFIXES)})\s*:\s*)+", re.IGNORECASE)
_TIME_ROLES = ("made", "start", "end", "due")
_MAX_CONTACTS = 8
"""Contacts of an item that are used: a mail to a whole choir says little about each member."""
_MIN_NAME_LENGTH = 3


def from_hours(hours: float) -> datetime:
    """Hours since the epoch to a wall-clock time."""
    return _EPOCH + timedelta(hours=hours)


def to_hours(time: datetime) -> float:
    """A wall-clock time as hours since the epoch."""
    return (time - _EPOCH) / timedelta(hours=1)


def part_of_day(time: datetime) -> str:
    """Morning, afternoon, evening or night."""
    for name, start, end in (("morning", 5, 12), ("afternoon", 12, 17), ("evening", 17, 22)):
        if start <= time.hour < end:
            return name
    return "night"


@dataclass(frozen=True, eq=False)
class RowMapping:
    """Maps the rows of the current items to the rows before a change, to update columns incrementally."""

    source: Numbers
    """For each row its previous row; changed rows are numbered -1, -2, … in order."""
    changed: list[int]
    """Rows of new or changed items."""

    @classmethod
    def from_previous_rows(cls, previous: Sequence[int]) -> "RowMapping":
        """`previous` has for each row its previous row, or -1 if the item is new or changed."""
        source = np.array(previous, np.int64)
        changed = np.flatnonzero(source < 0)
        source[changed] = -1 - np.arange(len(changed))
        return cls(source, changed.tolist())

    def merge(self, previous: NDArray[Any], changed: NDArray[Any]) -> NDArray[Any]:
        """The current column from the previous column and the values of the changed rows."""
        # the changed values are appended in reverse, so that index -1 is the first of them
        return np.concatenate([previous, changed[::-1]])[self.source]

    def merge_lists(self, previous: Sequence[Value], changed: Sequence[Value]) -> list[Value]:
        """`merge` for lists."""
        values = [*previous, *changed[::-1]]
        return [values[row] for row in self.source.tolist()]


class ItemColumns:
    """A user's items by row: times, places, people and words as columns."""

    def __init__(
        self,
        user: User,
        items: Sequence[Item],
        tokens: Sequence[Sequence[str]],
        row_by_id: Mapping[str, int] | None = None,
    ) -> None:
        """`tokens` are the tokens of each item."""
        self.user = user
        self._set_store_wide_columns(items, tokens, row_by_id)
        interned: dict[str, str] = {}
        self.title_words = [
            tuple(interned.setdefault(word, word) for word in tokenize(item.title)) for item in items
        ]
        """The words of each title; as tuples, since sets take four times the memory."""
        self.thread_id: Numbers = np.array([_thread_id(item.title) for item in items], np.int64)
        """The same for titles that differ only in Re: or Fwd:; -1 without a title."""
        self._set_times()
        self.people = PeopleColumns(user.contacts, items, map(self.words, range(len(items))))
        self.states = {name: _field_values(items, name) for name in ("direction", "status", "folder")}
        """Case-folded values of the fields that hold a state."""
        self.duration_s: Floats = np.array(
            [_number(item.fields.get("duration_s")) for item in items], np.float64
        )

    def updated(
        self,
        items: Sequence[Item],
        tokens: Sequence[Sequence[str]],
        row_by_id: Mapping[str, int],
        mapping: RowMapping,
    ) -> "ItemColumns":
        """The columns of the same user after items have changed; only changed rows are computed."""
        changed = ItemColumns(
            self.user, [items[row] for row in mapping.changed], [tokens[row] for row in mapping.changed]
        )
        columns = copy(self)
        columns._set_store_wide_columns(items, tokens, row_by_id)
        columns.title_words = mapping.merge_lists(self.title_words, changed.title_words)
        columns.thread_id = mapping.merge(self.thread_id, changed.thread_id)
        columns.times = {role: mapping.merge(self.times[role], changed.times[role]) for role in _TIME_ROLES}
        columns.main_time = mapping.merge(self.main_time, changed.main_time)
        columns.people = self.people.updated(changed.people, mapping)
        columns.states = {
            name: mapping.merge(self.states[name], changed.states[name]) for name in self.states
        }
        columns.duration_s = mapping.merge(self.duration_s, changed.duration_s)
        return columns

    def _set_store_wide_columns(
        self, items: Sequence[Item], tokens: Sequence[Sequence[str]], row_by_id: Mapping[str, int] | None
    ) -> None:
        """Set the columns that depend on all items together, such as codes of applications and places."""
        self.items = items
        self._tokens = tokens
        self.row_by_id = row_by_id or {item.id: row for row, item in enumerate(items)}
        self.word_count: Floats = np.array([len(words) for words in tokens], np.float64)
        self.apps = sorted({item.app for item in items})
        app_codes = {app: code for code, app in enumerate(self.apps)}
        self.app: Numbers = np.array([app_codes[item.app] for item in items], np.int64)
        """The application of each item, as an index into `apps`."""
        self.rows_by_app = [np.flatnonzero(self.app == code) for code in range(len(self.apps))]
        user = self.user
        self.places = list(dict.fromkeys([*user.places, *NAMELESS, *(i.place for i in items if i.place)]))
        self.place_codes = {place: code for code, place in enumerate(self.places)}
        self.place: Numbers = np.array(
            [self.place_codes[item.place] if item.place else NO_PLACE for item in items], np.int64
        )
        """The place of each item, as an index into `places`."""
        nan = (np.nan, np.nan)
        self.coordinates: Floats = np.array([user.places.get(p, nan) for p in self.places]).reshape(-1, 2)

    def words(self, row: int) -> frozenset[str]:
        """The words of an item, without the labels that all items of its application have.

        Computed on demand: keeping a set per item would take more memory than everything else.
        """
        return frozenset(self._tokens[row]) - _labels(self.items[row].schema)

    def _set_times(self) -> None:
        zone = self.user.zone
        item_times = [{role: local_time(t, zone) for role, t in item.times.items()} for item in self.items]
        self.times: Mapping[str, Floats] = {
            role: np.array([to_hours(times[role]) if role in times else np.nan for times in item_times])
            for role in _TIME_ROLES
        }
        main_times = [times.get("start") or times.get("due") or times.get("made") for times in item_times]
        self.main_time: Floats = np.array([to_hours(time) if time else np.nan for time in main_times])
        """The time a person would refer to the item by: start, else due, else creation."""


def _field_values(items: Sequence[Item], field: str) -> NDArray[np.str_]:
    return np.array([str(item.fields.get(field, "")).casefold() for item in items], np.str_)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else np.nan


class PeopleColumns:
    """Which contacts each item involves or mentions, and the words that refer to each contact."""

    def __init__(
        self, contacts: Sequence[Contact], items: Sequence[Item], word_sets: Iterable[frozenset[str]]
    ) -> None:
        self.contacts = contacts
        names = [tokenize(contact.name) for contact in contacts]
        self.by_name = _invert({w for w in name if len(w) >= _MIN_NAME_LENGTH} for name in names)
        self.by_relation = _invert(frozenset(tokenize(contact.relation or "")) for contact in contacts)
        numbers: dict[str, int] = {}
        for number, contact in enumerate(contacts):
            for key in (contact.name, contact.email, contact.phone):
                if key:
                    numbers.setdefault(key.casefold(), number)
        first_names = {name[0]: number for number, name in reversed(list(enumerate(names))) if name}
        involved = [
            list(dict.fromkeys(numbers[p.casefold()] for p in item.people if p.casefold() in numbers))
            for item in items
        ]
        self.involved = _padded(involved)
        """Contacts that are sender, recipient, participant or caller."""
        self.mentioned = _padded(
            [sorted(first_names[w] for w in first_names.keys() & words) for words in word_sets]
        )
        """Contacts whose first name occurs in the item's words."""
        self.count = np.array([len(item.people) for item in items], np.float64)

    def updated(self, changed: "PeopleColumns", mapping: RowMapping) -> "PeopleColumns":
        """The columns for the same contacts after items have changed."""
        people = copy(self)
        people.involved = mapping.merge(*_same_width(self.involved, changed.involved))
        people.mentioned = mapping.merge(*_same_width(self.mentioned, changed.mentioned))
        people.count = mapping.merge(self.count, changed.count)
        return people

    def share_contact(self, rows: Numbers, others: Numbers) -> NDArray[np.bool_]:
        """Whether each item (rows) involves or mentions a contact that another (columns) does too."""
        contacts, other_contacts = (np.hstack([self.involved[n], self.mentioned[n]]) for n in (rows, others))
        # the last column takes the padding, `NO_CONTACT`
        present = np.zeros((len(others), len(self.contacts) + 1), np.bool_)
        np.put_along_axis(present, other_contacts, values=True, axis=1)
        present[:, NO_CONTACT] = False
        return np.logical_or.reduce(present[:, contacts], axis=2).T

    def max_score(self, scores: Floats, contacts: Numbers, default: float) -> Floats:
        """For each row of `contacts` the highest of their scores, or `default` if it has none."""
        with_default = np.append(scores, default)
        return with_default[contacts].max(1) if contacts.shape[1] else np.full(len(contacts), default)


@lru_cache(maxsize=64)
def _label_words(noun: str, labels: tuple[str, ...]) -> frozenset[str]:
    return frozenset(tokenize(" ".join((noun, *labels))))


def _labels(schema: AppSchema) -> frozenset[str]:
    return _label_words(schema.noun, tuple(schema.text.values()))


def _invert(entries: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    """Word → numbers of the entries that contain it."""
    numbers: dict[str, list[int]] = {}
    for number, words in enumerate(entries):
        for word in words:
            numbers.setdefault(word, []).append(number)
    return numbers


def _thread_id(title: str) -> int:
    """A hash of the title without Re: and Fwd:, so that it does not depend on other items; -1 if empty."""
    text = _REPLY_PREFIX.sub("", title).casefold()
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1 if text else -1


def _same_width(left: Numbers, right: Numbers) -> tuple[Numbers, Numbers]:
    """Pad the narrower table with `NO_CONTACT`."""
    width = max(left.shape[1], right.shape[1])
    left, right = (
        np.pad(table, ((0, 0), (0, width - table.shape[1])), constant_values=NO_CONTACT)
        for table in (left, right)
    )
    return left, right


def _padded(rows: Sequence[Sequence[int]]) -> Numbers:
    width = min(_MAX_CONTACTS, max(map(len, rows), default=0))
    table = np.full((len(rows), width), NO_CONTACT, np.int64)
    for number, row in enumerate(rows):
        table[number, : min(width, len(row))] = row[:width]
    return table


@dataclass(frozen=True)
class UseColumns:
    """Usage events as columns, ordered by time."""

    item: Numbers
    """The row of the item used."""
    time: Floats
    """Hours since the epoch, as `to_hours` gives them."""
    hour: Numbers
    weekday: Numbers
    place: Numbers

    def updated(
        self,
        columns: ItemColumns,
        uses: Sequence[UsageEvent],
        *,
        kept: NDArray[np.bool_],
        new: NDArray[np.bool_],
    ) -> "UseColumns | None":
        """The columns of `uses`, computed only for new events; None if that is not possible.

        `kept` flags the previous events that remain, `new` flags the events of `uses` that were added. An
        event of an unknown item rules an update out.
        """
        item = [columns.row_by_id.get(use.item, -1) for use in uses]
        if -1 in item or len(self.time) != len(kept) or kept.sum() != (~new).sum():
            return None
        added = UseColumns.build(columns, [uses[number] for number in np.flatnonzero(new).tolist()])

        def merge(previous: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
            column = np.empty(len(uses), previous.dtype)
            column[~new], column[new] = previous[kept], more
            return column

        return UseColumns(
            np.array(item, np.int64),
            merge(self.time, added.time),
            merge(self.hour, added.hour),
            merge(self.weekday, added.weekday),
            # place codes may have changed with the items
            np.array([columns.place_codes.get(use.place or "", NO_PLACE) for use in uses], np.int64),
        )

    @classmethod
    def build(cls, columns: ItemColumns, uses: Sequence[UsageEvent]) -> "UseColumns":
        """The columns of all events of known items."""
        zone = columns.user.zone
        events = [
            (columns.row_by_id[use.item], local_time(use.time, zone), use.place)
            for use in uses
            if use.item in columns.row_by_id
        ]
        events.sort(key=lambda event: event[1])
        places = [columns.place_codes.get(place or "", NO_PLACE) for _, _, place in events]
        return cls(
            np.array([row for row, _, _ in events], np.int64),
            np.array([to_hours(time) for _, time, _ in events], np.float64),
            np.array([time.hour for _, time, _ in events], np.int64),
            np.array([time.weekday() for _, time, _ in events], np.int64),
            np.array(places, np.int64),
        )

    def before(self, time: float) -> "UseColumns":
        """The events before a time, in hours: a request sees no later ones."""
        end = int(np.searchsorted(self.time, time, side="left"))
        return UseColumns(
            self.item[:end], self.time[:end], self.hour[:end], self.weekday[:end], self.place[:end]
        )
