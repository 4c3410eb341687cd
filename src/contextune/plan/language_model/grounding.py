"""Holds what a language model wrote against what there is: a value that stands nowhere is no value.

Whatever a model was talked into by a mail or a page, a call is made of what the request says, what the
address book knows, and what the fields of items hold. An address or a number that stands only in somebody's
running text is nobody's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.candidates import Candidate, candidates
from contextune.plan.schema import Parameter, fits
from contextune.plan.values import normal, text_form
from contextune.search.tokenize import alnum_key
from contextune.types import Argument, Source

_REACHES = re.compile(r"[\w.+-]+@[\w-]+\.\w[\w.]*|https?://\S+|www\.\S+|\+?\d[\d\s().-]{5,}\d")
"""What something can be sent to."""


class UngroundedError(Exception):
    """A value that stands nowhere. The message goes back to the model, and holds its own words alone."""


@dataclass(frozen=True)
class Grounder:
    """What there is for a call."""

    situation: PlanningInput

    def argument(self, value: Any, parameter: Parameter) -> Argument:
        """The value with where it stands; `UngroundedError` where it does not."""
        if not fits(value, parameter):
            raise UngroundedError(f"{parameter.name} cannot be {_short(value)}")
        if parameter.kind in ("free", "other"):
            self._reaches_nobody_new(value, parameter)
            return Argument(value, (self._held(value) or Source("frame", words=self.situation.request.text),))
        if (found := self._found(value, parameter)) is not None:
            return Argument(found.value, found.sources)
        if (text := self._quoted(value, parameter)) is not None:
            return Argument(value, (text,))
        if parameter.kind in ("moment", "day") and _speaks_of_time(self.situation):
            return Argument(value, (Source("time", words=self.situation.request.text),))
        raise UngroundedError(f"{parameter.name} {_short(value)} stands nowhere")

    def _found(self, value: Any, parameter: Parameter) -> Candidate | None:
        people = self.situation.people
        wanted = normal(value, parameter, people)
        if wanted is None:
            return None
        fitting = [
            one
            for one in candidates(self.situation, parameter)
            if not one.left_out and normal(one.value, parameter, people) == wanted and not _in_passing(one)
        ]
        # one person goes by several names: the one that was written, if it stands anywhere
        return next((one for one in fitting if one.value == value), fitting[0] if fitting else None)

    def _held(self, value: Any) -> Source | None:
        """The field that is the text, word by word."""
        wanted = text_form(value) if isinstance(value, str) else ""
        for item in self.situation.items if wanted else ():
            for name, held in item.fields.items():
                if isinstance(held, str) and text_form(held) == wanted:
                    return Source("item", item.id, name)
        return None

    def _quoted(self, value: Any, parameter: Parameter) -> Source | None:
        """Words of the request that no candidate is cut from."""
        if parameter.kind != "text" or not isinstance(value, str):
            return None
        said, text = text_form(self.situation.request.text), text_form(value)
        return Source("said", words=value) if text and text in said else None

    def _reaches_nobody_new(self, value: Any, parameter: Parameter) -> None:
        known: list[str] | None = None
        for found in _REACHES.findall(_texts(value)):
            known = known or [alnum_key(text) for text in (self.situation.request.text, *self._known())]
            if not any(alnum_key(found) in text for text in known):
                raise UngroundedError(f"{parameter.name} names {_short(found)}, which stands nowhere")

    def _known(self) -> list[str]:
        """Addresses and numbers of contacts, and the short fields of items."""
        contacts = self.situation.user.contacts
        found = [text for one in contacts for text in (one.email, one.phone) if text]
        for item in self.situation.items:
            found += [person for person in item.people if person]
        return found


def _in_passing(one: Candidate) -> bool:
    """Whether it is an address or a number that is only mentioned somewhere in an item's text."""
    return one.span is not None and one.item is not None and bool(_REACHES.search(str(one.value)))


def _speaks_of_time(situation: PlanningInput) -> bool:
    times = situation.times
    return bool(times.days or times.clocks or times.shifts or times.steps)


def _texts(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(map(_texts, value.values()))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return " ".join(map(_texts, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…'"
