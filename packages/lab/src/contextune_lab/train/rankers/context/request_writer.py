"""Requests that say which items are meant: by a rare word, a person, a time, or as the last of a kind.

They are composed from the items of a store, small or large, which decide by definition what is meant. The
authored explicit requests name titles; people also say any word they remember, a date, or "the last mail from
Nadia".
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from contextune._internal.phrases import phrases
from contextune.context.index import UserIndex
from contextune.context.signals.columns import from_hours, to_hours
from contextune.context.signals.time_phrases import find_probable_intervals
from contextune.context.stop_words import STOP_WORDS
from contextune.search import tokenize
from contextune.types import Item

_MIN_WORD, _MAX_WITH_WORD, _MAX_RELEVANT = 4, 2, 6
_ATTEMPTS = 12
_NOUNS = {
    "Mail": ("mail", "email", "e-mail"),
    "Calendar": ("event", "appointment", "meeting"),
    "Notes": ("note",),
    "Reminders": ("reminder", "to-do"),
    "Google": ("search",),
    "Music": ("song", "track"),
    "PhoneCall": ("call", "phone call"),
    "Chat": ("chat message", "chat"),
    "Messages": ("message", "text"),
    "Feed": ("post",),
    "Tickets": ("ticket",),
    "Journal": ("entry", "journal entry"),
}
_SCHEDULED = ("Calendar", "Reminders", "Tasks", "Tickets")
_BY_WORD = phrases("""
    the {word}, {word}, {word}?, that {word} thing, what was that about the {word}?
    who wrote about the {word}?, Find the {noun} about the {word}, Show me the {word} {noun}
    When did we talk about the {word}?, do I have anything on {word}, open the {noun} with {word}
    What did I write down about {word}?, anything about {word} {other}?, {word} {other}
    What do you know about the {word}?, Which {noun} mentions {word}?, Where is the {word}?
""")
_BY_WORD_AND_PERSON = (
    *("What did {person} say about the {word}?", "{person} mentioned the {word}, show me"),
    *("{person}'s {noun} about {word}", "the {word} {noun} from {person}", "{person} {word}"),
)
_BY_TIME = phrases("""
    {nouns} from {time}, What happened {on}?, {nouns} {on}, show me my {nouns} {on}
    Which {nouns} did I get {on}?, the {noun} {on}, what was {on}, anything {on}?
""")
_BY_TIME_AND_PERSON = (
    *("{nouns} from {person} {on}", "{person}'s {noun} {on}", "the {noun} with {person} {on}"),
)
_WRITTEN_BY_TIME_AND_PERSON = ("What did {person} write {on}?", "did {person} say anything {on}?")
_WRITTEN = ("Mail", "Messages", "Chat", "Feed", "Tickets", "Tasks", "CRM", "Journal")
_LAST = ("the last {noun}", "my latest {noun}", "the most recent {noun}", "open my newest {noun}")
_LAST_OF_PERSON = phrases("""
    the last {noun} from {person}, Delete my last {noun} from {person}, {person}'s latest {noun}
    my most recent {noun} with {person}, what was the newest {noun} from {person}
