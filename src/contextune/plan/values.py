"""Parse and normalise argument values: contacts, times, durations, numbers, text.

Normalised values can be compared: a contact's name, email address and phone number are one person,
"half an hour" and PT30M are one duration.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any, cast

from contextune.context.signals.people import relation_synonyms
from contextune.plan.schema import Parameter
from contextune.search import tokenize
from contextune.time_phrases.durations import find_duration_words
from contextune.time_phrases.number_words import CARDINAL_WORDS, parse_number
from contextune.time_phrases.phrase import fold
from contextune.types import Contact, local_time

_ISO_DURATION = re.compile(
    r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)
_NUMBER = re.compile(rf"(?<![\w.])-?\d+(?:[.,]\d+)?(?![\w])|\b(?:{CARDINAL_WORDS})\b")
ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
"""An email address."""
_EDGES = " \t\n.,;:!?…'\"“”‘’«»()[]"
_STOP_WORDS = frozenset(["the", "and", "of", "at", "my", "s", "in", "law", "for", "a", "from", "to", "who"])


class ContactLookup:
    """A user's contacts, found by name, email address, phone number or relation."""

    def __init__(self, contacts: Iterable[Contact]) -> None:
        self.contacts = tuple(contacts)
        self._indexes: dict[str, int] = {}
        for index, contact in enumerate(self.contacts):
            for key in (contact.name, contact.email, contact.phone):
                if key:
                    self._indexes.setdefault(normalize_text(key), index)

    def index(self, value: object) -> int | None:
        """The index of the contact with exactly this name, address or number."""
        return self._indexes.get(normalize_text(value)) if isinstance(value, str) else None

    def get(self, value: object) -> Contact | None:
        """The contact with exactly this name, address or number."""
        index = self.index(value)
        return None if index is None else self.contacts[index]

    @cached_property
    def first_names(self) -> Mapping[str, Sequence[int]]:
        """The indexes of the contacts with each first name."""
        indexes: dict[str, list[int]] = {}
        for index, contact in enumerate(self.contacts):
            if name := normalize_text(contact.name).split():
                indexes.setdefault(name[0], []).append(index)
        return indexes

    @cached_property
    def _names(self) -> list[frozenset[str]]:
        return [frozenset(tokenize(contact.name)) for contact in self.contacts]

    @cached_property
    def _relations(self) -> list[frozenset[str]]:
        return [frozenset(tokenize(contact.relation or "")) - _STOP_WORDS for contact in self.contacts]

    def count_name_matches(self, tokens: Sequence[str]) -> list[int]:
        """For each contact, count the words of the name among the tokens."""
        # short tokens are mostly other words than names: "al", "jo"
        words = frozenset(token for token in tokens if len(token) > 2)
        return [len(name & words) for name in self._names]

    def count_relation_matches(self, tokens: Sequence[str]) -> list[int]:
        """For each contact, count the words of the relation, or synonyms or plurals, among the tokens."""
        words = frozenset(
            synonym
            for token in tokens
            for form in (token, token.removesuffix("s"))
            for synonym in relation_synonyms(form)
        )
        return [len(relation & words) for relation in self._relations]

    def search(self, text: str) -> list[Contact]:
        """The contacts that match a name, an address, a number or a relation, best first."""
        if (contact := self.get(text)) is not None:
            return [contact]
        tokens = tokenize(text)
        names, relations = self.count_name_matches(tokens), self.count_relation_matches(tokens)
        scores = [2 * a + b for a, b in zip(names, relations, strict=True)]
        order = sorted(range(len(scores)), key=lambda index: -scores[index])
        return [self.contacts[index] for index in order if scores[index]]


NO_CONTACTS = ContactLookup(())


@lru_cache(maxsize=64)
def contact_lookup(contacts: tuple[Contact, ...]) -> ContactLookup:
    """A cached `ContactLookup`: the contacts are mostly the same from request to request."""
    return ContactLookup(contacts)


def normalize_text(value: str) -> str:
    """Fold case, width and spaces, and strip surrounding punctuation."""
    folded = value.lower() if value.isascii() else unicodedata.normalize("NFKC", value).casefold()
    return " ".join(folded.split()).strip(_EDGES)


def normalize_value(
    value: Any, parameter: Parameter | None = None, people: ContactLookup = NO_CONTACTS
) -> object:
    """A form that is equal for values of equal meaning; None if the value has the wrong type."""
    kind = parameter.kind if parameter else None
    if kind == "list" or isinstance(value, list | tuple):
        if not isinstance(value, list | tuple):
            return None
        parts = [normalize_value(part, None, people) for part in cast("Sequence[Any]", value)]
        # names, such as participants, are a set; the order of numbers matters, as in "from, to"
        is_set = all(isinstance(part, str) for part in cast("Sequence[Any]", value))
        return tuple(sorted(parts, key=repr)) if is_set else tuple(parts)
    if kind in ("moment", "day"):
        return normalize_time(value, day=kind == "day")
    if kind == "duration":
        length = value if isinstance(value, timedelta) else parse_duration(str(value))
        return length.total_seconds() if length is not None else None
    if kind == "boolean" or isinstance(value, bool):
        return ("bool", value) if isinstance(value, bool) else None
    if isinstance(value, int | float):
        return None if kind in ("text", "free") else float(value)
    if kind in ("number", "integer"):
        return None
    if isinstance(value, str):
        index = people.index(value)
        return normalize_text(value) if index is None else ("contact", index)
    return repr(value)


def normalize_time(value: object, *, day: bool = False) -> str | None:
    """A time to the minute, or a day, in ISO 8601; None if the value is neither."""
    try:
        time = value if isinstance(value, datetime | date) else datetime.fromisoformat(str(value))
    except ValueError:
        return None
    if not isinstance(time, datetime):
        return time.isoformat() if day else None
    if day:
        return time.date().isoformat()
    has_no_clock = isinstance(value, str) and "T" not in value.upper() and ":" not in value
    return None if has_no_clock else time.isoformat(timespec="minutes")


def find_numbers(text: str) -> list[tuple[float, str]]:
    """The numbers in a text, each with its spelling."""
    numbers: list[tuple[float, str]] = []
    for match in _NUMBER.finditer(text.casefold()):
        word = match.group()
        value = float(word.replace(",", ".")) if word.lstrip("-")[0].isdigit() else parse_number(word)
        numbers.append((float(value), word))
    return numbers


def find_durations(text: str) -> list[tuple[timedelta, int, int]]:
    """The durations in a text ("half an hour", "90 min"), each with its start and end."""
    durations = find_duration_words(fold(text))
    # months and years have no fixed length
    return [(duration.delta, start, end) for duration, start, end in durations if not duration.months]


def parse_duration(text: str) -> timedelta | None:
    """Parse a duration in ISO 8601 (PT30M) or in words."""
    if (match := _ISO_DURATION.fullmatch(text.strip())) and any(match.groups()):
        weeks, days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
        return timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    durations = find_durations(text)
    return durations[0][0] if durations else None


def format_duration(length: timedelta) -> str:
    """Format a duration in ISO 8601, as JSON Schema's format `duration` requires."""
    minutes, seconds = divmod(int(length.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    clock = "".join(f"{n}{unit}" for n, unit in ((hours, "H"), (minutes, "M"), (seconds, "S")) if n)
    return f"P{f'{days}D' if days else ''}{f'T{clock}' if clock else ''}" if days or clock else "PT0S"


def format_time(time: datetime) -> str:
    """Format a time as plans have it: local time, to the minute."""
    return local_time(time, None).isoformat(timespec="minutes")
