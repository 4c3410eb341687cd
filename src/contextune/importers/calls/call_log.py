"""Call logs to items: one per phone number and one per voicemail, with a usage event per conversation."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from contextune.importers.files import SkippedEntry
from contextune.importers.parsing.html_text import tidy
from contextune.importers.phone_numbers import NO_CALLER, names_by_number, normalize_number
from contextune.importers.reader import (
    NO_TIME,
    ImportContext,
    ImportRecord,
    is_plausible_time,
    iso_time,
    item_id,
    shorten,
)
from contextune.types import Item, UsageEvent

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
        self._calls: dict[str, list[tuple[datetime, Item]]] = {}
        """By item: its calls with their local times."""

    def add(self, call: LoggedCall, where: str) -> Iterator[ImportRecord]:
        """Add a call; yields its usage event."""
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
            item = Item(item_id("call", digits), "PhoneCall", fields)
            self._calls.setdefault(item.id, []).append((self._context.to_local(call.time), item))
            if call.direction in (INCOMING, OUTGOING):  # a missed call is not an action of the user
                yield UsageEvent(item.id, call.time.replace(microsecond=0))

    def with_items(self, records: Iterable[ImportRecord]) -> Iterator[ImportRecord]:
        """The records of calls that are added, then the items, also if the file cannot be read to its end."""
        try:
            yield from records
        except Exception:
            yield from self._items()
            raise
        yield from self._items()

    def _items(self) -> Iterator[Item]:
        """The last call with each number, the earlier ones as its history, and earlier voicemails."""
        for calls in self._calls.values():
            latest, *earlier = (item for _, item in sorted(calls, key=lambda call: call[0], reverse=True))
            yield with_history(latest, earlier, self._context)
            for item in earlier:
                # nobody looks for the third last call, but for what somebody said
                if item.fields["direction"] == VOICEMAIL and item.fields["date"] != latest.fields["date"]:
                    yield replace(item, id=item_id("voicemail", item.id, item.fields["date"]))

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return names_by_number(self._context.user)


_MAX_CALLS = 50
_FIELDS = ("date", "direction", "duration_s")


def with_history(latest: Item, others: Iterable[Item], context: ImportContext) -> Item:
    """The last call with a number, and all others in its field `history`, the latest first."""
    calls: dict[tuple[object, object], Mapping[str, Any]] = {}
    for item in (latest, *others):
        for call in ({name: item.fields.get(name) for name in _FIELDS}, *item.fields.get("history", ())):
            if isinstance(call.get("date"), str):
                calls.setdefault((call["date"], call.get("direction")), call)
    calls.pop((latest.fields.get("date"), latest.fields.get("direction")), None)

    def local(call: Mapping[str, Any]) -> datetime:
        return context.to_local(datetime.fromisoformat(call["date"]))

    history = sorted(calls.values(), key=local, reverse=True)[:_MAX_CALLS]
    return replace(latest, fields={**latest.fields, "history": history}) if history else latest
