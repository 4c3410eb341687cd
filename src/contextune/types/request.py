"""A request, its conversation history, and feedback on its answer."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from contextune._internal.untrusted import without_long_runs
from contextune.errors import InvalidRequestError
from contextune.types.time_place import Coordinates, check_coordinates

if TYPE_CHECKING:
    from contextune.types.answer import TurnState


class Turn(NamedTuple):
    """One turn of the conversation before a request."""

    speaker: str
    text: str


def _turn(value: object) -> Turn:
    match value:
        case (str(speaker), str(text)):
            return Turn(speaker, without_long_runs(text))
        case _:
            raise InvalidRequestError(
                f'not a turn: {value!r} (pass speaker and text, such as ("user", "Hello"))'
            )


def _now() -> datetime:
    return datetime.now().astimezone()


@dataclass(frozen=True, slots=True)
class Request:
    """What the user says, when and where. `place` is the name of one of the user's places, or coordinates."""

    text: str
    user: str
    time: datetime = field(default_factory=_now)
    place: str | Coordinates | None = None
    history: tuple[Turn, ...] = ()
    state: "TurnState | None" = None
    """What the last answer left, its `Answer.state`: "yes", "the second one" and "make it 7" refer to it."""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise InvalidRequestError("the request has no text: pass what the user said")
        object.__setattr__(self, "text", without_long_runs(self.text))
        if not self.user:
            raise InvalidRequestError("the request has no user: pass the id of the user whose data to search")
        if not isinstance(self.time, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]  # not all callers type-check
            raise InvalidRequestError(f"not a datetime: {self.time!r} (pass a datetime with date and time)")
        if isinstance(self.place, str):
            if not self.place:
                raise InvalidRequestError("the place is empty: omit it, or pass a name or coordinates")
        elif self.place is not None:
            object.__setattr__(self, "place", check_coordinates(self.place))
        object.__setattr__(self, "history", tuple(map(_turn, self.history)))


@dataclass(frozen=True, slots=True)
class Feedback:
    """Which items (by id) were right or wrong for a request, and which tool was called.

    `ok` is False if that tool was the wrong one.
    """

    request: Request
    used: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    tool: str | None = None
    ok: bool = True

    def __post_init__(self) -> None:
        if not self.used and not self.rejected and not self.tool:
            raise InvalidRequestError("feedback is empty: name at least one used or rejected item, or a tool")
        if both := set(self.used) & set(self.rejected):
            raise InvalidRequestError(f"item {min(both)!r} is both used and rejected")
