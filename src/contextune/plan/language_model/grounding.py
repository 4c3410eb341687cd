"""Ground a model's arguments: accept only values found in the request, the contacts or the items' fields.

This defends against prompt injection. Whatever a mail talks a model into, an email address, URL or phone
number that occurs only in the running text of an item is refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.pointer.values.candidates import find_candidates
from contextune.plan.schema import Parameter, is_valid
from contextune.plan.values import normalize_text, normalize_value
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
        if (candidate := self._candidate(value, parameter)) is not None:
            return Argument(candidate.value, candidate.sources)
        if (quote := self._quote(value, parameter)) is not None:
            return Argument(value, (quote,))
        if parameter.kind in ("moment", "day") and _mentions_time(self.inputs):
            return Argument(value, (Source("time", words=self.inputs.request.text),))
        raise UngroundedError(f"{parameter.name} {_short(value)} stands nowhere")

    def _candidate(self, value: Any, parameter: Parameter) -> Candidate | None:
        people = self.inputs.people
        wanted = normalize_value(value, parameter, people)
        if wanted is None:
            return None
        equal = [
            candidate
            for candidate in find_candidates(self.inputs, parameter)
            if not candidate.is_omitted
            and normalize_value(candidate.value, parameter, people) == wanted
            and not _is_address_in_text(candidate)
        ]
        # a person has several names: prefer the one that the model wrote
        return next(
            (candidate for candidate in equal if candidate.value == value), equal[0] if equal else None
        )

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


def _is_address_in_text(candidate: Candidate) -> bool:
    """Whether it is an address or a number from the running text of an item."""
    return (
        candidate.span is not None
        and candidate.item is not None
        and bool(_ADDRESS.search(str(candidate.value)))
    )


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
