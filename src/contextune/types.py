"""The values that travel through Contextune: frozen, comparable, free of behaviour that needs another room.

Times. A naive `datetime` is the user's own wall clock; a zoned one is an instant.
Both are kept as given. Wherever two times meet, `local_time` puts an instant on the
user's wall clock first: in `User.zone` where the user has one, else in the zone of
the machine. So "tonight" means the user's night, whatever mix of times the data holds.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from hashlib import blake2b
from typing import Any, Generic, NamedTuple, TypeVar, cast, overload
from zoneinfo import ZoneInfo

from contextune.apps import App, app_for
from contextune.errors import InvalidDataError, InvalidRequestError

Progress = Callable[[int, int], None]
"""Is told how much of a long job is done, of how much."""
Coordinates = tuple[float, float]
"""Latitude and longitude, in degrees."""
COMMUTE, ANYWHERE = "commute", "anywhere"
NAMELESS = (COMMUTE, ANYWHERE)
"""Places every user has though they have no coordinates: between two places, and nowhere in particular."""


def _nothing() -> Mapping[str, Any]:
    return {}


def check_coordinates(place: Sequence[float]) -> Coordinates:
    """A latitude and a longitude that exist on Earth, or an error."""
    try:
        latitude, longitude = map(float, place)
    except (TypeError, ValueError):
        raise InvalidRequestError(
            f"{place!r} is no coordinate: give latitude and longitude, such as (41.15, -8.63)"
        ) from None
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise InvalidRequestError(
            f"({latitude}, {longitude}) is no coordinate: latitude lies in -90…90, longitude in -180…180"
        )
    return latitude, longitude


def local_time(time: datetime, zone: tzinfo | None) -> datetime:
    """`time` on the user's wall clock, naive. `zone` None stands for the machine's own zone."""
    if time.tzinfo is not None:
        with suppress(OverflowError):  # 0001-01-01T00:00Z stands for "never": a few hours do not matter
            time = time.astimezone(zone)
    return time.replace(tzinfo=None)


def parse_time(text: str) -> datetime:
    """A date with a time, as in 2024-05-16T17:40 or 2024-05-16T17:40+01:00."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    # without the hour being asked for, 2024-05-16+01:00, a date with a zone, would pass as one in the night
    if time is None or not re.search(r"[Tt ]\d\d:", text):
        raise InvalidRequestError(f"{text!r} is not a date with a time: write it as 2024-05-16T17:40")
    return time


def parse_place(text: str) -> str | Coordinates:
    """A place as somebody types it: the name of one, or latitude and longitude with a comma between."""
    numbers = text.split(",")
    try:
        coordinates = [float(number) for number in numbers]
    except ValueError:
        return text
    return check_coordinates(coordinates)


@dataclass(frozen=True, slots=True)
class Item:
    """One thing a user's applications hold: a mail, an event, a note, a song played, a call.

    `fields` are the application's own, untouched; `contextune.apps` says how to read them.
    """

    id: str
    app: str
    fields: Mapping[str, Any] = field(hash=False)

    def __post_init__(self) -> None:
        if not self.id or not self.app:
            raise InvalidDataError(f"an item needs an id and an app, not id={self.id!r}, app={self.app!r}")

    @property
    def schema(self) -> App:
        """How this item's application names its fields."""
        return app_for(self.app, self.fields)

    @property
    def title(self) -> str:
        """What a person would call it."""
        return _text(self.fields.get(self.schema.title, ""))

    @property
    def text(self) -> str:
        """The item in words, for search: what kind of thing it is, then its text fields, labelled."""
        schema = self.schema
        parts = [schema.noun]
        for name, label in schema.text.items():
            if value := _text(self.fields.get(name)):
                parts.append(f"{label}: {value}" if label else value)
        return " — ".join(parts)

    @property
    def times(self) -> Mapping[str, datetime]:
        """Its times by role (made, start, end, due), as given: naive or zoned."""
        found = {role: self.fields.get(name) for role, name in self.schema.times.items()}
        return {role: _time(self, value) for role, value in found.items() if value}

    @property
    def made(self) -> datetime | None:
        """When it came to be, or None where that is not known, as for planned events."""
        value = self.fields.get(self.schema.made) if self.schema.made else None
        return _time(self, value) if value else None

    @property
    def time(self) -> datetime | None:
        """The time a person would name it by: when it starts, else when it is due, else when it was made."""
        times = self.times
        return times.get("start") or times.get("due") or times.get("made")

    @property
    def place(self) -> str | None:
        """The name of the place where it happens or was made."""
        return self.fields.get("place")

    @property
    def people(self) -> tuple[str, ...]:
        """Names, addresses and numbers of the people in it."""
        found: list[str] = []
        for name in self.schema.people:
            value = self.fields.get(name)
            if isinstance(value, str):
                found.append(value)
            elif isinstance(value, Sequence):
                found.extend(map(str, cast("Sequence[object]", value)))
        return tuple(person for person in found if person)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, cast("Sequence[object]", value)))
    return str(value)