""")
_NEXT = ("When is my next {noun}?", "the next {noun}", "my upcoming {noun}")
_BY_PERSON = ("{nouns} from {person}", "{person}'s {nouns}", "do I have {nouns} from {person}?")
_MIN_NAME = 3


@dataclass(frozen=True)
class SaidRequest:
    """A request and the ids of the items it means."""

    text: str
    kind: str
    relevant: Sequence[str]


class RequestWriter:
    """Composes requests over one store, as of one moment on the user's wall clock."""

    def __init__(self, index: UserIndex, now: datetime, draw: random.Random) -> None:
        self._index, self._now, self._draw = index, now, draw
        self._columns = index.item_columns
        self._rows = np.flatnonzero(index.visible(now))

    def write(self, count: int) -> Iterator[SaidRequest]:
        """Up to `count` requests of all kinds, by turns."""
        writers: list[tuple[str, Callable[[], tuple[str, list[int]] | None]]] = [
            ("by word", self._by_word),
            ("by time", self._by_time),
            ("by word", self._by_word),
            ("last or next", self._last_or_next),
            ("by time", self._by_time),
            ("by person", self._by_person),
        ]
        start = self._draw.randrange(len(writers))
        for number in range(count):
            kind, write = writers[(start + number) % len(writers)]
            for _ in range(_ATTEMPTS):
                written = write()
                if written and 0 < len(written[1]) <= _MAX_RELEVANT:
                    items = self._index.items
                    yield SaidRequest(self._spell(written[0]), kind, [items[row].id for row in written[1]])
                    break

    @cached_property
    def _frequency(self) -> Counter[str]:
        return Counter(word for row in self._rows.tolist() for word in self._columns.words(row))

    def _by_word(self) -> tuple[str, list[int]] | None:
        row = self._any_row()
        words = [
            word
            for word in sorted(self._columns.words(row))
            if len(word) >= _MIN_WORD and word.isalpha() and word not in STOP_WORDS
        ]
        rare = [word for word in words if self._frequency[word] <= _MAX_WITH_WORD]
        if not rare:
            return None
        word, other = self._draw.choice(rare), self._draw.choice(words)
        people = self._people(self._index.items[row])
        form = self._draw.choice(_BY_WORD_AND_PERSON if people and self._draw.random() < 0.3 else _BY_WORD)
        if other == word and "{other}" in form:
            return None
        relevant = [r for r in self._rows.tolist() if word in self._columns.words(r)]
        if "{person}" in form or "{other}" in form:
            relevant = [row]
        person = self._draw.choice(people) if people else ""
        return form.format(word=word, other=other, person=person, **self._nouns(row)), relevant

    def _by_time(self) -> tuple[str, list[int]] | None:
        row = self._any_row()
        times = [self._columns.main_time[row], self._columns.times["made"][row]]
        known = [time for time in times if not np.isnan(time)]
        phrases = list(_time_phrases(from_hours(self._draw.choice(known)), self._now)) if known else []
        if not phrases:
            return None
        time, on = self._draw.choice(phrases)
        people = self._people(self._index.items[row])
        of_person = bool(people) and self._draw.random() < 0.45
        forms = _BY_TIME_AND_PERSON if of_person else _BY_TIME
        if of_person and self._index.items[row].app in _WRITTEN:
            forms += _WRITTEN_BY_TIME_AND_PERSON
        form = self._draw.choice(forms)
        person = self._draw.choice(people) if of_person else ""
        text = form.format(time=time, on=on, person=person, **self._nouns(row))
        relevant = self._rows[self._within(text)]
        if "{noun" in form or form in _WRITTEN_BY_TIME_AND_PERSON:
            relevant = relevant[self._columns.app[relevant] == self._columns.app[row]]
        found = [r for r in relevant.tolist() if not of_person or self._involves(r, person)]
        return (text, found) if row in found else None

    def _within(self, text: str) -> NDArray[np.bool_]:
        """Which visible items have their time within one that the text names."""
        inside = np.zeros(len(self._rows), np.bool_)
        for start, end in find_probable_intervals(text, self._now):
            for times in (self._columns.main_time, self._columns.times["made"]):
                hours = times[self._rows]
                inside |= (hours >= to_hours(start)) & (hours <= to_hours(end))
        return inside

    def _last_or_next(self) -> tuple[str, list[int]] | None:
        row = self._any_row()
        item = self._index.items[row]
        rows = self._rows[self._columns.app[self._rows] == self._columns.app[row]]
        people = self._people(item)
        person = self._draw.choice(people) if people and self._draw.random() < 0.7 else ""
        if person:
            rows = np.array([r for r in rows.tolist() if self._involves(r, person)], np.int64)
        hours, now = self._columns.main_time[rows], to_hours(self._now)
        following = item.app in _SCHEDULED and self._draw.random() < 0.5 and not person
        chosen = rows[hours > now] if following else rows[hours <= now]
        if len(chosen) < 2:
            return None
        times = self._columns.main_time[chosen]
        best = int(chosen[times.argmin() if following else times.argmax()])
        form = self._draw.choice(_NEXT if following else _LAST_OF_PERSON if person else _LAST)
        return form.format(person=person, **self._nouns(row)), [best]

    def _by_person(self) -> tuple[str, list[int]] | None:
        row = self._any_row()
        people = self._people(self._index.items[row])
        if not people:
            return None
        person, form = self._draw.choice(people), self._draw.choice(_BY_PERSON)
        rows = self._rows[self._columns.app[self._rows] == self._columns.app[row]]
        relevant = [r for r in rows.tolist() if self._involves(r, person)]
        return form.format(person=person, **self._nouns(row)), relevant

    def _any_row(self) -> int:
        """A row of any application, each as likely."""
        apps = sorted(set(self._columns.app[self._rows].tolist()))
        return int(self._draw.choice(self._rows[self._columns.app[self._rows] == self._draw.choice(apps)]))

    def _people(self, item: Item) -> list[str]:
        """Names of the item's people as one says them: of contacts, or as they stand."""
        names = self._full_names(item)
        spoken = [name for name in names if "@" not in name and not any(c.isdigit() for c in name)]
        return [
            name.split()[0] if self._draw.random() < 0.6 and len(name.split()[0]) >= _MIN_NAME else name
            for name in spoken
            if name.split()
        ]

    def _involves(self, row: int, person: str) -> bool:
        names = self._full_names(self._index.items[row])
        return set(tokenize(person)) <= {word for name in names for word in tokenize(name)}

    def _full_names(self, item: Item) -> list[str]:
        return [self._name_by_address.get(person, person) for person in item.people]

    @cached_property
    def _name_by_address(self) -> dict[str, str]:
        contacts = self._index.user.contacts
        return {address: c.name for c in contacts for address in (c.email, c.phone) if address}

    def _nouns(self, row: int) -> dict[str, str]:
        item = self._index.items[row]
        noun = self._draw.choice(_NOUNS.get(item.app, (item.schema.noun.lower(),)))
        plural = (
            f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("ch") else f"{noun}s"
        )
        return {"noun": noun, "nouns": plural}

    def _spell(self, text: str) -> str:
        """As typed or dictated: with and without capital and full stop."""
        if self._draw.random() < 0.4:
            return text
        text = text[0].upper() + text[1:]
        return text if text[-1] in "?." else f"{text}."


