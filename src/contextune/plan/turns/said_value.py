"""The value that a reply says: a time, a number, a length, people, without "no", "make it" and "instead"."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Literal

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.names import match_names
from contextune.plan.times.phrases import TimeExpressions, TimeMention, find_times
from contextune.plan.turns.words import compiled, reply_words
from contextune.plan.values import contact_lookup, find_durations, find_numbers
from contextune.search import tokenize
from contextune.time_phrases import parse_time_phrases
from contextune.types import Contact, User

_CORRECTS = r"\W*(?:(?:{corrections})\b[\s,:–-]*){1,6}"
_CONTINUES = r"\W*(?:(?:{continuations})\b[\s,]*){1,4}"
_ENDING = r"[\s,]+{endings}\Z"
_LEADING = r"(?:{prepositions}\s+){1,3}"
_JOINS = r"\W*(?:{prepositions}\b\W*){0,6}"
_CLOCK = r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?"
_HOURS, _MINUTES, _HALF_DAY = 24, 60, 12 * 60
_LONGEST = 200
"""Characters of a reply that says a value."""
Way = Literal["corrects", "continues", "bare"]
"""How a reply begins: as a correction, as a continuation, or with the value itself."""


def is_corrected(text: str) -> bool:
    """Whether a text begins or ends as a correction does: "no, …", "… instead"."""
    ending = compiled(_ENDING).search(text.strip(" \t\r\n.!?…"))
    is_ending = ending is not None and not ending.group().casefold().endswith("please")
    return is_ending or compiled(_CORRECTS).match(text) is not None


@dataclass(frozen=True, eq=False)
class SaidValue:
    """The value that a reply says, read as what an argument takes."""

    text: str
    way: Way
    user: User
    now: datetime

    @classmethod
    def read(cls, line: str, user: User, now: datetime) -> "SaidValue":
        """The value of a line."""
        line = line.strip(" \t\r\n.!?…")[:_LONGEST]
        way: Way = "bare"
        if opening := compiled(_CORRECTS).match(line):
            way = "corrects"
        elif opening := compiled(_CONTINUES).match(line):
            way = "continues"
        text = line[opening.end() :] if opening else line
        if ending := compiled(_ENDING).search(text):
            way = way if ending.group().casefold().endswith("please") else "corrects"
            text = text[: ending.start()]
        return cls(text.strip(" \t,"), way, user, now)

    @cached_property
    def bare(self) -> str:
        """The value without a preposition before it."""
        return compiled(_LEADING).sub("", self.text, count=1)

    @cached_property
    def is_time(self) -> bool:
        """Whether it says a day or an hour, and nothing else."""
        mentions = (*self._times.days, *self._times.clocks)
        return bool(mentions) and compiled(_JOINS).fullmatch(self._without(mentions)) is not None

    @property
    def is_typed(self) -> bool:
        """Whether it is a time, a number, a length or a person, and so no request of its own."""
        return self.is_time or self.number is not None or self.length is not None or bool(self.contacts)

    @cached_property
    def number(self) -> float | None:
        """The only number, with at most a word for what is counted."""
        numbers = [] if self.is_time and len(tokenize(self.bare)) > 1 else find_numbers(self.bare)
        if len(numbers) != 1 or self.length is not None:
            return None
        rest = tokenize(self.bare.casefold().replace(numbers[0][1], " ", 1))
        return numbers[0][0] if len(rest) < 2 else None

    @cached_property
    def length(self) -> timedelta | None:
        """The length of time, if it says nothing else."""
        lengths = find_durations(self.bare)
        return lengths[0][0] if len(lengths) == 1 and lengths[0][1:] == (0, len(self.bare)) else None

    @cached_property
    def contacts(self) -> list[Contact]:
        """The people that it names or relates to, all equally well, if it says nothing else."""
        contacts = self.user.contacts
        matches = match_names(self.bare, contacts)
        best = max(((match.words, match.share) for match in matches), default=(0.0, 0.0))
        named = [c for c, m in zip(contacts, matches, strict=True) if m.words and (m.words, m.share) == best]
        words = frozenset(tokenize(self.bare)) - STOP_WORDS
        if not named:
            counts = contact_lookup(tuple(contacts)).count_relation_matches(tokenize(self.bare))
            related = [contact for contact, count in zip(contacts, counts, strict=True) if count]
            return related if words and len(words) <= max(counts, default=0) else []
        known = {word for contact in named for word in tokenize(_called(contact))}
        return named if words <= known else []

    def moment(self, old: datetime | date | None) -> datetime | None:
        """The time that it says: of one that it corrects, it keeps the day or the hour that it leaves out."""
        if shifted := self._shifted(old):
            return shifted
        if old is None and self.is_time:
            phrases = parse_time_phrases(self.text, self.now)
            return phrases[0].anchor if len(phrases) == 1 and phrases[0].kind != "duration" else None
        minutes = self._minutes
        if not minutes and not self.is_time:
            return None
        days = [day for mention in self._times.days for day in mention.dates[:1]]
        before = old if isinstance(old, datetime) else None
        day = days[0] if days else before.date() if before else old or self.now.date()
        last = before.hour * _MINUTES + before.minute if before else 0
        chosen = min(minutes, key=lambda each: abs(each - last)) if before and minutes else None
        clock = chosen if chosen is not None else minutes[0] if minutes else last
        return datetime.combine(day, datetime.min.time()) + timedelta(minutes=clock)

    @cached_property
    def _times(self) -> TimeExpressions:
        return find_times(self.text, self.now)

    @property
    def _minutes(self) -> tuple[int, ...]:
        """The minutes after midnight that its hour may mean."""
        if self._times.clocks:
            return self._times.clocks[0].minutes
        match = compiled(_CLOCK).fullmatch(self.bare)
        said = self.number if len(tokenize(self.bare)) == 1 else None
        hour, minute = (int(match["hour"]), int(match["minute"] or 0)) if match else (said, 0)
        if hour is None or hour != int(hour) or not (0 <= hour < _HOURS and minute < _MINUTES):
            return ()
        first = int(hour) * _MINUTES + minute
        return (first, (first + _HALF_DAY) % (2 * _HALF_DAY)) if 0 < hour <= _HOURS // 2 else (first,)

    def _shifted(self, old: datetime | date | None) -> datetime | None:
        """The corrected time itself, moved: "half an hour later"."""
        shifts = [shift for shift in self._times.shifts if shift.sign]
        rest = tokenize(self._without(shifts))
        if len(shifts) != 1 or not isinstance(old, datetime) or not {*rest} <= {*reply_words()["shifts"]}:
            return None
        return old + shifts[0].sign * shifts[0].length

    def _without(self, mentions: Sequence[TimeMention]) -> str:
        """The text without some of its parts."""
        rest = self.text
        for mention in sorted(mentions, key=lambda each: -each.start):
            rest = f"{rest[: mention.start]} {rest[mention.end :]}"
        return rest


def _called(contact: Contact) -> str:
    return f"{contact.name} {contact.more.get('nickname') or ''}"
