"""What is known of a user's items and uses, as columns: worked out once, read by every request."""

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

NOBODY = -1
NOWHERE = -1
_EPOCH = datetime(1970, 1, 1)  # wall clocks have no zone
_REPLY = re.compile(r"^\s*((re|fwd?|aw|sv|wg)\s*:\s*)+", re.IGNORECASE)
_ROLES = ("made", "start", "end", "due")
_PEOPLE = 8
"""How many contacts of an item are looked at: a mail to a whole choir says nothing about each of them."""
_COMMON_NAME = 3


def moment(hours: float) -> datetime:
    """The wall clock again."""
    return _EPOCH + timedelta(hours=hours)


def hours(time: datetime) -> float:
    """A wall clock as hours, so that differences are hours."""
    return (time - _EPOCH) / timedelta(hours=1)


def part_of_day(time: datetime) -> str:
    """Morning, afternoon, evening or night."""
    for name, start, end in (("morning", 5, 12), ("afternoon", 12, 17), ("evening", 17, 22)):
        if start <= time.hour < end:
            return name
    return "night"


@dataclass(frozen=True, eq=False)
class RowMapping:
    """How items lie now and lay before a change: a column of before and one of the fresh make one of now."""

    order: Numbers
    """For each row now, its row before; for the fresh, one after the other, -1, -2 and so on."""
    fresh: list[int]
    """The rows of what is new or changed."""

    @classmethod
    def of(cls, same: Sequence[int]) -> "RowMapping":
        """`same` says for each row where it lay before, or -1."""
        order = np.array(same, np.int64)
        fresh = np.flatnonzero(order < 0)
        order[fresh] = -1 - np.arange(len(fresh))
        return cls(order, fresh.tolist())

    def merged(self, before: NDArray[Any], fresh: NDArray[Any]) -> NDArray[Any]:
        """One column: from the end, where the fresh lie turned round, negative numbers find them."""
        return np.concatenate([before, fresh[::-1]])[self.order]

    def listed(self, before: Sequence[Value], fresh: Sequence[Value]) -> list[Value]:
        """The same of lists."""
        found = [*before, *fresh[::-1]]
        return [found[row] for row in self.order.tolist()]


class ItemColumns:
    """A user's items by position: times, places, people and words as columns."""

    def __init__(
        self,
        user: User,
        items: Sequence[Item],
        tokens: Sequence[Sequence[str]],
        position: Mapping[str, int] | None = None,
    ) -> None:
        """`tokens` are the words of each item, `position` says where each lies, by id."""
        self.user = user
        self._set_what_they_share(items, tokens, position)
        shared: dict[str, str] = {}
        self.title_words = [
            tuple(shared.setdefault(word, word) for word in tokenize(item.title)) for item in items
        ]
        """The words of each item's title; not as sets, which take four times the memory."""
        self.thread: Numbers = np.array([_thread(item.title) for item in items], np.int64)
        """Items of one title, less its Re: and Fwd:, have one number; those without a title -1."""
        self._set_times()
        self.people = PeopleColumns(user.contacts, items, map(self.words_of, range(len(items))))
        self.states = {name: _values(items, name) for name in ("direction", "status", "folder")}
        """What fields that tell a state say."""
        self.lasted: Floats = np.array([_number(item.fields.get("duration_s")) for item in items], np.float64)
        """Seconds."""

    def after(
        self,
        items: Sequence[Item],
        tokens: Sequence[Sequence[str]],
        position: Mapping[str, int],
        change: RowMapping,
    ) -> "ItemColumns":
        """The facts of the same user once items have changed; of those that did not, they are taken over."""
        fresh = ItemColumns(
            self.user, [items[row] for row in change.fresh], [tokens[row] for row in change.fresh]
        )
        facts = copy(self)
        facts._set_what_they_share(items, tokens, position)
        facts.title_words = change.listed(self.title_words, fresh.title_words)
        facts.thread = change.merged(self.thread, fresh.thread)
        facts.times = {role: change.merged(self.times[role], fresh.times[role]) for role in _ROLES}
        facts.time = change.merged(self.time, fresh.time)
        facts.people = self.people.after(fresh.people, change)
        facts.states = {name: change.merged(self.states[name], fresh.states[name]) for name in self.states}
        facts.lasted = change.merged(self.lasted, fresh.lasted)
        return facts

    def _set_what_they_share(
        self, items: Sequence[Item], tokens: Sequence[Sequence[str]], position: Mapping[str, int] | None
    ) -> None:
        """What hangs on all items together: which applications and places there are."""
        self.items = items
        self._tokens = tokens
        self.position = position or {item.id: number for number, item in enumerate(items)}
        self.lengths: Floats = np.array([len(found) for found in tokens], np.float64)
        self.apps = sorted({item.app for item in items})
        code = {app: number for number, app in enumerate(self.apps)}
        self.app: Numbers = np.array([code[item.app] for item in items], np.int64)
        self.of_app = [np.flatnonzero(self.app == number) for number in range(len(self.apps))]
        """The positions of the items of each application."""
        user = self.user
        self.places = list(dict.fromkeys([*user.places, *NAMELESS, *(i.place for i in items if i.place)]))
        self.place_code = {place: number for number, place in enumerate(self.places)}
        self.place: Numbers = np.array(
            [self.place_code[item.place] if item.place else NOWHERE for item in items], np.int64
        )
        nan = (np.nan, np.nan)
        self.coordinates: Floats = np.array([user.places.get(p, nan) for p in self.places]).reshape(-1, 2)

    def words_of(self, row: int) -> frozenset[str]:
        """The words of an item, but for those that all items of its application have.

        Made when asked for: a set for each of many items takes more memory than anything else.
        """
        return frozenset(self._tokens[row]) - _labels(self.items[row].schema)

    def _set_times(self) -> None:
        zone = self.user.zone
        moments = [{role: local_time(t, zone) for role, t in item.times.items()} for item in self.items]
        self.times: Mapping[str, Floats] = {
            role: np.array([hours(found[role]) if role in found else np.nan for found in moments])
            for role in _ROLES
        }
        named = [found.get("start") or found.get("due") or found.get("made") for found in moments]
        self.time: Floats = np.array([hours(time) if time else np.nan for time in named])
        """The time a person would name the item by."""