def _time_phrases(time: datetime, now: datetime) -> Iterator[tuple[str, str]]:
    """Ways to say the day of a time: as a name ("messages from …"), and with a preposition."""
    days = (now.date() - time.date()).days
    day, month = f"{time:%B} {time.day}", f"{time:%B}"
    yield f"{time:%Y-%m-%d}", f"on {time:%Y-%m-%d}"
    yield f"{day}, {time.year}", f"on {time.day} {month} {time.year}"
    if abs(days) < 300:
        yield day, f"on {day}"
        yield f"{time.day} {month}", f"on the {time.day}{_ordinal(time.day)} of {month}"
    if 20 < days < 330:
        yield month, f"in {month}"
    if 0 < days < 7:
        yield f"last {time:%A}", f"on {time:%A}"
    if 2 < days < 14:
        yield f"{days} days ago", f"{days} days ago"
    if days == 1:
        yield "yesterday", "yesterday"
    if days == -1:
        yield "tomorrow", "tomorrow"
    if 0 < days <= 6 + now.weekday() + 1 and time.date() < (now - timedelta(days=now.weekday())).date():
        yield "last week", "last week"
    if (now.year * 12 + now.month) - (time.year * 12 + time.month) == 1:
        yield "last month", "last month"
    if now.year - time.year == 1:
        yield "last year", "last year"


def _ordinal(day: int) -> str:
    return "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
