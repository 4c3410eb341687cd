"""Convert a parsed event or task to item fields."""

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from contextune.importers.calendar.recurrence import as_list
from contextune.importers.parsing.html_text import html_text, tidy
from contextune.importers.reader import iso_time, shorten

_MAX_NOTES = 4000
_MAX_SHORT = 1000
_STATUS = {"CONFIRMED": "Confirmed", "TENTATIVE": "Tentative"}


def date_property(component: Any, name: str) -> date | datetime | None:
    """A date or date-time property, or None if it is missing or invalid."""
    value = getattr(component.get(name), "dt", None)
    return value if isinstance(value, date) else None


def start_date(component: Any) -> date | datetime | None:
    """When it starts."""
    return date_property(component, "DTSTART")


def is_cancelled(component: Any) -> bool:
    """Whether its status is CANCELLED."""
    return _text(component, "STATUS").upper() == "CANCELLED"


def is_declined(component: Any, addresses: frozenset[str]) -> bool:
    """Whether an attendee with one of these addresses has declined."""
    return any(
        _address(person).casefold() in addresses
        and str(person.params.get("PARTSTAT", "")).upper() == "DECLINED"
        for person in _all_with_parameters(component, "ATTENDEE")
    )


def event_fields(component: Any, calendar: Mapping[str, str]) -> dict[str, Any]:
    """The fields of an event; `calendar` are the properties of its calendar."""
    start = start_date(component)
    end = _end_date(component, start)
    people = [_person(person) for person in _all_with_parameters(component, "ATTENDEE")]
    status = _text(component, "STATUS").upper()
    fields: dict[str, Any] = {
        "event_name": _short_text(component, "SUMMARY"),
        "category": next(_categories(component), "") or _calendar_name(calendar.get("X-WR-CALNAME", "")),
        "organizer": next((_person(person) for person in _all_with_parameters(component, "ORGANIZER")), ""),
        "participants": list(dict.fromkeys(filter(None, people))),
        "location": _short_text(component, "LOCATION"),
        "start_time": _iso(start),
        "end_time": _iso(end),
        "status": _STATUS.get(status, ""),
        "notes": _notes(component),
        "url": _text(component, "URL"),
    }
    always = ("event_name", "participants")
    return {name: value for name, value in fields.items() if value or name in always}


def task_fields(component: Any, calendar: str, file: str) -> dict[str, Any]:
    """The fields of a task; its list is the calendar, else its category, else the file, by their names."""
    done = _text(component, "STATUS").upper() == "COMPLETED" or component.get("COMPLETED") is not None
    due = date_property(component, "DUE") or start_date(component)
    fields: dict[str, Any] = {
        "title": _short_text(component, "SUMMARY"),
        "list": calendar or next(_categories(component), "") or file,
        "due": _iso(due),
        "status": "done" if done else "open",
        # not DTSTAMP: many programs write the time of the export there
        "created": _iso(date_property(component, "CREATED") or date_property(component, "LAST-MODIFIED")),
        "notes": _notes(component),
    }
    return {name: value for name, value in fields.items() if value or name == "title"}


def _end_date(component: Any, start: date | datetime | None) -> date | datetime | None:
    end = date_property(component, "DTEND")
    length = getattr(component.get("DURATION"), "dt", None)
    if end is None and start is not None and isinstance(length, timedelta):
        end = start + length
    if not isinstance(start, datetime) and start is not None:
        # DTEND of an all-day event is the day after its last day
        last_day = end - timedelta(days=1) if end is not None and not isinstance(end, datetime) else start
        return datetime(last_day.year, last_day.month, last_day.day, 23, 59) if last_day >= start else None
    if isinstance(end, datetime) and isinstance(start, datetime):
        comparable = (end.tzinfo is None) == (start.tzinfo is None)
        return end if comparable and end >= start else None
    return None


def _iso(time: date | datetime | None) -> str:
    if time is None:
        return ""
    return iso_time(time) if isinstance(time, datetime) else time.isoformat()


def _text(component: Any, name: str) -> str:
    return next((tidy(str(value)) for value in as_list(component.get(name))), "")


def _short_text(component: Any, name: str) -> str:
    return shorten(_text(component, name), _MAX_SHORT)


def _all_with_parameters(component: Any, name: str) -> list[Any]:
    return [value for value in as_list(component.get(name)) if hasattr(value, "params")]


def _categories(component: Any) -> Iterator[str]:
    for value in as_list(component.get("CATEGORIES")):
        for name in getattr(value, "cats", ()):
            yield tidy(str(name))


def _address(person: Any) -> str:
    text = str(person)
    return text[7:] if text.lower().startswith("mailto:") else ""


def _person(person: Any) -> str:
    return _address(person) or tidy(str(person.params.get("CN", "")))


def _calendar_name(calendar: str) -> str:
    """The name of a calendar, unless it is only a mail address."""
    return "" if "@" in calendar else tidy(calendar.replace("\\,", ",").replace("\\;", ";"))


def _notes(component: Any) -> str:
    text = _text(component, "DESCRIPTION")
    is_html = "</" in text or "<br" in text.lower()
    return shorten(html_text(text) if is_html else text, _MAX_NOTES)
