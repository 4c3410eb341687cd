"""`Candidate`: a value that an argument may have, with its source."""

from dataclasses import dataclass
from typing import Any

from contextune.plan.pointer.values.spans import TextSpan
from contextune.plan.times.resolve import CandidateTime
from contextune.types import Source

OMITTED = "nothing"
"""The origin of the candidate that stands for omitting the argument."""
FREE_TEXT = "free"
"""The origin of a text that is composed."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value with its source; `origin` is the kind of source, such as `Mail.author` or `contact`."""

    value: Any
    origin: str
    sources: tuple[Source, ...] = ()
    item: int | None = None
    """The index of its item in `PlanningInput.items`."""
    field: str = ""
    span: TextSpan | None = None
    time: CandidateTime | None = None
    people: tuple[int, ...] = ()
    """The indexes of the contacts it names."""

    @property
    def is_omitted(self) -> bool:
        """Whether it stands for omitting the argument."""
        return self.origin == OMITTED
