"""JSON format of a persona as pydantic models, with validation messages."""

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
_MAX_MESSAGES = 5


def _check_coordinates(value: tuple[float, float]) -> tuple[float, float]:
    try:
        return check_coordinates(value)
    except InvalidRequestError as error:
        raise ValueError(str(error)) from None


def _check_datetime(value: str) -> str:
    try:
        parse_time(value)
    except InvalidRequestError as error:
        raise ValueError(str(error)) from None
    return value


def _check_date(value: str) -> str:
    datetime.fromisoformat(value)
    return value


Text = Annotated[str, StringConstraints(min_length=1)]
NonBlank = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
DateTime = Annotated[str, AfterValidator(_check_datetime)]
Date = Annotated[str, AfterValidator(_check_date)]
"""A date, with or without a time of day."""
Place = Annotated[tuple[float, float], AfterValidator(_check_coordinates)]


class _PersonaModel(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", strict=True)


class _Contact(_PersonaModel):
    email: str | None = None
    phone: str | None = None
    relation: str | None = None


class _Item(_PersonaModel):
    """Fields of every item; an application that is not listed here may have any others."""

    id: Text
    app: Text
    place: Text | None = None
    use: list[tuple[When, Text, PositiveInt]]


class _Mail(_Item):
    author: str
    recipients: list[str]
    subject: str
    content: str
    date: Date
    folder: str | None = None


class _Calendar(_Item):
    event_name: str
    start_time: Date
    end_time: Date
    organizer: str | None = None
    participants: list[str] = Field(default_factory=list[str])
    location: str | None = None
    category: str | None = None
    status: str | None = None
    notes: str | None = None


class _Google(_Item):
    query: str
    date: Date


class _Notes(_Item):
    title: str
    content: str
    modified: Date
    folder: str | None = None


class _Music(_Item):
    song_name: str
    artist: str
    played_time: Date
    album_title: str | None = None
    playlist: str | None = None


class _Reminder(_Item):
    title: str
    status: str
    created: Date
    due: Date | None = None
    list_: str | None = Field(default=None, alias="list")


class _PhoneCall(_Item):
    contact: str
    number: str
    direction: Literal["missed", "incoming", "outgoing"]
    date: Date
    duration_s: NonNegativeInt


class _Query(_PersonaModel):
    id: Text
    query: NonBlank
    time: DateTime
    place: Text
    kind: str | None = None
    relevant: dict[str, PositiveInt] | None = None
    cot: str | None = None
    api: str | None = None
    args: dict[str, Any] | None = None
    tools: list[str] | None = None


class _Persona(_PersonaModel):
    id: Annotated[str, StringConstraints(pattern=r"^[\w@-][\w.@-]*$")]  # used as a file name
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
    """Return `data` unchanged if it is a valid persona, or raise `InvalidDataError`."""
    try:
        persona = _validate(_Persona, data)
    except ValidationError as error:
        raise InvalidDataError(_message(source, _errors(error))) from None
    if errors := list(_item_errors(persona)) or list(_reference_errors(persona)):
        raise InvalidDataError(_message(source, errors))
    return cast("dict[str, Any]", data)


def _validate(model: type[Model], data: object) -> Model:
    """Validate in strict JSON mode: a list is accepted as a tuple, "3" is not accepted as 3."""
    return model.model_validate_json(json.dumps(data))


def _item_errors(persona: _Persona) -> Iterable[str]:
    for number, item in enumerate(persona.items):
        model = _BY_APP.get(str(item.get("app")), _Item)
        try:
            _validate(model, item)
        except ValidationError as error:
            yield from _errors(error, f"items[{number}]")


def _reference_errors(persona: _Persona) -> Iterable[str]:
    """Duplicate ids, and references to places and items that do not exist."""
    ids = Counter(str(item.get("id")) for item in persona.items)
    yield from (f"items: duplicate id {name!r} ({n} times)" for name, n in ids.items() if n > 1)
    queries = Counter(query.id for query in persona.queries)
    yield from (f"queries: duplicate id {name!r} ({n} times)" for name, n in queries.items() if n > 1)
    places = {*persona.places, COMMUTE}
    for number, item in enumerate(persona.items):
        if (place := item.get("place")) is not None and place not in places:
            yield f"items[{number}].place: {place!r} is not one of the persona's places"
        for entry, (_, where, _) in enumerate(item["use"]):
            if where not in {*places, ANYWHERE}:
                yield f"items[{number}].use[{entry}]: {where!r} is not one of the persona's places"
    for number, query in enumerate(persona.queries):
        if query.place not in {*places, ANYWHERE}:
            yield f"queries[{number}].place: {query.place!r} is not one of the persona's places"
        for name in (query.relevant or {}).keys() - ids.keys():
            yield f"queries[{number}].relevant: no such item: {name!r}"


def _errors(error: ValidationError, prefix: str = "") -> Iterable[str]:
    for detail in error.errors(include_url=False, include_input=False):
        path = prefix
        for step in detail["loc"]:
            path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
        yield f"{path}: {detail['msg'].removeprefix('Value error, ')}".removeprefix(": ")


def _message(source: str, errors: Iterable[str]) -> str:
    messages = list(errors)
    more = f"; and {len(messages) - _MAX_MESSAGES} more" if len(messages) > _MAX_MESSAGES else ""
    return f"{source}: not a valid persona: {'; '.join(messages[:_MAX_MESSAGES])}{more}"
