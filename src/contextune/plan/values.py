"""Values by type: what people say brought into the form a schema asks for, and two values compared.

"tomorrow at nine" is a time once it is known when that was said; a contact's name, address and number
are one person; "half an hour" and PT30M are one duration.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any, cast

from contextune.context.signals.people import synonyms
from contextune.plan.schema import Parameter
from contextune.search import tokenize
from contextune.types import Contact, local_time

_ONE_TO_TWELVE = (
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
NUMBERS: Mapping[str, int] = {
    **{word: number for number, word in enumerate(_ONE_TO_TWELVE, 1)},
    "a": 1,
    "an": 1,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
}
_UNITS = {"second": 1, "minute": 60, "min": 60, "hour": 3600, "hr": 3600, "day": 86400, "week": 604800}
_COUNT = rf"\d+(?:[.,]\d+)?|{'|'.join(sorted(NUMBERS, key=len, reverse=True))}"
_UNIT = r"second|minute|min|hour|hr|day|week"
_DURATION = re.compile(
    rf"\b(?:(?P<half>half an?|(?:a )?quarter of an) (?P<of>hour)"
    rf"|(?P<count>{_COUNT})(?P<and>(?: and)? (?:a )?half)?(?: extra| full| whole| good)? ?(?P<unit>{_UNIT})s?"
    rf"(?P<tail> and a half)?)\b",
    re.IGNORECASE,
)
_ISO_DURATION = re.compile(
    r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)
_NUMBER = re.compile(
    rf"(?<![\w.])-?\d+(?:[.,]\d+)?(?![\w])|\b(?:{'|'.join(w for w in NUMBERS if len(w) > 2)})\b"
)
_EDGES = " \t\n.,;:!?…'\"“”‘’«»()[]"
_IDLE = frozenset(["the", "and", "of", "at", "my", "s", "in", "law", "for", "a", "from", "to", "who"])


class ContactLookup:
    """Whom the user knows: one person may go by name, address and number."""

    def __init__(self, contacts: Iterable[Contact]) -> None:
        self.contacts = tuple(contacts)
        self._known: dict[str, int] = {}
        for number, contact in enumerate(self.contacts):
            for key in (contact.name, contact.email, contact.phone):
                if key:
                    self._known.setdefault(text_form(key), number)

    def number(self, value: object) -> int | None:
        """Which contact goes by this name, address or number, by place in the list."""
        return self._known.get(text_form(value)) if isinstance(value, str) else None

    def of(self, value: object) -> Contact | None:
        """The contact of this name, address or number."""
        number = self.number(value)
        return None if number is None else self.contacts[number]

    @cached_property
    def first_names(self) -> Mapping[str, Sequence[int]]:
        """Who goes by each first name, by place in the list."""
        found: dict[str, list[int]] = {}
        for number, contact in enumerate(self.contacts):
            if name := text_form(contact.name).split():
                found.setdefault(name[0], []).append(number)
        return found

    @cached_property
    def _names(self) -> list[frozenset[str]]:
        return [frozenset(tokenize(contact.name)) for contact in self.contacts]

    @cached_property
    def _relations(self) -> list[frozenset[str]]:
        return [frozenset(tokenize(contact.relation or "")) - _IDLE for contact in self.contacts]

    def named(self, said: Sequence[str]) -> list[int]:
        """For each contact, how many words of the name are said."""
        spoken = frozenset(word for word in said if len(word) > 2)  # "Al" is also how many words end
        return [len(name & spoken) for name in self._names]

    def related(self, said: Sequence[str]) -> list[int]:
        """For each contact, how many words are said for what they are to the user; plurals count."""
        spoken = frozenset(
            one for word in said for form in (word, word.removesuffix("s")) for one in synonyms(form)
        )
        return [len(relation & spoken) for relation in self._relations]

    def find(self, said: str) -> list[Contact]:
        """Those who are meant by a name, an address, a number or a relation, the best match first."""
        if (known := self.of(said)) is not None:
            return [known]
        spoken = tokenize(said)
        scores = [2 * a + b for a, b in zip(self.named(spoken), self.related(spoken), strict=True)]
        order = sorted(range(len(scores)), key=lambda number: -scores[number])
        return [self.contacts[number] for number in order if scores[number]]


NOBODY = ContactLookup(())


@lru_cache(maxsize=64)
def people_of(contacts: tuple[Contact, ...]) -> ContactLookup:
    """Whom a user knows; remembered, since it is the same for one request after the other."""
    return ContactLookup(contacts)


def text_form(value: str) -> str:
    """A text as far as it says something: case, width, spaces and the marks around it do not."""
    folded = unicodedata.normalize("NFKC", value).casefold()
    return " ".join(folded.split()).strip(_EDGES)


def normal(value: Any, parameter: Parameter | None = None, people: ContactLookup = NOBODY) -> object:
    """What two values have in common that mean the same; None where the value is not of the type."""
    kind = parameter.kind if parameter else None
    if kind == "list" or isinstance(value, list | tuple):
        if not isinstance(value, list | tuple):
            return None
        parts = [normal(part, None, people) for part in cast("Sequence[Any]", value)]
        # who is on a call is a set, in whatever order they were named; two numbers are mostly from and to
        named = all(isinstance(part, str) for part in cast("Sequence[Any]", value))
        return tuple(sorted(parts, key=repr)) if named else tuple(parts)
    if kind in ("moment", "day"):
        return time_form(value, day=kind == "day")
    if kind == "duration":
        found = value if isinstance(value, timedelta) else duration(str(value))
        return found.total_seconds() if found is not None else None
    if kind == "boolean" or isinstance(value, bool):
        return ("bool", value) if isinstance(value, bool) else None
    if isinstance(value, int | float):
        return None if kind in ("text", "free") else float(value)
    if kind in ("number", "integer"):
        return None
    if isinstance(value, str):
        number = people.number(value)
        return text_form(value) if number is None else ("contact", number)
    return repr(value)


def time_form(value: object, *, day: bool = False) -> str | None:
    """A time to the minute, or a day, as ISO 8601; None for what is no time."""
    try:
        found = value if isinstance(value, datetime | date) else datetime.fromisoformat(str(value))
    except ValueError:
        return None
    if not isinstance(found, datetime):
        return found.isoformat() if day else None
    if day:
        return found.date().isoformat()
    bare = isinstance(value, str) and "T" not in value.upper() and ":" not in value
    return None if bare else found.isoformat(timespec="minutes")


def numbers(text: str) -> list[tuple[float, str]]:
    """The numbers of a text, with the words they stand in."""
    found: list[tuple[float, str]] = []
    for match in _NUMBER.finditer(text.casefold()):
        word = match.group()
        found.append((float(NUMBERS[word] if word in NUMBERS else word.replace(",", ".")), word))
    return found


def durations(text: str) -> list[tuple[timedelta, int, int]]:
    """How long: "half an hour", "two weeks", "90 min", each with where it stands."""
    found: list[tuple[timedelta, int, int]] = []
    for match in _DURATION.finditer(text):
        if match["of"]:
            seconds = 3600 * (0.5 if match["half"].casefold().startswith("half") else 0.25)
        else:
            count = match["count"].casefold()
            amount = float(NUMBERS[count] if count in NUMBERS else count.replace(",", "."))
            amount += 0.5 if match["and"] or match["tail"] else 0
            seconds = amount * _UNITS[match["unit"].casefold()]
        found.append((timedelta(seconds=seconds), match.start(), match.end()))
    return found


def duration(text: str) -> timedelta | None:
    """A duration as ISO 8601 writes it, as in PT30M, or as people say it."""
    if (match := _ISO_DURATION.fullmatch(text.strip())) and any(match.groups()):
        weeks, days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
        return timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    found = durations(text)
    return found[0][0] if found else None


def iso_duration(length: timedelta) -> str:
    """As JSON Schema's format `duration` has it."""
    minutes, seconds = divmod(int(length.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    clock = "".join(f"{n}{unit}" for n, unit in ((hours, "H"), (minutes, "M"), (seconds, "S")) if n)
    return f"P{f'{days}D' if days else ''}{f'T{clock}' if clock else ''}" if days or clock else "PT0S"


def iso(time: datetime) -> str:
    """A moment as plans have it: the user's wall clock, to the minute."""
    return local_time(time, None).isoformat(timespec="minutes")
