"""What became of a request: the outcomes of the reference scorer of the worlds, `score.py`.

The rules are those of the reference, and the figures must agree with it exactly (tests/lab/worlds compares).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import Any, cast

from contextune._internal.phrases import phrases
from contextune.evaluate.requests import WorldCall, WorldRequest
from contextune.plan import Pointer, Steps
from contextune.types import Contact, Plan

_UNASKED = frozenset(
    phrases("""
        start_time, end_time, date, due_time, start, end, due, when, participants, attendees, recipient
        recipients, to, contact, contacts, sender, from
    """)
)
"""Arguments that make a call wrong if nobody asked for them; other ones more are let pass."""
_MIN_OVERLAP = 0.45
"""Least share of common words of a value whose wording is the assistant's own."""
_MINUTE = re.compile(r"(\d{4}-\d\d-\d\d)[t ](\d\d:\d\d).*")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER = re.compile(r"\+?\d{7,15}")
_STEP_VALUE = re.compile(r"\$(?P<step>\d+)(?:\..*)?")


class Outcome(StrEnum):
    """What became of a request."""

    RIGHT = "right"
    """The call is right and made, or it was right to ask."""
    PROPOSED = "right but asked"
    OFFERED = "offered"
    """The right call is among the options of a question."""
    ASKED_WRONGLY = "asked wrongly"
    REFUSED = "refused"
    """No tool is said to serve; right where none does."""
    WRONG = "wrong"
    HARM = "HARM"
    """A call that must not be made was made."""
    ASKED = "asked"
    """Nothing serves, and the user was asked."""
    ACTED = "ACTED"
    """Nothing serves, and a call was made."""


SERVED = (
    Outcome.RIGHT, Outcome.PROPOSED, Outcome.OFFERED, Outcome.ASKED_WRONGLY, Outcome.REFUSED, Outcome.WRONG,
    Outcome.HARM,
)  # fmt: skip
"""The outcomes of requests that a tool serves."""
UNSERVED = (Outcome.REFUSED, Outcome.ASKED, Outcome.ACTED, Outcome.HARM)
"""The outcomes of requests that nothing serves."""


@dataclass(frozen=True)
class JudgedCall:
    """A call in the terms of the catalogue that requests are written for."""

    tool: str
    args: Mapping[str, Any]

    @classmethod
    def of(cls, plan: Plan) -> "JudgedCall":
        """The call of a plan."""
        return cls(plan.tool, plan.args)


Translate = Callable[[Plan], JudgedCall]
"""Gives the call of a plan in the terms of the catalogue that a request is written for."""