def _time(item: Item, value: object) -> datetime:
    try:
        return value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise InvalidDataError(
            f"item {item.id!r} of {item.app}: {value!r} is no time; write it as 2024-05-16T19:00"
        ) from None


@dataclass(frozen=True, slots=True)
class Use:
    """One time the user opened, played or otherwise turned to an item."""

    item: str
    time: datetime
    place: str | None = None


@dataclass(frozen=True, slots=True)
class Contact:
    """Somebody the user knows. `more` keeps whatever else the address book says."""

    name: str
    email: str | None = None
    phone: str | None = None
    relation: str | None = None
    more: Mapping[str, Any] = field(default_factory=_nothing, hash=False)


@dataclass(frozen=True, slots=True)
class User:
    """Whose data it is: profile, named places, contacts, and the zone of their wall clock."""

    id: str
    profile: Mapping[str, Any] = field(default_factory=_nothing, hash=False)
    places: Mapping[str, Coordinates] = field(default_factory=_nothing, hash=False)
    contacts: tuple[Contact, ...] = ()
    zone: ZoneInfo | None = None

    def __post_init__(self) -> None:
        if not self.id:
            raise InvalidDataError("a user needs an id that is not empty")


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


@dataclass(frozen=True, slots=True)
class Annotations:
    """What a tool says of its own effects, as MCP has it; None where it does not say.

    These are the claims of a server: as good as the trust in it.
    """

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """Something an assistant can call. `parameters` is a JSON Schema object.

    `app` is the application or server it belongs to, `about` what that says of itself; `examples`
    are requests it serves.
    """

    name: str
    description: str
    app: str = ""
    parameters: Mapping[str, Any] = field(default_factory=_nothing, hash=False)
    title: str = ""
    about: str = ""
    annotations: Annotations = Annotations()
    examples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidDataError("a tool needs a name that is not empty")

    @property
    def id(self) -> str:
        """What it is called within a catalogue: tools of one name on two servers are two tools."""
        return f"{self.app}/{self.name}" if self.app else self.name

    @property
    def identity(self) -> str:
        """A short mark that the same tool has on every server that offers it."""
        content = [self.name, self.description, self.parameters]
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


Thing = TypeVar("Thing", covariant=True)


class Reasons(Sequence[str]):
    """Why something was found, worked out when first looked at: finding is quicker than explaining."""

    __slots__ = ("_explain", "_said")

    def __init__(self, explain: Callable[[], Sequence[str]]) -> None:
        self._explain: Callable[[], Sequence[str]] | None = explain
        self._said: tuple[str, ...] = ()

    def _all(self) -> tuple[str, ...]:
        if self._explain is not None:
            self._said, self._explain = tuple(self._explain()), None
        return self._said

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        """One of them, or some."""
        return self._all()[index]

    def __len__(self) -> int:
        """How many there are."""
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        """Equal to whatever says the same."""
        return isinstance(other, Sequence) and self._all() == tuple(cast("Sequence[object]", other))

    def __hash__(self) -> int:
        """Of what they say."""
        return hash(self._all())

    def __repr__(self) -> str:
        """As a tuple of words."""
        return repr(self._all())


@dataclass(frozen=True, slots=True)
class Hit(Generic[Thing]):
    """One thing found: how strongly, and why in words."""

    thing: Thing
    score: float
    reasons: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value was read: in a field of an item or contact, in words that were said, or both together.

    `kind` is one of item, contact, said, time, place, profile, choice (one of the values a schema names),
    frame (words put together by a pattern) and step (an earlier call of several has or gives it).
    """

    kind: str
    item: str | None = None
    """The id of the item, or the name of the contact."""
    field: str | None = None
    words: str = ""
    """Those of the request, or of the field, that it was read from."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One value of a call, where it comes from, and how probable it is that it is right."""

    value: Any = field(hash=False)
    sources: tuple[Source, ...] = ()
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Missing:
    """An argument the call cannot do without and nothing says: what to ask the user for it."""

    argument: str
    question: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The call to make. With something `missing` it is not to be made before the user has been asked."""

    api: str
    arguments: Mapping[str, Argument] = field(default_factory=_nothing, hash=False)
    confidence: float = 1.0
    missing: tuple[Missing, ...] = ()
    tool: str = ""
    """The id of the tool in its catalogue, which tells two of one name apart."""

    @property
    def args(self) -> dict[str, Any]:
        """The values alone, by name."""
        return {name: argument.value for name, argument in self.arguments.items()}

    @property
    def ready(self) -> bool:
        """Whether there is nothing left to ask."""
        return not self.missing


@dataclass(frozen=True, slots=True)
class Answer:
    """All that Contextune has to say to one request. `seconds` holds the time each stage took."""

    request: Request
    context: tuple[Hit[Item], ...] = ()
    tools: tuple[Hit[Tool], ...] = ()
    plan: Plan | None = None
    seconds: Mapping[str, float] = field(default_factory=_nothing, hash=False)
    fits: float | None = None
    """How probable it is that any tool of the catalogue serves the request."""
    queries: tuple[str, ...] = ()
    """What a language model wrote to search for tools with, where one was asked."""
