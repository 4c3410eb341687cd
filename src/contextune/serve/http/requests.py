"""Request bodies (pydantic): the library's types without the user, whom the token identifies.

Values that could be stored but would break later requests are rejected here.
"""

from datetime import datetime
from math import isfinite
from typing import Annotated, Any, ClassVar, Literal, cast
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.types import Contact, Item, Request, Turn, UsageEvent, User, check_coordinates, parse_time
from contextune.types.state_json import state_from_json

MAX_HITS, MAX_TOOLS, MAX_ITEMS, MAX_USES, MAX_TURNS, MAX_CONTACTS = 100, 50, 1000, 5000, 50, 5000
_MAX_DEPTH = 20
_YEARS = range(1900, 2200)
"""Near the limits of `datetime`, time zone conversion and time windows would overflow."""


def _check_unicode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("contains a lone surrogate: send valid Unicode") from None
    return text


def _check_not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return text


def _check_time(text: str) -> str:
    try:
        time = parse_time(text)
    except InvalidRequestError:
        raise ValueError("is not an ISO 8601 date and time, such as 2024-05-16T17:40") from None
    if time.year not in _YEARS:
        raise ValueError(f"has a year outside {_YEARS.start}–{_YEARS.stop - 1}")
    return text


def _check_coordinates(place: tuple[float, float]) -> tuple[float, float]:
    try:
        return check_coordinates(place)
    except InvalidRequestError:
        raise ValueError("is out of range: latitude is -90 to 90, longitude -180 to 180") from None


def _check_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise ValueError("is not an IANA time zone, such as Europe/Lisbon") from None
    return name


def _check_storable(value: object, levels: int = _MAX_DEPTH) -> None:
    """Reject JSON values that the store cannot hold."""
    if levels == 0:
        raise ValueError(f"is nested more than {_MAX_DEPTH} levels deep")
    match value:
        case str():
            _check_unicode(value)
        case bool():
            pass
        case int() if not -(2**63) <= value < 2**63:
            raise ValueError("contains an integer of more than 64 bits: send it as text")
        case float() if not isfinite(value):
            raise ValueError("contains a number that is not finite")
        case dict():
            for name, part in cast("dict[str, object]", value).items():
                _check_unicode(name)
                _check_storable(part, levels - 1)
        case list():
            for part in cast("list[object]", value):
                _check_storable(part, levels - 1)
        case _:
            pass


def _check_fields(fields: dict[str, Any]) -> dict[str, Any]:
    _check_storable(fields)
    return fields


Id = Annotated[str, StringConstraints(min_length=1, max_length=512), AfterValidator(_check_unicode)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_check_unicode)]
RequestText = Annotated[
    str,
    StringConstraints(min_length=1, max_length=2000, pattern=r"\S"),
    AfterValidator(_check_unicode),
    AfterValidator(_check_not_blank),
]
Timestamp = Annotated[
    str,
    StringConstraints(max_length=40, pattern=r"^\d{4}-?\d{2}-?\d{2}[Tt ]\d{2}:?\d{2}"),
    AfterValidator(_check_time),
]
Place = Annotated[tuple[float, float], AfterValidator(_check_coordinates)]
Address = Annotated[
    str, StringConstraints(min_length=1, max_length=500, pattern=r"\S"), AfterValidator(_check_unicode)
]
Fields = Annotated[dict[str, JsonValue], AfterValidator(_check_fields)]
ContextMethod = Literal["bm25", "semantic", "hybrid", "situated", "learned", "reading"]


class _Body(BaseModel):
    # an unknown field may be a misspelt one; it must not be dropped silently
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


class TurnBody(_Body):
    """One earlier turn of the conversation."""

    speaker: Name
    text: Annotated[str, StringConstraints(max_length=2000), AfterValidator(_check_unicode)]


def _check_state(data: dict[str, JsonValue]) -> dict[str, JsonValue]:
    _check_storable(data)
    try:
        state_from_json(data)
    except InvalidRequestError:
        raise ValueError("is not what an answer had: pass its `state` back unchanged") from None
    return data


