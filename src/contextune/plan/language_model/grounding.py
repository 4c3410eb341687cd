"""Ground a model's arguments: accept only values found in the request, the contacts or the items' fields.

This defends against prompt injection. Whatever a mail talks a model into, an email address, URL or phone
number that occurs only in the running text of an item is refused.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from contextune.plan.arguments.candidates import RequestValues, ValueCandidate, fits
from contextune.plan.arguments.leaves import Leaf
from contextune.plan.arguments.options import plain_values
from contextune.plan.planning_input import PlanningInput
from contextune.plan.schema import Parameter, is_valid, parameter_of
from contextune.plan.values import find_durations, normalize_text, normalize_value
from contextune.reading.texts import Names
from contextune.search.tokenize import alnum_key
from contextune.types import Argument, Source

_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]+\.\w[\w.]*|https?://\S+|www\.\S+|\+?\d[\d\s().-]{5,}\d")
"""Email addresses, URLs and phone numbers."""


class UngroundedError(Exception):
    """A value was not found. The message is sent to the model, and contains nothing but its own output."""


@dataclass(frozen=True)
class Grounder:
    """Finds the sources of a model's values."""

    inputs: PlanningInput

    def ground(self, value: Any, parameter: Parameter) -> Argument:
        """Return the value with its source; raise `UngroundedError` if it has none."""
        if not is_valid(value, parameter):
            raise UngroundedError(f"{parameter.name} cannot be {_short(value)}")
        if parameter.kind in ("free", "other"):
            self._check_addresses(value, parameter)
            return Argument(
                value, (self._equal_field(value) or Source("frame", words=self.inputs.request.text),)
            )
        if (argument := self._same(value, parameter)) is not None:
            return argument
        if parameter.kind in ("moment", "day") and _mentions_time(self.inputs):
            return Argument(value, (Source("time", words=self.inputs.request.text),))
        raise UngroundedError(f"{parameter.name} {_short(value)} stands nowhere")

    @cached_property
    def _values(self) -> RequestValues:
        return RequestValues(self.inputs, Names(self.inputs.user))

    def _same(self, value: Any, parameter: Parameter) -> Argument | None:
        """The value with the sources that have an equal one; None if none has."""
        match parameter.kind:
            case "list":
                return self._list(value, parameter)
            case "choice" | "boolean":
                return Argument(value, (Source("choice", words=str(value)),))
            case "duration":
                source = self._duration(value, parameter)
            case _:
                source = self._own(value) or self._equal_field(value)
        if source is None and (candidate := self._candidate(value, parameter)) is not None:
            return candidate
        source = source or self._quote(value, parameter)
        return None if source is None else Argument(value, (source,))

    def _list(self, value: Sequence[Any], parameter: Parameter) -> Argument | None:
        """A list of which every element has a source."""
        element = parameter_of(parameter.name, parameter.schema.get("items") or {}, required=True)
        found = [self._same(part, element) for part in value]
        sources = dict.fromkeys(source for part in found if part is not None for source in part.sources)
        return Argument(value, tuple(sources)) if found and None not in found else None

    def _candidate(self, value: Any, parameter: Parameter) -> Argument | None:
        leaf, people = Leaf((parameter.name,), parameter, parameter.required), self.inputs.people
        wanted = normalize_value(value, parameter, people)
        for candidate in self._values.candidates([leaf]) if wanted is not None else ():
            if candidate.contact is None and not _is_address_in_text(candidate) and fits(candidate, leaf):
                for shown in plain_values(candidate, leaf):
                    if normalize_value(shown, parameter, people) == wanted:
                        return Argument(shown, (candidate.source,))
        return None

    def _duration(self, value: Any, parameter: Parameter) -> Source | None:
        wanted, request = normalize_value(value, parameter), self.inputs.request.text
        for length, start, end in find_durations(request):
            if length.total_seconds() == wanted:
                return Source("said", words=request[start:end])
        return None

    def _own(self, value: Any) -> Source | None:
        """The contact, the place or the city of the user that a value is."""
        if (contact := self.inputs.people.get(value)) is not None:
            return Source("contact", contact.name)
        user, wanted = self.inputs.user, normalize_text(str(value))
        if wanted and normalize_text(str(user.profile.get("city") or "")) == wanted:
            return Source("profile", field="city")
        place = next((name for name in user.places if normalize_text(name.replace("_", " ")) == wanted), None)
        return Source("place", field=place) if place else None

    def _equal_field(self, value: Any) -> Source | None:
        """The field of an item that has exactly this text."""
        wanted = normalize_text(value) if isinstance(value, str) else ""
        for item in self.inputs.items if wanted else ():
            for name, text in item.fields.items():
                if isinstance(text, str) and normalize_text(text) == wanted:
                    return Source("item", item.id, name)
        return None

    def _quote(self, value: Any, parameter: Parameter) -> Source | None:
        """Words of the request that are no candidate by themselves."""
        if parameter.kind != "text" or not isinstance(value, str):
            return None
        request, text = normalize_text(self.inputs.request.text), normalize_text(value)
        return Source("said", words=value) if text and text in request else None

    def _check_addresses(self, value: Any, parameter: Parameter) -> None:
        """Refuse free text with an address that is neither in the request nor of a known person."""
        allowed: list[str] | None = None
        for address in _ADDRESS.findall(_texts(value)):
            allowed = allowed or [
                alnum_key(text) for text in (self.inputs.request.text, *self._known_addresses())
            ]
            if not any(alnum_key(address) in text for text in allowed):
                raise UngroundedError(f"{parameter.name} names {_short(address)}, which stands nowhere")

    def _known_addresses(self) -> list[str]:
        """Addresses and numbers of contacts, and the people fields of items."""
        contacts = self.inputs.user.contacts
        addresses = [text for contact in contacts for text in (contact.email, contact.phone) if text]
        for item in self.inputs.items:
            addresses += [person for person in item.people if person]
        return addresses


def _is_address_in_text(candidate: ValueCandidate) -> bool:
    """Whether it is an address or a number from the running text of an item."""
    source = candidate.source
    is_in_text = candidate.group == "field" and source.kind == "item" and source.field is None
    return is_in_text and _ADDRESS.search(str(candidate.value)) is not None


def _mentions_time(inputs: PlanningInput) -> bool:
    times = inputs.times
    return bool(times.days or times.clocks or times.shifts or times.day_offsets)


def _texts(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(map(_texts, value.values()))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return " ".join(map(_texts, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…'"
