"""What clients send, as pydantic forms: the library's values less the user, who is known by the token.

Whatever could be stored and would then spoil every later request is refused here.
"""

from datetime import datetime
from math import isfinite
from typing import Annotated, Any, ClassVar, cast
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.types import Contact, Item, Request, Turn, UsageEvent, User, check_coordinates, parse_time

MOST_HITS, MOST_TOOLS, MOST_ITEMS, MOST_USES, MOST_TURNS, MOST_CONTACTS = 100, 50, 1000, 5000, 50, 5000
_DEEPEST = 20
_YEARS = range(1900, 2200)
"""Outside of these, another zone or a fortnight before may be a time that cannot be said."""


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half a character: decode it as UTF-8 before sending it") from None
    return text


def _spoken(text: str) -> str:
    if not text.strip():
        raise ValueError("says nothing: give some text")
    return text


def _moment(text: str) -> str:
    try:
        time = parse_time(text)
    except InvalidRequestError:
        raise ValueError("is no date with a time: write it as 2024-05-16T17:40") from None
    if time.year not in _YEARS:
        raise ValueError(f"is of a year before {_YEARS.start} or after {_YEARS.stop - 1}")
    return text


def _coordinates(place: tuple[float, float]) -> tuple[float, float]:
    try:
        return check_coordinates(place)
    except InvalidRequestError:
        raise ValueError("is no coordinate: latitude lies in -90…90, longitude in -180…180") from None


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise ValueError("is no zone of the world: write it as Europe/Lisbon") from None
    return name


def _plain(value: object, levels: int = _DEEPEST) -> None:
    """Refuse what JSON can say and a store or a number cannot hold."""
    if levels == 0:
        raise ValueError(f"is nested more than {_DEEPEST} levels deep")
    match value:
        case str():
            _whole(value)
        case bool():
            pass
        case int() if not -(2**63) <= value < 2**63:
            raise ValueError("holds a number of more than 64 bits: send it as text")
        case float() if not isfinite(value):
            raise ValueError("holds a number that is not finite")
        case dict():
            for name, part in cast("dict[str, object]", value).items():
                _whole(name)
                _plain(part, levels - 1)
        case list():
            for part in cast("list[object]", value):
                _plain(part, levels - 1)
        case _:
            pass


def _plain_fields(fields: dict[str, Any]) -> dict[str, Any]:
    _plain(fields)
    return fields


Id = Annotated[str, StringConstraints(min_length=1, max_length=512), AfterValidator(_whole)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_whole)]
Spoken = Annotated[
    str,
    StringConstraints(min_length=1, max_length=2000, pattern=r"\S"),
    AfterValidator(_whole),
    AfterValidator(_spoken),
]
Moment = Annotated[
    str,
    StringConstraints(max_length=40, pattern=r"^\d{4}-?\d{2}-?\d{2}[Tt ]\d{2}:?\d{2}"),
    AfterValidator(_moment),
]
Place = Annotated[tuple[float, float], AfterValidator(_coordinates)]
Fields = Annotated[dict[str, JsonValue], AfterValidator(_plain_fields)]


class _Body(BaseModel):
    # what nobody knows may be a misspelt name, and would be dropped in silence
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


class TurnBody(_Body):
    """One line of the talk before."""

    speaker: Name
    text: Annotated[str, StringConstraints(max_length=2000), AfterValidator(_whole)]


class RequestBody(_Body):
    """What you say, and the moment you say it in."""

    text: Spoken = Field(examples=["Did she ever get back to me?"])
    time: Moment | None = Field(None, description="Without a zone: your wall clock. Left out: now.")
    place: Name | Place | None = Field(
        None, description="The name of one of your places, or latitude and longitude."
    )
    history: list[TurnBody] = Field(default_factory=list[TurnBody], max_length=MOST_TURNS)

    def request(self, user: str) -> Request:
        """As the library takes it, for the user whose token it is."""
        now = datetime.now().astimezone()
        history = tuple(Turn(turn.speaker, turn.text) for turn in self.history)
        return Request(self.text, user, parse_time(self.time) if self.time else now, self.place, history)