class RequestBody(_Body):
    """A request with the time and place it is made at."""

    text: RequestText = Field(examples=["Did she ever get back to me?"])
    time: Timestamp | None = Field(
        None, description="ISO 8601; without offset: the user's local time. Default: now."
    )
    place: Name | Place | None = Field(
        None, description="The name of one of your places, or [latitude, longitude]."
    )
    history: list[TurnBody] = Field(default_factory=list[TurnBody], max_length=MAX_TURNS)

    state: Annotated[dict[str, JsonValue], AfterValidator(_check_state)] | None = Field(
        None,
        description="The `state` of the last answer, for replies to it: yes, the second one, make it 7."
        " An empty object begins a conversation.",
    )

    def to_request(self, user: str) -> Request:
        """The request of this user."""
        now = datetime.now().astimezone()
        state = None if self.state is None else state_from_json(self.state)
        history = tuple(Turn(turn.speaker, turn.text) for turn in self.history)
        return Request(
            self.text, user, parse_time(self.time) if self.time else now, self.place, history, state
        )


class ContextBody(RequestBody):
    """A request, and the number of items to return."""

    k: int = Field(10, ge=1, le=MAX_HITS)
    why: bool = Field(False, description="Include reasons; slower.")


class ToolsBody(RequestBody):
    """A request, and the number of tools to return."""

    k: int = Field(5, ge=1, le=MAX_TOOLS)
    context: bool = Field(True, description="Rank with your items as context, not by the text alone.")
    why: bool = Field(False, description="Include reasons.")


class PlanBody(RequestBody):
    """A request, and the tools to choose from."""

    tools: list[Id] = Field(
        default_factory=list[str],
        max_length=MAX_TOOLS,
        description="Ids of candidate tools, best first. Default: the tools retrieved for the request.",
    )


class AskBody(RequestBody):
    """A request, and the number of items and tools to return."""

    k: int = Field(10, ge=1, le=MAX_HITS)
    tools: int = Field(5, ge=1, le=MAX_TOOLS)
    why: bool = Field(True, description="Include reasons for each item and tool.")


class InspectBody(RequestBody):
    """A request to explain, and the number of items and tools to return."""

    k: int = Field(10, ge=1, le=MAX_HITS)
    tools: int = Field(5, ge=1, le=MAX_TOOLS)
    method: ContextMethod = Field("reading", description="How to rank your items.")


class FeedbackBody(RequestBody):
    """A request with the items it did and did not refer to, and the tool that was called."""

    used: list[Id] = Field(default_factory=list[str], max_length=MAX_HITS)
    rejected: list[Id] = Field(default_factory=list[str], max_length=MAX_HITS)
    tool: Id | None = None
    ok: bool = Field(True, description="Whether that tool was right.")


class ItemBody(_Body):
    """One item of an application; `fields` depend on the application."""

    id: Id
    app: Name = Field(examples=["Mail"])
    fields: Fields = Field(examples=[{"subject": "Kiln slots", "date": "2024-05-13T09:00"}])

    def to_item(self) -> Item:
        """The item; raises if its times or place are invalid."""
        item = Item(self.id, self.app, self.fields)
        _ = item.times  # parses them
        if not isinstance(item.fields.get("place", ""), str | None):
            raise InvalidDataError("the place of an item must be a name")
        return item


class ItemsBody(_Body):
    """Items to add; existing ids are replaced."""

    items: list[ItemBody] = Field(max_length=MAX_ITEMS)


class IdsBody(_Body):
    """Ids of items."""

    ids: list[Id] = Field(max_length=MAX_ITEMS)


class UsageEventBody(_Body):
    """One use of an item: it was opened, played or called."""

    item: Id
    time: Timestamp
    place: Name | None = None

    def to_usage_event(self) -> UsageEvent:
        return UsageEvent(self.item, parse_time(self.time), self.place)


class UsageEventsBody(_Body):
    """Uses to add; duplicates are ignored."""

    uses: list[UsageEventBody] = Field(max_length=MAX_USES)


class ContactBody(_Body):
    """A contact."""

    name: Name
    email: Name | None = None
    phone: Name | None = None
    relation: Name | None = None
    more: Fields = Field(default_factory=dict)


class UserBody(_Body):
    """Your profile, named places, contacts and time zone."""

    profile: Fields = Field(default_factory=dict)
    places: dict[Name, Place | Address] = Field(
        default_factory=dict,
        max_length=1000,
        description="Names with [latitude, longitude], or with an address.",
    )
    contacts: list[ContactBody] = Field(default_factory=list[ContactBody], max_length=MAX_CONTACTS)
    zone: Annotated[str, StringConstraints(max_length=64), AfterValidator(_check_zone)] | None = Field(
        None, examples=["Europe/Lisbon"]
    )

    def to_user(self, user: str) -> User:
        """The user with this id."""
        contacts = tuple(Contact(**dict(contact)) for contact in self.contacts)
        return User(user, self.profile, self.places, contacts, ZoneInfo(self.zone) if self.zone else None)
