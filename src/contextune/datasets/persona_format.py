"""The persona format as a schema: what a file must hold, and in which words it is refused if it does not."""

import json
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    StringConstraints,
    ValidationError,
)

from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.types import ANYWHERE, COMMUTE, check_coordinates, parse_time

When = Literal[
    "morning", "afternoon", "evening", "night", "weekday", "weekend",
    "weekday-morning", "weekday-evening", "weekend-morning", "weekend-evening",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
]  # fmt: skip
WHEN: tuple[str, ...] = get_args(When)

Model = TypeVar("Model", bound=BaseModel)
_SHOWN = 5


def _coordinates(value: tuple[float, float]) -> tuple[float, float]:
    try:
        return check_coordinates(value)
    except InvalidRequestError as error:
        raise ValueError(str(error)) from None


def _moment(value: str) -> str:
    try:
        parse_time(value)
    except InvalidRequestError as error:
        raise ValueError(str(error)) from None
    return value


def _day_or_moment(value: str) -> str:
    datetime.fromisoformat(value)
    return value


Text = Annotated[str, StringConstraints(min_length=1)]
Spoken = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
Moment = Annotated[str, AfterValidator(_moment)]
Time = Annotated[str, AfterValidator(_day_or_moment)]
Place = Annotated[tuple[float, float], AfterValidator(_coordinates)]


class _PersonaModel(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", strict=True)


class _Contact(_PersonaModel):
    email: str | None = None
    phone: str | None = None
    relation: str | None = None


class _Item(_PersonaModel):
    """What every item has; an application of its own making may add whatever it likes."""

    id: Text
    app: Text
    place: Text | None = None
    use: list[tuple[When, Text, PositiveInt]]


class _Mail(_Item):
    author: str
    recipients: list[str]
    subject: str
    content: str
    date: Time
    folder: str | None = None


class _Calendar(_Item):
    event_name: str
    start_time: Time
    end_time: Time
    organizer: str | None = None
    participants: list[str] = Field(default_factory=list[str])
    location: str | None = None
    category: str | None = None
    status: str | None = None
    notes: str | None = None


class _Google(_Item):
    query: str
    date: Time


class _Notes(_Item):
    title: str
    content: str
    modified: Time
    folder: str | None = None


class _Music(_Item):
    song_name: str
    artist: str
    played_time: Time
    album_title: str | None = None
    playlist: str | None = None


class _Reminder(_Item):
    title: str
    status: str
    created: Time
    due: Time | None = None
    list_: str | None = Field(default=None, alias="list")


class _PhoneCall(_Item):
    contact: str
    number: str
    direction: Literal["missed", "incoming", "outgoing"]
    date: Time
    duration_s: NonNegativeInt


class _Query(_PersonaModel):
    id: Text
    query: Spoken
    time: Moment
    place: Text
    kind: str | None = None
    relevant: dict[str, PositiveInt] | None = None
    cot: str | None = None
    api: str | None = None
    args: dict[str, Any] | None = None
    tools: list[str] | None = None


class _Persona(_PersonaModel):
    id: Annotated[str, StringConstraints(pattern=r"^[\w@-][\w.@-]*$")]  # it becomes the name of a file
    profile: dict[str, Any]
    places: dict[str, Place]
    contacts: dict[str, _Contact]
    items: list[dict[str, Any]] = Field(min_length=1)
    queries: list[_Query]


_BY_APP: dict[str, type[_Item]] = {
    "Mail": _Mail,
    "Calendar": _Calendar,
    "Google": _Google,
    "Notes": _Notes,
    "Music": _Music,
    "Reminders": _Reminder,
    "PhoneCall": _PhoneCall,
}


def check_persona(data: object, *, source: str) -> dict[str, Any]:
    """`data` itself, once it is known to be a persona."""
    try:
        persona = _validated(_Persona, data)
    except ValidationError as error:
        raise InvalidDataError(_refusal(source, _faults(error))) from None
    if faults := list(_item_faults(persona)) or list(_reference_faults(persona)):
        raise InvalidDataError(_refusal(source, faults))
    return cast("dict[str, Any]", data)


def _validated(model: type[Model], data: object) -> Model:
    """Strict by JSON's rules: a list may stand for a pair, but "3" not for 3."""
    return model.model_validate_json(json.dumps(data))


def _item_faults(persona: _Persona) -> Iterable[str]:
    for number, item in enumerate(persona.items):
        model = _BY_APP.get(str(item.get("app")), _Item)
        try:
            _validated(model, item)
        except ValidationError as error:
            yield from _faults(error, f"items[{number}]")


def _reference_faults(persona: _Persona) -> Iterable[str]:
    """Ids that stand twice, and names of places and items that are not there."""
    ids = Counter(str(item.get("id")) for item in persona.items)
    yield from (f"items: the id {name!r} stands {n} times" for name, n in ids.items() if n > 1)
    queries = Counter(query.id for query in persona.queries)
    yield from (f"queries: the id {name!r} stands {n} times" for name, n in queries.items() if n > 1)
    known = {*persona.places, COMMUTE}
    for number, item in enumerate(persona.items):
        if (place := item.get("place")) is not None and place not in known:
            yield f"items[{number}].place: {place!r} is none of the persona's places"
        for entry, (_, where, _) in enumerate(item["use"]):
            if where not in {*known, ANYWHERE}:
                yield f"items[{number}].use[{entry}]: {where!r} is none of the persona's places"
    for number, query in enumerate(persona.queries):
        if query.place not in {*known, ANYWHERE}:
            yield f"queries[{number}].place: {query.place!r} is none of the persona's places"
        for name in (query.relevant or {}).keys() - ids.keys():
            yield f"queries[{number}].relevant: there is no item {name!r}"


def _faults(error: ValidationError, at: str = "") -> Iterable[str]:
    for fault in error.errors(include_url=False, include_input=False):
        path = at
        for step in fault["loc"]:
            path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
        yield f"{path}: {fault['msg'].removeprefix('Value error, ')}".removeprefix(": ")


def _refusal(source: str, faults: Iterable[str]) -> str:
    listed = list(faults)
    more = f"; and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return f"{source}: is no valid persona: {'; '.join(listed[:_SHOWN])}{more}"
