"""Calendars and tasks (.ics): events, those that repeat unrolled around now, and tasks as reminders."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from contextune.importers.calendar.blocks import CalendarEntry, blocks
from contextune.importers.calendar.fields import (
    called_off,
    declined,
    event_fields,
    moment,
    start_of,
    task_fields,
)
from contextune.importers.calendar.recurrence import TooManyOccurrences, occurrences, parsed
from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.reader import UNFORESEEN, Found, ImportContext, ReplacedSeries, each, item_id
from contextune.types import Item

WINDOW = timedelta(days=365)
"""How far before and after now an event that repeats is unrolled."""
_KINDS = {"VEVENT": "event", "VTODO": "task"}


class CalendarReader:
    """A calendar file, as every calendar program writes it."""

    name = "calendar"
    apps = ("CalendarReader", "Reminders")

    def reads(self, file: SourceFile) -> bool:
        """Whether the file says that it is a calendar."""
        return file.says("BEGIN:VCALENDAR")

    def read(self, file: SourceFile, about: ImportContext) -> Iterator[Found]:
        """Its events and tasks, those of one name together: they are versions or exceptions of one."""
        groups: dict[tuple[str, str], list[CalendarEntry]] = {}
        with file.open() as stream:
            for block in blocks(stream):
                where = f"{file.where}, line {block.line}"
                if not block.ended:
                    yield SkippedEntry(where, "an event that is cut off")
                elif block.kind not in _KINDS:
                    yield SkippedEntry(where, "an entry of a journal")
                else:
                    if block.cut:
                        yield SkippedEntry(where, "the end of a line that is too long")
                    groups.setdefault((block.kind, block.uid), []).append(block)
        yield from each(
            groups.values(),
            lambda group: _SameUid(group, file, about).read(),
            lambda group: f"{file.where}, line {group[0].line}",
        )


class _SameUid:
    """The entries of one name."""

    def __init__(self, group: Sequence[CalendarEntry], file: SourceFile, about: ImportContext) -> None:
        self._group = group
        self._file = file
        self._about = about
        self._kind = group[0].kind
        self._since = about.now - WINDOW

    def read(self) -> Iterator[Found]:
        """Its items: one, or as many as it repeats around now."""
        masters = [block for block in self._group if not block.get("RECURRENCE-ID")]
        exceptions = [block for block in self._group if block.get("RECURRENCE-ID")]
        newest = max((block.version for block in masters), default=(0, ""))
        current = [block for block in masters if block.version == newest]
        for block in masters:
            if block.version != newest:
                yield self._skipped(block, "an older version of an event")
        different: dict[tuple[str, str], CalendarEntry] = {}
        for block in current:
            key = (block.get("DTSTART"), block.get("SUMMARY"))
            if key in different:
                yield self._skipped(block, "a copy of an event")
            different.setdefault(key, block)
        if not different:
            yield from self._one(self._id(), None, exceptions)
        for key, block in different.items():
            # some programs give all their events the same name
            own = self._id() if len(different) == 1 else self._id(*key)
            yield from self._one(own, block, exceptions if block is current[0] else ())

    def _one(
        self, own: str, master: CalendarEntry | None, exceptions: Sequence[CalendarEntry]
    ) -> Iterator[Found]:
        yield ReplacedSeries(own, self._since)
        first = master or exceptions[0]
        if not exceptions and not first.repeats:
            yield from self._item(own, parsed(first), first)
            return
        components = (
            [parsed(block) for block in (first, *exceptions)] if master else [*map(parsed, exceptions)]
        )
        until = self._about.now + WINDOW
        try:
            found = occurrences(components, self._kind, self._since, until)
        except TooManyOccurrences:
            yield self._skipped(first, "an event that repeats too often")
            return
        except UNFORESEEN:
            yield self._skipped(first, "an event whose repetition cannot be read")
            yield from self._item(own, components[0], first)
            return
        if not found:
            yield self._skipped(first, "an event that repeats, but not within a year of now")
        for component in found:
            yield from self._item(f"{own}-{_mark(component)}", component, first)

    def _item(self, own: str, component: Any, block: CalendarEntry) -> Iterator[Found]:
        if component is None:
            yield self._skipped(block, "an event that cannot be read")
        elif called_off(component):
            yield self._skipped(block, "called off")
        elif self._kind == "VTODO":
            title = block.calendar.properties.get("X-WR-CALNAME") or self._file.path.stem
            yield Item(own, "Reminders", task_fields(component, title))
        elif start_of(component) is None:
            yield self._skipped(block, "an event without a start that can be read")
        elif declined(component, self._about.addresses):
            yield self._skipped(block, "an event the user declined")
        else:
            yield Item(own, "CalendarReader", event_fields(component, block.calendar.properties))

    def _id(self, *more: str) -> str:
        return item_id(_KINDS[self._kind], self._group[0].uid, *more)

    def _skipped(self, block: CalendarEntry, why: str) -> SkippedEntry:
        if self._kind == "VTODO":
            why = why.replace("an event", "a task")
        return SkippedEntry(f"{self._file.where}, line {block.line}", why)


def _mark(component: Any) -> str:
    """What tells one occurrence from the others: when it was meant to be, even if it has been moved."""
    meant = moment(component, "RECURRENCE-ID") or start_of(component)
    return re.sub(r"[^0-9TZ]", "", _universal(meant)) if meant else "x"


def _universal(time: Any) -> str:
    if isinstance(time, datetime) and time.tzinfo:
        offset = time.utcoffset() or timedelta()
        return f"{(time.replace(tzinfo=None) - offset).isoformat()}Z"
    return str(time.isoformat())