def _values(items: Sequence[Item], field: str) -> NDArray[np.str_]:
    return np.array([str(item.fields.get(field, "")).casefold() for item in items], np.str_)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else np.nan


class PeopleColumns:
    """Which contacts each item involves, and what words stand for them."""

    def __init__(
        self, contacts: Sequence[Contact], items: Sequence[Item], word_sets: Iterable[frozenset[str]]
    ) -> None:
        self.contacts = contacts
        names = [tokenize(contact.name) for contact in contacts]
        self.by_name = _where({w for w in name if len(w) >= _COMMON_NAME} for name in names)
        self.by_relation = _where(frozenset(tokenize(contact.relation or "")) for contact in contacts)
        known: dict[str, int] = {}
        for number, contact in enumerate(contacts):
            for key in (contact.name, contact.email, contact.phone):
                if key:
                    known.setdefault(key.casefold(), number)
        first = {name[0]: number for number, name in reversed(list(enumerate(names))) if name}
        involved = [
            list(dict.fromkeys(known[p.casefold()] for p in item.people if p.casefold() in known))
            for item in items
        ]
        self.involved = _padded(involved)
        """Contacts that wrote, are written to, take part, call."""
        self.mentioned = _padded([sorted(first[w] for w in first.keys() & found) for found in word_sets])
        """Contacts whose first name stands in the item's words."""
        self.count = np.array([len(item.people) for item in items], np.float64)

    def after(self, fresh: "PeopleColumns", change: RowMapping) -> "PeopleColumns":
        """The same contacts, once items have changed."""
        people = copy(self)
        people.involved = change.merged(*_of_one_width(self.involved, fresh.involved))
        people.mentioned = change.merged(*_of_one_width(self.mentioned, fresh.mentioned))
        people.count = change.merged(self.count, fresh.count)
        return people

    def shared(self, rows: Numbers, others: Numbers) -> NDArray[np.bool_]:
        """Which items (rows) have to do, in either way, with a contact of which others (columns)."""
        mine, theirs = (np.hstack([self.involved[n], self.mentioned[n]]) for n in (rows, others))
        known = np.zeros((len(others), len(self.contacts) + 1), np.bool_)  # the last stands for nobody
        np.put_along_axis(known, theirs, values=True, axis=1)
        known[:, NOBODY] = False
        return np.logical_or.reduce(known[:, mine], axis=2).T

    def best(self, scores: Floats, table: Numbers, nothing: float) -> Floats:
        """For each item the highest of its contacts' scores, or `nothing`."""
        with_nobody = np.append(scores, nothing)
        return with_nobody[table].max(1) if table.shape[1] else np.full(len(table), nothing)


