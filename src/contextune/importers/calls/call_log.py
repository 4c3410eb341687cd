"""Call logs to items: one item per phone number, with a usage event per conversation."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from contextune.importers.files import SkippedEntry
from contextune.importers.parsing.html_text import tidy
from contextune.importers.phone_numbers import NO_CALLER, names_by_number, normalize_number
from contextune.importers.reader import ImportContext, ImportRecord, iso_time, item_id, shorten
from contextune.importers.repeated import NO_TIME, RepeatedItems, is_plausible_time
from contextune.types import Item

INCOMING, OUTGOING, MISSED = "incoming", "outgoing", "missed"
VOICEMAIL, REJECTED, BLOCKED = "voicemail", "rejected", "blocked"
_MAX_NAME, _MAX_NUMBER = 300, 100


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """An entry of a call log."""

    number: str
    name: str
    direction: str | None
    time: datetime | None
    seconds: int
    withheld: bool = False


class CallLog:
    """Converts the calls of one file to items and usage events."""

    def __init__(self, context: ImportContext) -> None:
        self._context = context
        self._callers = RepeatedItems(context)

    def add(self, call: LoggedCall, where: str) -> Iterator[ImportRecord]:
        """Add a call."""
        name = shorten(tidy(call.name), _MAX_NAME)
        name = "" if name.strip("()").casefold() in NO_CALLER else name
        digits = normalize_number(call.number[:_MAX_NUMBER])
        if call.withheld or not digits:
            yield SkippedEntry(where, "call from a withheld number")
        elif call.time is None or not is_plausible_time(call.time, self._context):
            yield SkippedEntry(where, NO_TIME)
        elif call.direction is None:
            yield SkippedEntry(where, "call of unknown kind")
        elif call.direction == BLOCKED:
            yield SkippedEntry(where, "blocked call")
        else:
            number = tidy(call.number[:_MAX_NUMBER])
            fields = {
                "contact": self._names.get(digits) or name or number,
                "number": number,
                "direction": call.direction,
                "date": iso_time(call.time),
                "duration_s": call.seconds,
            }
            # a missed call is not an action of the user
            answered = call.direction in (INCOMING, OUTGOING)
            item = Item(item_id("call", digits), "PhoneCall", fields)
            yield from self._callers.add(item, call.time, used=answered)

    def latest(self) -> Iterator[ImportRecord]:
        """The items of numbers that occurred again, with their latest call."""
        return self._callers.latest()

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return names_by_number(self._context.user)