class ContextBody(RequestBody):
    """A request, and how many items are wanted."""

    k: int = Field(10, ge=1, le=MOST_HITS)
    why: bool = Field(False, description="Also say why each was found, which takes longer.")


class ToolsBody(RequestBody):
    """A request, and how many tools are wanted."""

    k: int = Field(5, ge=1, le=MOST_TOOLS)
    context: bool = Field(True, description="Look at your items too, not at the words alone.")
    why: bool = Field(False, description="Also say why each was found.")


class PlanBody(RequestBody):
    """A request, and the tools to choose from."""

    tools: list[Id] = Field(
        default_factory=list[str],
        max_length=MOST_TOOLS,
        description="Ids of tools, best first; left out: those found for the request.",
    )


class AskBody(RequestBody):
    """A request, and how much is wanted."""

    k: int = Field(10, ge=1, le=MOST_HITS)
    tools: int = Field(5, ge=1, le=MOST_TOOLS)
    why: bool = Field(True, description="Also say why each item and tool was found.")


class InspectBody(RequestBody):
    """A request to be taken apart, and how much is wanted."""

    k: int = Field(10, ge=1, le=MOST_HITS)
    tools: int = Field(5, ge=1, le=MOST_TOOLS)


class FeedbackBody(RequestBody):
    """A request, and what became of it: which items it did hang on, which not, and the tool called."""

    used: list[Id] = Field(default_factory=list[str], max_length=MOST_HITS)
    rejected: list[Id] = Field(default_factory=list[str], max_length=MOST_HITS)
    tool: Id | None = None
    ok: bool = Field(True, description="Whether that tool was the right one.")


class ItemBody(_Body):
    """One thing your applications hold; `fields` are the application's own."""

    id: Id
    app: Name = Field(examples=["Mail"])
    fields: Fields = Field(examples=[{"subject": "Kiln slots", "date": "2024-05-13T09:00"}])

    def item(self) -> Item:
        """As the library takes it, or an error where its times or place cannot be read."""
        item = Item(self.id, self.app, self.fields)
        _ = item.times
        if not isinstance(item.fields.get("place", ""), str | None):
            raise InvalidDataError("the place of an item is a name")
        return item


class ItemsBody(_Body):
    """Items to keep; those of the same id are replaced."""

    items: list[ItemBody] = Field(max_length=MOST_ITEMS)


class IdsBody(_Body):
    """Items by id."""

    ids: list[Id] = Field(max_length=MOST_ITEMS)


class UsageEventBody(_Body):
    """One time you opened, played or otherwise turned to an item."""

    item: Id
    time: Moment
    place: Name | None = None

    def use(self) -> UsageEvent:
        """As the library takes it."""
        return UsageEvent(self.item, parse_time(self.time), self.place)


class UsageEventsBody(_Body):
    """Uses to keep; one that is kept already is not counted twice."""

    uses: list[UsageEventBody] = Field(max_length=MOST_USES)


class ContactBody(_Body):
    """Somebody you know."""

    name: Name
    email: Name | None = None
    phone: Name | None = None
    relation: Name | None = None
    more: Fields = Field(default_factory=dict)


class UserBody(_Body):
    """What is known of you: profile, places by name, contacts, and the zone of your wall clock."""

    profile: Fields = Field(default_factory=dict)
    places: dict[Name, Place] = Field(default_factory=dict, max_length=1000)
    contacts: list[ContactBody] = Field(default_factory=list[ContactBody], max_length=MOST_CONTACTS)
    zone: Annotated[str, StringConstraints(max_length=64), AfterValidator(_zone)] | None = Field(
        None, examples=["Europe/Lisbon"]
    )

    def user(self, user: str) -> User:
        """As the library takes it."""
        contacts = tuple(Contact(**dict(contact)) for contact in self.contacts)
        return User(user, self.profile, self.places, contacts, ZoneInfo(self.zone) if self.zone else None)
