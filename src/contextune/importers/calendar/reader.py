"""Calendar files (.ics): events and tasks; recurring ones are expanded around the current date.

Each occurrence of an event is an item; a recurring task is one, with the times of its next occurrences.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from contextune.importers.calendar.blocks import CalendarEntry, split_calendar
from contextune.importers.calendar.fields import (
    date_property,
    event_fields,
    is_cancelled,
    is_declined,
    start_date,
    task_fields,
)
from contextune.importers.calendar.recurrence import (
    MAX_FILE_STEPS,
    StepBudget,
    StepBudgetExceeded,
    TooManyOccurrences,
    expand_occurrences,
    parse_component,
)
from contextune.importers.calendar.versions import Relation, content_digest
from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.reader import (
    PARSE_ERRORS,
    ImportContext,
    ImportRecord,
    ReplacedSeries,
    is_plausible_time,
    item_id,
    read_each,
)
from contextune.types import Item

WINDOW = timedelta(days=365)
"""How far before and after now recurring events are expanded."""
_FAR = timedelta(days=180)
"""From now on which an export has a window of its own."""
_STAMPS = ("DTSTAMP", "LAST-MODIFIED", "CREATED")
"""Properties with the time of a change, or of the export."""
MAX_LATER = 60
"""Occurrences of a recurring task that are kept behind the current one."""
_KINDS = {"VEVENT": "event", "VTODO": "task"}
_SUFFIXES = (".ics", ".ical", ".icalendar", ".ifb", ".vcs")
_START = re.compile(r"\s*BEGIN:(?:VCALENDAR|VEVENT|VTODO|VTIMEZONE)\s", re.IGNORECASE)
"""A calendar, or an entry without a calendar around it, as some programs save single events."""


class CalendarReader:
    """iCalendar files."""

    name = "calendar"
    apps = ("Calendar", "Reminders")

    def __init__(self, max_steps: int = MAX_FILE_STEPS) -> None:
        self._max_steps = max_steps
        """Steps that the recurrence rules of one file may take."""

    def can_read(self, file: SourceFile) -> bool:
        """Whether the file contains a calendar."""
        if file.suffix in _SUFFIXES:
            return any(file.contains(f"BEGIN:{name}") for name in ("VCALENDAR", *_KINDS))
        return bool(_START.match(file.start))  # other files may only quote a calendar

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """Its events and tasks. Entries with the same UID are versions or exceptions of one event."""
        groups: dict[tuple[str, str], list[CalendarEntry]] = {}
        with file.open() as stream:
            for block in split_calendar(stream):
                where = f"{file.where}, line {block.line}"
                if not block.complete:
                    yield SkippedEntry(where, "truncated event")
                elif block.kind not in _KINDS:
                    yield SkippedEntry(where, "journal entry")
                else:
                    if block.truncated:
                        yield SkippedEntry(where, "rest of a line that is too long")
                    groups.setdefault((block.kind, block.uid), []).append(block)
        budget = StepBudget(self._max_steps)
        moments = _moments(groups.values(), context)
        yield from read_each(
            groups.values(),
            lambda group: _SameUid(group, file, context, budget, moments).read(),
            lambda group: f"{file.where}, line {group[0].line}",
        )


def _moments(groups: Iterable[Sequence[CalendarEntry]], context: ImportContext) -> list[datetime]:
    """The moments around which recurring events are expanded: now, and that of an export long ago or ahead.

    So an old calendar has the events of its time, whatever the clock of the machine.
    """
    stamps = (block.get(name) for group in groups for block in group for name in _STAMPS)
    exported = max((time for stamp in stamps if (time := _stamp(stamp)) is not None), default=context.now)
    is_far = abs(context.to_local(exported) - context.to_local(context.now)) > _FAR
    return [context.now, exported] if is_far and is_plausible_time(exported, context) else [context.now]


def _stamp(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return time and (time if time.tzinfo else time.replace(tzinfo=UTC))


class _SameUid:
    """The entries with one UID."""

    def __init__(
        self,
        group: Sequence[CalendarEntry],
        file: SourceFile,
        context: ImportContext,
        budget: StepBudget,
        moments: Sequence[datetime],
    ) -> None:
        self._group = group
        self._moments = moments
        self._budget = budget
        self._file = file
        self._context = context
        self._kind = group[0].kind
        self._since = context.now - WINDOW

    def read(self) -> Iterator[ImportRecord]:
        """Its items: one, or one per occurrence."""
        masters = [block for block in self._group if not block.get("RECURRENCE-ID")]
        exceptions = [block for block in self._group if block.get("RECURRENCE-ID")]
        newest = max((block.version for block in masters), default=(0, ""))
        current = [block for block in masters if block.version == newest]
        for block in masters:
            if block.version != newest:
                yield self._skipped(block, "older version of an event")
        distinct: dict[bytes, CalendarEntry] = {}
        for block in current:
            content = content_digest(block.lines)
            if content in distinct:
                yield self._skipped(block, "duplicate of an event")
            distinct.setdefault(content, block)
        if not distinct:
            yield from self._items(self._id(), None, exceptions)
        # some programs give the same UID to all events
        names = {(block.get("DTSTART"), block.get("SUMMARY")) for block in distinct.values()}
        for content, block in distinct.items():
            item = self._id(*(block.get("DTSTART"), block.get("SUMMARY")) if len(names) > 1 else ())
            yield from self._series(item, block, content, exceptions if block is current[0] else ())

    def _series(
        self, item: str, master: CalendarEntry, content: bytes, exceptions: Sequence[CalendarEntry]
    ) -> Iterator[ImportRecord]:
        """The items of an event, unless it is a copy or an older version of one in another file."""
        if exceptions:
            content = content_digest(line for block in (master, *exceptions) for line in block.lines)
        version = max(block.version for block in (master, *exceptions))
        relation = self._context.events.add(item, version, content)
        if relation is Relation.COPY:
            yield self._skipped(master, "duplicate of an entry already read")
            return
        if relation is Relation.OLDER:
            yield self._skipped(master, "older version of an event")
            return
        if relation is Relation.OTHER:
            item = self._id(content.hex())
        yield ReplacedSeries(item, self._since)
        yield from self._items(item, master, exceptions)

    def _items(
        self, item: str, master: CalendarEntry | None, exceptions: Sequence[CalendarEntry]
    ) -> Iterator[ImportRecord]:
        first = master or exceptions[0]
        if not exceptions and not first.repeats:
            yield from self._item(item, parse_component(first), first)
            return
        components = (
            [parse_component(block) for block in (first, *exceptions)]
            if master
            else [*map(parse_component, exceptions)]
        )
        occurrences: dict[str, Any] = {}
        try:
            for moment in self._moments:
                since, until = moment - WINDOW, moment + WINDOW
                for component in expand_occurrences(components, self._kind, since, until, self._budget):
                    occurrences.setdefault(_occurrence_key(component), component)
        except TooManyOccurrences:
            yield self._skipped(first, "event that repeats too often")
            return
        except StepBudgetExceeded:
            yield self._skipped(first, "repetitions of an event: too many recurrence rules in the file")
            yield from self._item(item, components[0], first)
            return
        except PARSE_ERRORS:
            yield self._skipped(first, "event with an invalid recurrence rule")
            yield from self._item(item, components[0], first)
            return
        if not occurrences:
            yield self._skipped(first, "event without occurrences within a year of now")
        if self._kind == "VTODO":
            yield from self._recurring_task(item, list(occurrences.values()), first)
            return
        for key, component in occurrences.items():
            yield from self._item(f"{item}-{key}", component, first)

    def _recurring_task(
        self, item: str, occurrences: Sequence[Any], block: CalendarEntry
    ) -> Iterator[ImportRecord]:
        """One item: the first open occurrence from today on, with the times of later ones; else the last."""
        today = self._context.to_local(self._context.now).date()
        title = block.calendar.properties.get("X-WR-CALNAME", "")
        tasks = [
            (due, fields)
            for component in occurrences
            if not is_cancelled(component)
            for fields in [task_fields(component, title, self._file.path.stem)]
            if (due := _local_due(fields, self._context)) is not None
        ]
        tasks.sort(key=lambda task: task[0])
        current = [task for task in tasks if task[0].date() >= today and task[1]["status"] != "done"]
        chosen = current or tasks[-1:]
        if not chosen:
            yield self._skipped(block, "cancelled" if occurrences else "event without a valid start")
            return
        later = [fields["due"] for _, fields in chosen[1 : MAX_LATER + 1]]
        fields = chosen[0][1]
        yield Item(item, "Reminders", {**fields, "occurrences": later} if later else fields)

    def _item(self, item: str, component: Any, block: CalendarEntry) -> Iterator[ImportRecord]:
        if component is None:
            yield self._skipped(block, "unreadable event")
        elif is_cancelled(component):
            yield self._skipped(block, "cancelled")
        elif self._kind == "VTODO":
            title = block.calendar.properties.get("X-WR-CALNAME", "")
            yield Item(item, "Reminders", task_fields(component, title, self._file.path.stem))
        elif start_date(component) is None:
            yield self._skipped(block, "event without a valid start")
        elif is_declined(component, self._context.addresses):
            yield self._skipped(block, "event declined by the user")
        else:
            yield Item(item, "Calendar", event_fields(component, block.calendar.properties))

    def _id(self, *more: str) -> str:
        return item_id(_KINDS[self._kind], self._group[0].uid, *more)

    def _skipped(self, block: CalendarEntry, why: str) -> SkippedEntry:
        if self._kind == "VTODO":
            why = why.replace("event", "task")
        return SkippedEntry(f"{self._file.where}, line {block.line}", why)


def _local_due(fields: Mapping[str, Any], context: ImportContext) -> datetime | None:
    due: str = fields.get("due", "")
    return context.to_local(datetime.fromisoformat(due)) if due else None


def _occurrence_key(component: Any) -> str:
    """Identifies an occurrence by its original time, even if it has been moved."""
    original = date_property(component, "RECURRENCE-ID") or start_date(component)
    return re.sub(r"[^0-9TZ]", "", _utc(original)) if original else "x"


def _utc(time: Any) -> str:
    if isinstance(time, datetime) and time.tzinfo:
        offset = time.utcoffset() or timedelta()
        return f"{(time.replace(tzinfo=None) - offset).isoformat()}Z"
    return str(time.isoformat())