@lru_cache(maxsize=64)
def _label_words(noun: str, labels: tuple[str, ...]) -> frozenset[str]:
    return frozenset(tokenize(" ".join((noun, *labels))))


def _labels(schema: AppSchema) -> frozenset[str]:
    return _label_words(schema.noun, tuple(schema.text.values()))


def _where(keys: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    """Word → the numbers of the entries that hold it."""
    found: dict[str, list[int]] = {}
    for number, entry in enumerate(keys):
        for word in entry:
            found.setdefault(word, []).append(number)
    return found


def _thread(title: str) -> int:
    """One number for all titles that differ in a Re: or Fwd:, whatever other items there are; -1 for none."""
    text = _REPLY.sub("", title).casefold()
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1 if text else -1


def _of_one_width(one: Numbers, other: Numbers) -> tuple[Numbers, Numbers]:
    """Both tables as wide as the wider, with nobody in what is added."""
    width = max(one.shape[1], other.shape[1])
    wide, narrow = (
        np.pad(table, ((0, 0), (0, width - table.shape[1])), constant_values=NOBODY) for table in (one, other)
    )
    return wide, narrow


def _padded(rows: Sequence[Sequence[int]]) -> Numbers:
    width = min(_PEOPLE, max(map(len, rows), default=0))
    table = np.full((len(rows), width), NOBODY, np.int64)
    for number, row in enumerate(rows):
        table[number, : min(width, len(row))] = row[:width]
    return table


@dataclass(frozen=True)
class UseColumns:
    """A user's uses as columns, in order of time."""

    item: Numbers
    time: Floats
    hour: Numbers
    weekday: Numbers
    place: Numbers

    def after(
        self,
        facts: ItemColumns,
        uses: Sequence[UsageEvent],
        *,
        kept: NDArray[np.bool_],
        new: NDArray[np.bool_],
    ) -> "UseColumns | None":
        """Those there are now, of which only the new ones are read; None where some are of no known item.

        `kept` says which of the earlier ones are still there, `new` which of those now were not.
        """
        item = [facts.position.get(use.item, -1) for use in uses]
        if -1 in item or len(self.time) != len(kept) or kept.sum() != (~new).sum():
            return None
        fresh = UseColumns.of(facts, [uses[number] for number in np.flatnonzero(new).tolist()])

        def merged(old: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
            column = np.empty(len(uses), old.dtype)
            column[~new], column[new] = old[kept], more
            return column

        return UseColumns(
            np.array(item, np.int64),
            merged(self.time, fresh.time),
            merged(self.hour, fresh.hour),
            merged(self.weekday, fresh.weekday),
            # what is a place may have changed with the items
            np.array([facts.place_code.get(use.place or "", NOWHERE) for use in uses], np.int64),
        )

    @classmethod
    def of(cls, facts: ItemColumns, uses: Sequence[UsageEvent]) -> "UseColumns":
        """The uses of items that there are."""
        zone = facts.user.zone
        kept = [
            (facts.position[use.item], local_time(use.time, zone), use.place)
            for use in uses
            if use.item in facts.position
        ]
        kept.sort(key=lambda entry: entry[1])
        places = [facts.place_code.get(place or "", NOWHERE) for _, _, place in kept]
        return cls(
            np.array([item for item, _, _ in kept], np.int64),
            np.array([hours(time) for _, time, _ in kept], np.float64),
            np.array([time.hour for _, time, _ in kept], np.int64),
            np.array([time.weekday() for _, time, _ in kept], np.int64),
            np.array(places, np.int64),
        )

    def before(self, time: float) -> "UseColumns":
        """Those before a moment: a request sees no later ones."""
        end = int(np.searchsorted(self.time, time, side="left"))
        return UseColumns(
            self.item[:end], self.time[:end], self.hour[:end], self.weekday[:end], self.place[:end]
        )
