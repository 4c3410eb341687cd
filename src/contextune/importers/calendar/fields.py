"""What one event or task says, in the words of the applications' table."""

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from contextune.importers.calendar.recurrence import listed
from contextune.importers.parsing.html_text import html_text, tidy
from contextune.importers.reader import iso, shortened

_MOST_NOTES = 4000
_MOST_WORDS = 1000
_STATUS = {"CONFIRMED": "Confirmed", "TENTATIVE": "Tentative"}


def moment(component: Any, name: str) -> date | datetime | None:
    """A day or a time of an event, or None where there is none that can be read."""
    value = getattr(component.get(name), "dt", None)
    return value if isinstance(value, date) else None


def start_of(component: Any) -> date | datetime | None:
    """When it begins."""
    return moment(component, "DTSTART")


def called_off(component: Any) -> bool:
    """Whether it does not take place."""
    return _word(component, "STATUS").upper() == "CANCELLED"


def declined(component: Any, addresses: frozenset[str]) -> bool:
    """Whether the user, of these addresses, has said that they will not come."""
    return any(
        _address(person).casefold() in addresses
        and str(person.params.get("PARTSTAT", "")).upper() == "DECLINED"
        for person in _all(component, "ATTENDEE")
    )


def event_fields(component: Any, calendar: Mapping[str, str]) -> dict[str, Any]:
    """An event's; `calendar` is what stands around it."""
    start = start_of(component)
    end = _end(component, start)
    people = [_person(person) for person in _all(component, "ATTENDEE")]
    status = _word(component, "STATUS").upper()
    fields: dict[str, Any] = {
        "event_name": _short(component, "SUMMARY"),
        "category": next(_categories(component), "") or _named(calendar.get("X-WR-CALNAME", "")),
        "organizer": next((_person(one) for one in _all(component, "ORGANIZER")), ""),
        "participants": list(dict.fromkeys(filter(None, people))),
        "location": _short(component, "LOCATION"),
        "start_time": _written(start),
        "end_time": _written(end),
        "status": _STATUS.get(status, ""),
        "notes": _notes(component),
        "url": _word(component, "URL"),
    }
    always = ("event_name", "participants")
    return {name: value for name, value in fields.items() if value or name in always}


def task_fields(component: Any, title: str) -> dict[str, Any]:
    """A task's; `title` is that of the list it stands in."""
    done = _word(component, "STATUS").upper() == "COMPLETED" or component.get("COMPLETED") is not None
    due = moment(component, "DUE") or start_of(component)
    fields: dict[str, Any] = {
        "title": _short(component, "SUMMARY"),
        "list": title,
        "due": _written(due),
        "status": "done" if done else "open",
        # not DTSTAMP: many programs write the time of the export there
        "created": _written(moment(component, "CREATED") or moment(component, "LAST-MODIFIED")),
        "notes": _notes(component),
    }
    return {name: value for name, value in fields.items() if value or name == "title"}


def _end(component: Any, start: date | datetime | None) -> date | datetime | None:
    end = moment(component, "DTEND")
    length = getattr(component.get("DURATION"), "dt", None)
    if end is None and start is not None and isinstance(length, timedelta):
        end = start + length
    if not isinstance(start, datetime) and start is not None:
        # a calendar's last day is the day after; people mean the evening before
        last = end - timedelta(days=1) if end is not None and not isinstance(end, datetime) else start
        return datetime(last.year, last.month, last.day, 23, 59) if last >= start else None
    if isinstance(end, datetime) and isinstance(start, datetime):
        zoned = (end.tzinfo is None) == (start.tzinfo is None)
        return end if zoned and end >= start else None
    return None


def _written(time: date | datetime | None) -> str:
    if time is None:
        return ""
    return iso(time) if isinstance(time, datetime) else time.isoformat()


def _word(component: Any, name: str) -> str:
    return next((tidy(str(one)) for one in listed(component.get(name))), "")


def _short(component: Any, name: str) -> str:
    return shortened(_word(component, name), _MOST_WORDS)


def _all(component: Any, name: str) -> list[Any]:
    return [one for one in listed(component.get(name)) if hasattr(one, "params")]


def _categories(component: Any) -> Iterator[str]:
    for one in listed(component.get("CATEGORIES")):
        for name in getattr(one, "cats", ()):
            yield tidy(str(name))


def _address(person: Any) -> str:
    text = str(person)
    return text[7:] if text.lower().startswith("mailto:") else ""


def _person(person: Any) -> str:
    return _address(person) or tidy(str(person.params.get("CN", "")))


def _named(calendar: str) -> str:
    """A calendar's name, unless it is but the address it belongs to."""
    return "" if "@" in calendar else tidy(calendar.replace("\\,", ",").replace("\\;", ";"))


def _notes(component: Any) -> str:
    text = _word(component, "DESCRIPTION")
    looks = "</" in text or "<br" in text.lower()
    return shortened(html_text(text) if looks else text, _MOST_NOTES)
