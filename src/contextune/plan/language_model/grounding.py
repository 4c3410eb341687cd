"""Ground a model's arguments: accept only values found in the request, the contacts or the items' fields.

This defends against prompt injection. Whatever a mail talks a model into, an email address, URL or phone
number that occurs only in the running text of an item is refused.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any, cast

from contextune.plan.planning_input import PlanningInput
from contextune.plan.schema import Parameter, is_valid
from contextune.plan.values import (
    find_durations,
    find_numbers,
    normalize_text,
    normalize_time,
    normalize_value,
    parse_duration,
)
from contextune.reading.texts import LONG_FIELDS, contact_keys
from contextune.search import tokenize
from contextune.search.tokenize import alnum_key
from contextune.types import Argument, Contact, Item, Source, local_time

_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]+\.\w[\w.]*|https?://\S+|www\.\S+|\+?\d[\d\s().-]{5,}\d")
"""Email addresses, URLs and phone numbers."""
_MIN_QUOTE = 3
"""Least characters of a value that is a part of an item's field."""
_UNITS = (1, 60, 3600, 86400)
"""Seconds in the units in which tools count durations."""


class UngroundedError(Exception):
    """A value was not found. The message is sent to the model, and contains nothing but its own output."""


@dataclass(frozen=True, eq=False)
class Grounder:
    """Finds the sources of a model's values."""

    inputs: PlanningInput

    def ground(self, value: Any, parameter: Parameter) -> Argument:
        """Return the value with its source; raise `UngroundedError` if it has none."""
        if not is_valid(value, parameter):
            raise UngroundedError(f"{parameter.name} cannot be {_short(value)}")
        match parameter.kind:
            case "free" | "other":
                self._check_addresses(value, parameter)
                source = self._equal_field(value) or Source("frame", words=self.inputs.request.text)
                return Argument(value, (source,))
            case "choice" | "boolean":
                return Argument(value, (Source("choice"),))
            case "list":
                return self._list(cast("Sequence[Any]", value), parameter)
            case "moment" | "day":
                source = self._time(value, day=parameter.kind == "day")
            case "duration":
                source = self._duration(value)
            case "number" | "integer":
                source = self._number(value, parameter)
            case _:
                return self._text(value, parameter)
        if source is None:
            raise _not_found(parameter, value)
        return Argument(value, (source,))

    def _list(self, values: Sequence[Any], parameter: Parameter) -> Argument:
        parts: list[Any] = []
        sources: list[Source] = []
        for value in values:
            if isinstance(value, str):
                part = self._text(value, parameter)
            elif isinstance(value, int | float) and not isinstance(value, bool):
                source = self._number(value, parameter)
                if source is None:
                    raise _not_found(parameter, value)
                part = Argument(value, (source,))
            else:
                self._check_addresses(value, parameter)
                part = Argument(value, (Source("frame", words=self.inputs.request.text),))
            parts.append(part.value)
            sources += part.sources
        return Argument(parts, tuple(dict.fromkeys(sources)))

    def _text(self, value: str, parameter: Parameter) -> Argument:
        """A person, a field of an item, words of the request, or words of both."""
        people = self.inputs.people
        if (contact := self._contact(value)) is not None:
            return Argument(value, (Source("contact", contact.name, words=contact.name),))
        if (field := self._equal_field(value)) is not None:
            return Argument(self._spelling(field, value), (field,))
        if (source := self._person(value) or self._own(value) or self._quote(value)) is not None:
            return Argument(value, (source,))
        # an address may come only from what was checked above, never from running text
        if not _ADDRESS.search(value) and (source := self._in_item(value) or self._composed(value)):
            return Argument(value, (source,))
        if parameter.default is not None and normalize_value(value, parameter, people) == normalize_value(
            parameter.default, parameter, people
        ):
            return Argument(value, (Source("choice"),))
        raise _not_found(parameter, value)

    def _contact(self, value: str) -> Contact | None:
        if (contact := self.inputs.people.get(value)) is not None:
            return contact
        wanted = normalize_text(value)
        return self._contact_keys.get(wanted)

    @cached_property
    def _contact_keys(self) -> Mapping[str, Contact]:
        keys: dict[str, Contact] = {}
        for contact in self.inputs.user.contacts:
            for key in contact_keys(contact):
                keys.setdefault(normalize_text(key), contact)
        return keys

    def _equal_field(self, value: Any) -> Source | None:
        """The field of an item that has exactly this text; no title or running text that is an address."""
        wanted = normalize_text(value) if isinstance(value, str) else ""
        is_address = bool(wanted) and _ADDRESS.search(value) is not None
        for item in self.inputs.items if wanted else ():
            title = item.schema.title
            if not is_address and normalize_text(item.title) == wanted:
                return Source("item", item.id, title)
            for name, text in item.fields.items():
                if is_address and (name == title or name in LONG_FIELDS):
                    continue
                if isinstance(text, str) and normalize_text(text) == wanted:
                    return Source("item", item.id, name)
        return None

    def _spelling(self, source: Source, value: str) -> str:
        """The text of the field as it is written there; the model's, for a title of several fields."""
        item = next(item for item in self.inputs.items if item.id == source.item)
        text = item.fields.get(source.field or "")
        return text if isinstance(text, str) and normalize_text(text) == normalize_text(value) else value

    def _person(self, value: str) -> Source | None:
        """Somebody in a people field of an item."""
        wanted = normalize_text(value)
        for item in self.inputs.items:
            if any(normalize_text(person) == wanted for person in item.people):
                return Source("item", item.id, next(iter(item.schema.people), None), words=value)
        return None

    def _own(self, value: str) -> Source | None:
        """An address of the user, or a value of the profile."""
        user, wanted = self.inputs.user, normalize_text(value)
        if wanted in {normalize_text(address) for address in user.addresses}:
            return Source("profile", words=value)
        for name, text in user.profile.items():
            if any(normalize_text(part) == wanted for part in _strings(text)):
                return Source("profile", field=name, words=value)
        places = {name: text for name, text in user.places.items() if isinstance(text, str)}
        for name, text in places.items():
            if wanted == normalize_text(text):
                return Source("place", field=name, words=value)
        return None

    def _quote(self, value: str) -> Source | None:
        """Words of the request or of the conversation before it."""
        wanted = normalize_text(value)
        if not wanted:
            return None
        said = (self.inputs.request.text, *(turn.text for turn in self.inputs.request.history))
        key = alnum_key(value)
        if any(wanted in normalize_text(text) for text in said) or (
            len(key) >= _MIN_QUOTE and any(key in alnum_key(text) for text in said)
        ):
            return Source("said", words=value)
        return None

    def _in_item(self, value: str) -> Source | None:
        """Whole words of a field of an item."""
        words = tokenize(value)
        wanted = f" {' '.join(words)} "
        if len(wanted.strip()) < _MIN_QUOTE:
            return None
        for item in self.inputs.items:
            for name, text in _fields(item):
                if wanted in f" {' '.join(tokenize(text))} ":
                    return Source("item", item.id, name, words=value)
        return None

    def _composed(self, value: str) -> Source | None:
        """Words of the request, or of the request and one item, in another order."""
        words = frozenset(tokenize(value))
        missing = words - self._said_words
        if not words:
            return None
        if not missing:
            return Source("said", words=value)
        if missing < words:
            for item, tokens in zip(self.inputs.items, self.inputs.item_tokens, strict=True):
                if missing <= tokens:
                    return Source("item", item.id, words=value)
        return None

    @cached_property
    def _said_words(self) -> frozenset[str]:
        history = (tokenize(turn.text) for turn in self.inputs.request.history)
        return frozenset(self.inputs.tokens).union(*history)

    def _time(self, value: Any, *, day: bool) -> Source | None:
        wanted = normalize_time(value, day=day)
        if wanted is None:
            return None
        for item in self.inputs.items:
            for name, time in _times(item):
                local = local_time(time, self.inputs.user.zone) if isinstance(time, datetime) else time
                if normalize_time(local, day=day) == wanted:
                    return Source("item", item.id, name)
        if self._mentions_time:
            return Source("time", words=self.inputs.request.text)
        # today needs no words: "what is the weather"
        is_today = day and wanted == self.inputs.now.date().isoformat()
        return Source("time", words=self.inputs.request.text) if is_today else None

    @cached_property
    def _mentions_time(self) -> bool:
        times = self.inputs.times
        return bool(
            times.days or times.clocks or times.shifts or times.day_offsets or self.inputs.time_phrases
        )

    def _duration(self, value: Any) -> Source | None:
        length = parse_duration(str(value))
        texts = (self.inputs.request.text, *(turn.text for turn in self.inputs.request.history))
        if length is not None and any(
            length == found for text in texts for found, _, _ in find_durations(text)
        ):
            return Source("said", words=str(value))
        return self._quote(str(value))

    def _number(self, value: float, parameter: Parameter) -> Source | None:
        """A number or a duration of the request, the default, or a number of an item."""
        if parameter.default is not None and value == parameter.default:
            return Source("choice")
        for text in (self.inputs.request.text, *(turn.text for turn in self.inputs.request.history)):
            if any(number == value for number, _ in find_numbers(text)):
                return Source("said", words=str(value))
            for length, start, end in find_durations(text):
                if any(length.total_seconds() == value * unit for unit in _UNITS):
                    return Source("said", words=text[start:end])
        for item in self.inputs.items:
            for name, text in _fields(item):
                if any(number == value for number, _ in find_numbers(text[:20_000])):
                    return Source("item", item.id, name, words=str(value))
        return None

    def _check_addresses(self, value: Any, parameter: Parameter) -> None:
        """Refuse free text with an address that is neither in the request nor of a known person."""
        allowed: list[str] | None = None
        for address in _ADDRESS.findall(" ".join(_strings(value))):
            allowed = allowed or [
                alnum_key(text) for text in (self.inputs.request.text, *self._known_addresses())
            ]
            if not any(alnum_key(address) in text for text in allowed):
                raise UngroundedError(
                    f"{parameter.name} names {_short(address)}, not found in the request or the contacts"
                )

    def _known_addresses(self) -> list[str]:
        """Addresses and numbers of contacts and of the user, and the people fields of items."""
        addresses = [key for contact in self.inputs.user.contacts for key in contact_keys(contact)]
        addresses += self.inputs.user.addresses
        for item in self.inputs.items:
            addresses += [person for person in item.people if person]
        return addresses


def _not_found(parameter: Parameter, value: Any) -> UngroundedError:
    return UngroundedError(
        f"{parameter.name} {_short(value)} is not found in the request, the people or the items"
    )


def _fields(item: Item) -> Iterator[tuple[str, str]]:
    yield item.schema.title, item.title
    for name, value in item.fields.items():
        for text in _strings(value):
            yield name, text


def _times(item: Item) -> Iterator[tuple[str, datetime | date]]:
    for role, time in item.times.items():
        yield item.schema.times.get(role, role), time


def _strings(value: Any) -> Iterator[str]:
    """All texts and numbers in a value."""
    if isinstance(value, Mapping):
        for part in cast("Mapping[str, Any]", value).values():
            yield from _strings(part)
    elif isinstance(value, list | tuple):
        for part in cast("Sequence[Any]", value):
            yield from _strings(part)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…'"
