"""A user's items and usage events as numpy columns, computed once and read by every request."""

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.context.signals.row_list import as_row_list
from contextune.context.signals.row_mapping import RowMapping
from contextune.search import tokenize
from contextune.types import NAMELESS, Contact, Item, User, coordinates_of, local_time
from contextune.types.app_schema import AppSchema

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

NO_CONTACT = -1
NO_PLACE = -1
_EPOCH = datetime(1970, 1, 1)  # naive: all times are on the user's wall clock
REPLY_PREFIXES = ("re", "fw", "fwd", "aw", "sv", "wg")
"""What mail programs put before the subject of a reply or a forwarded mail, in several languages."""
_REPLY_PREFIX = re.compile(rf"^\s*((?:{'|'.join(REPLY_PREFIXES)})\s*:\s*)+", re.IGNORECASE)
_TIME_ROLES = ("made", "start", "end", "due")
_ARRAYS = ("thread_id", "main_time", "duration_s", "word_count", "app", "place")
_PEOPLE_ARRAYS = ("involved", "mentioned", "count")
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
        self.title_words: Sequence[tuple[str, ...]] = [
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

    @classmethod
    def restored(
        cls,
        user: User,
        items: Sequence[Item],
        tokens: Sequence[Sequence[str]],
        row_by_id: Mapping[str, int],
        title_words: Sequence[tuple[str, ...]],
        arrays: Mapping[str, NDArray[Any]],
        names: Mapping[str, list[str]],
    ) -> "ItemColumns":
        """The columns from what `arrays` and `names` returned for the same items."""
        columns = cls(user, [], [])
        columns.items, columns._tokens, columns.row_by_id = items, tokens, row_by_id
        columns.title_words = title_words
        columns.apps, columns.places = names["apps"], names["places"]
        columns._set_places()
        for name in _ARRAYS:
            setattr(columns, name, arrays[name])
        columns.rows_by_app = [np.flatnonzero(columns.app == code) for code in range(len(columns.apps))]
        columns.times = {role: arrays[f"times {role}"] for role in _TIME_ROLES}
        columns.states = {
            name: np.array([*names[f"states {name}"]], np.str_)[arrays[f"states {name}"]]
            for name in columns.states
        }
        for name in _PEOPLE_ARRAYS:
            setattr(columns.people, name, arrays[f"people {name}"])
        return columns

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All columns of numbers, by name."""
        return {
            **{name: getattr(self, name) for name in _ARRAYS},
            **{f"times {role}": self.times[role] for role in _TIME_ROLES},
            **{
                f"states {name}": np.unique(values, return_inverse=True)[1]
                for name, values in self.states.items()
            },
            **{f"people {name}": getattr(self.people, name) for name in _PEOPLE_ARRAYS},
        }

    @property
    def names(self) -> dict[str, list[str]]:
        """The names that codes in `arrays` stand for."""
        states = {f"states {name}": np.unique(values).tolist() for name, values in self.states.items()}
        return {"apps": self.apps, "places": self.places, **states}

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
        columns._update_store_wide_columns(items, tokens, row_by_id, changed, mapping)
        columns.title_words = as_row_list(self.title_words).moved(mapping, changed.title_words)
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
        self._set_places()
        self.place: Numbers = np.array(
            [self.place_codes[item.place] if item.place else NO_PLACE for item in items], np.int64
        )
        """The place of each item, as an index into `places`."""

    def _set_places(self) -> None:
        """Set what depends on the names of the places only."""
        self.place_codes = {place: code for code, place in enumerate(self.places)}
        known = {name: coordinates_of(location) for name, location in self.user.places.items()}
        rows = [known.get(place) or (np.nan, np.nan) for place in self.places]
        self.coordinates: Floats = np.array(rows, np.float64).reshape(-1, 2)

    def _update_store_wide_columns(
        self,
        items: Sequence[Item],
        tokens: Sequence[Sequence[str]],
        row_by_id: Mapping[str, int],
        changed: "ItemColumns",
        mapping: RowMapping,
    ) -> None:
        """`_set_store_wide_columns` from the previous columns and those of the changed items."""
        self.items = items
        self._tokens = tokens
        self.row_by_id = row_by_id
        self.word_count = mapping.merge(self.word_count, changed.word_count)
        self.apps, self.app = _merge_codes(mapping, (self.apps, self.app), (changed.apps, changed.app))
        order = sorted(range(len(self.apps)), key=self.apps.__getitem__)
        self.apps, self.app = [self.apps[code] for code in order], np.argsort(order)[self.app]
        self.rows_by_app = [np.flatnonzero(self.app == code) for code in range(len(self.apps))]
        self.places, self.place = _merge_codes(
            mapping,
            (self.places, self.place),
            (changed.places, changed.place),
            first=[*dict.fromkeys([*self.user.places, *NAMELESS])],
        )
        self._set_places()

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


def _merge_codes(
    mapping: RowMapping,
    previous: tuple[Sequence[str], Numbers],
    changed: tuple[Sequence[str], Numbers],
    first: Sequence[str] = (),
) -> tuple[list[str], Numbers]:
    """Merge two columns of names and codes (-1: none); names by first occurrence, after those of `first`."""
    names = list(dict.fromkeys([*first, *previous[0], *changed[0]]))
    code_by_name = {name: code for code, name in enumerate(names)}
    previous_codes, changed_codes = (
        np.array([*(code_by_name[name] for name in own_names), -1], np.int64)[codes]
        for own_names, codes in (previous, changed)
    )
    codes = mapping.merge(previous_codes, changed_codes)
    occurring, rows = np.unique(codes, return_index=True)
    by_row = occurring[np.argsort(rows)].tolist()
    order = [*range(len(first)), *(code for code in by_row if code >= len(first))]
    recoded = np.full(len(names) + 1, -1, np.int64)
    recoded[order] = np.arange(len(order))
    return [names[code] for code in order], recoded[codes]


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