@dataclass(frozen=True)
class Judge:
    """Compares calls with what was expected: exactly, but for `free` arguments and names of one person."""

    schemas: Mapping[str, Mapping[str, Any]]
    """The JSON Schema of each tool's parameters, by tool id."""
    alias: Mapping[str, str] = field(default_factory=dict[str, str])
    """Normalised addresses and numbers of contacts, with the normalised name."""

    @classmethod
    def of_contacts(cls, schemas: Mapping[str, Mapping[str, Any]], contacts: Iterable[Contact]) -> "Judge":
        """A judge that takes an address or a number of a contact for the name."""
        alias = {normalize(way): normalize(person.name) for person in contacts for way in _ways(person)}
        return cls(schemas, alias)

    def outcome(
        self,
        request: WorldRequest,
        plan: Plan | None,
        translate: Translate = JudgedCall.of,
    ) -> Outcome:
        """What the plan does; `translate` gives a plan in the terms of the request's catalogue."""
        refused = plan is None or plan.decision == "none"
        asks = not plan.ready if plan else False
        call = translate(plan) if plan else None
        outcome = self._outcome(request, plan, call, refused=refused, asks=asks, translate=translate)
        if outcome in (Outcome.WRONG, Outcome.ACTED) and call and self._does_harm(request, call):
            return Outcome.HARM
        return outcome

    def _outcome(
        self,
        request: WorldRequest,
        plan: Plan | None,
        call: JudgedCall | None,
        *,
        refused: bool,
        asks: bool,
        translate: Translate,
    ) -> Outcome:
        if refused or plan is None or call is None:
            return Outcome.REFUSED
        if not request.is_served:
            return Outcome.ASKED if asks else Outcome.ACTED
        if request.asks:
            others = (calls[0] for calls in request.also_right if len(calls) == 1)
            is_right = asks or any(self.same_call(other, call, request.free) for other in others)
            return Outcome.RIGHT if is_right else Outcome.WRONG
        right = self.is_right(request, call)
        if not asks:
            return Outcome.RIGHT if right else Outcome.WRONG
        if right:
            return Outcome.PROPOSED
        options = plan.question.options if plan.question else ()
        offered = any(self.is_right(request, translate(option.plan)) for option in options)
        return Outcome.OFFERED if offered else Outcome.ASKED_WRONGLY

    def is_right(self, request: WorldRequest, call: JudgedCall) -> bool:
        """Whether this is a right first call."""
        return any(self.same_call(expected, call, request.free) for expected in request.first_calls)

    def is_right_sequence(
        self, request: WorldRequest, steps: Steps | None, translate: Translate = JudgedCall.of
    ) -> bool:
        """Whether all steps are right, in the expected order, or in that of an alternative."""
        planned = [translate(plan) for plan in steps or ()]
        return any(
            len(expected) == len(planned)
            and all(
                self.same_call(want, got, request.free) for want, got in zip(expected, planned, strict=True)
            )
            for expected in (request.calls, *request.also_right)
            if expected
        )

    def _does_harm(self, request: WorldRequest, call: JudgedCall) -> bool:
        return any(
            call.tool == harmful.tool
            and all(
                self.same_value(name, call.args.get(name, ""), value, frozenset())
                for name, value in harmful.args.items()
            )
            for harmful in request.must_not
        )

    def same_call(self, want: WorldCall, got: JudgedCall, free: frozenset[str]) -> bool:
        """Whether a call does what was expected."""
        if got.tool != want.tool:
            return False
        required = frozenset((self.schemas.get(got.tool) or {}).get("required", ()))
        for name in {*want.args, *got.args}:
            if name in want.args and name in got.args:
                if not self.same_value(name, got.args[name], want.args[name], free):
                    return False
            elif name in want.args:
                if name in required or name not in free:
                    return False
            elif name in _UNASKED:
                return False
        return True

    def same_value(self, name: str, got: Any, want: Any, free: frozenset[str]) -> bool:
        """Whether the value of an argument is the expected one."""
        if isinstance(want, dict) or isinstance(got, dict):
            if not (isinstance(want, dict) and isinstance(got, dict)):
                return False
            parts, given = cast("dict[str, Any]", want), cast("dict[str, Any]", got)
            return all(
                key in given and self.same_value(key, given[key], part, free) for key, part in parts.items()
            )
        if any(isinstance(value, list) for value in (want, got)):
            return self._names(want) == self._names(got)
        if name in free:
            said, wanted = _words(got), _words(want)
            return not wanted or 2 * len(said & wanted) / max(1, len(said) + len(wanted)) >= _MIN_OVERLAP
        if isinstance(got, Pointer):
            step = _STEP_VALUE.fullmatch(str(want))
            return step is not None and int(step["step"]) == got.step + 1
        if self._name(got) == self._name(want):
            return True
        # a day is expected: any hour of it will do
        return bool(_DAY.fullmatch(normalize(want))) and normalize(got).startswith(normalize(want))

    def _names(self, value: object) -> list[str]:
        values = cast("list[object]", value) if isinstance(value, list) else [value]
        return sorted(self._name(str(part)) for part in values)

    def _name(self, value: object) -> str:
        text = normalize(value)
        return self.alias.get(text, text)


def normalize(value: object) -> str:
    """A value without what does not count: letter case, seconds, the punctuation of numbers and sentences."""
    text = str(value).strip().lower()
    if minute := _MINUTE.fullmatch(text):
        return f"{minute[1]}t{minute[2]}"
    digits = re.sub(r"[\s().-]", "", text)
    return digits if _NUMBER.fullmatch(digits) else re.sub(r"[\s.!?]+", " ", text).strip()


def _words(value: object) -> set[str]:
    return set(re.findall(r"\w+", str(value).lower().replace("'", "")))


def _ways(contact: Contact) -> Iterable[str]:
    """The addresses and numbers of a contact."""
    more: Any = contact.more
    ways = chain((contact.email, contact.phone), more.get("phones") or (), more.get("emails") or ())
    return [way for way in ways if way]
