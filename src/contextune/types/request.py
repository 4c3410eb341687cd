"""What a user says, in which moment, and what became of it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from contextune.errors import InvalidRequestError
from contextune.types.time_place import Coordinates, check_coordinates


class Turn(NamedTuple):
    """One line of the talk before a request."""

    speaker: str
    text: str


def _turn(given: object) -> Turn:
    match given:
        case (str(speaker), str(text)):
            return Turn(speaker, text)
        case _:
            raise InvalidRequestError(f'{given!r} is no turn: give speaker and text, as in ("user", "Hello")')


def _now() -> datetime:
    return datetime.now().astimezone()


@dataclass(frozen=True, slots=True)
class Request:
    """What the user says, and the moment they say it in. `place` is a name the user knows, or coordinates."""

    text: str
    user: str
    time: datetime = field(default_factory=_now)
    place: str | Coordinates | None = None
    history: tuple[Turn, ...] = ()

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise InvalidRequestError("the request has no text: pass what the user said")
        if not self.user:
            raise InvalidRequestError("the request has no user: pass the id of the user whose data to search")
        if not isinstance(self.time, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]  # not all callers type-check
            raise InvalidRequestError(f"{self.time!r} is not a date with a time: pass a datetime")
        if isinstance(self.place, str):
            if not self.place:
                raise InvalidRequestError("an empty place says nothing: leave it out, or name a place")
        elif self.place is not None:
            object.__setattr__(self, "place", check_coordinates(self.place))
        object.__setattr__(self, "history", tuple(map(_turn, self.history)))


@dataclass(frozen=True, slots=True)
class Feedback:
    """What became of a request: the items it did hang on, by id, those it did not, and the tool called.

    `ok` says whether that tool, by id, was the right one.
    """

    request: Request
    used: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    tool: str | None = None
    ok: bool = True

    def __post_init__(self) -> None:
        if not self.used and not self.rejected and not self.tool:
            raise InvalidRequestError("feedback names no item and no tool: say which was used, or wrong")
        if both := set(self.used) & set(self.rejected):
            raise InvalidRequestError(f"item {min(both)!r} cannot be both used and rejected")
