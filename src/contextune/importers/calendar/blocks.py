"""Split an .ics stream into entries that are parsed one by one, so that a broken one affects no other."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import BinaryIO
from zoneinfo import ZoneInfo

from contextune.importers.parsing.content_lines import MAX_LINE, unfold_lines

KINDS = ("VEVENT", "VTODO", "VJOURNAL")
_ZONE = re.compile(r";TZID=\"?([^:;\"]+)", re.IGNORECASE)
_PROPERTY = re.compile(r"[A-Za-z0-9-]+[;:]")
_ATTACHMENT = re.compile(r"ATTACH[;:]", re.IGNORECASE)
_TEXT_PROPERTY = re.compile(r"(?:DESCRIPTION|SUMMARY|LOCATION)\b", re.IGNORECASE)
_RECURRENCE_PROPERTIES = ("RRULE", "RDATE", "RECURRENCE-ID")


@dataclass(frozen=True, slots=True)
class CalendarHeader:
    """Properties and time zones of a calendar."""

    properties: dict[str, str] = field(default_factory=dict[str, str])
    zones: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


@dataclass(frozen=True, slots=True)
class CalendarEntry:
    """The content lines of an event, task or journal entry."""

    kind: str
    line: int
    lines: tuple[str, ...]
    calendar: CalendarHeader
    complete: bool = True
    """False if its END line is missing."""
    truncated: bool = False
    """Whether a line was longer than `MAX_LINE`."""

    def get(self, name: str) -> str:
        """The value of the first property with this name, without its parameters; "" if there is none."""
        for line in self.lines:
            if line[: len(name)].upper() == name and line[len(name) : len(name) + 1] in (":", ";"):
                return line.partition(":")[2].strip()
        return ""

    @property
    def uid(self) -> str:
        """The UID, or a digest of the lines if there is none."""
        return self.get("UID") or blake2b("\n".join(self.lines).encode(), digest_size=12).hexdigest()

    @property
    def repeats(self) -> bool:
        """Whether it is recurring, or an occurrence of a recurring entry."""
        return any(self.get(name) for name in _RECURRENCE_PROPERTIES)

    @property
    def version(self) -> tuple[int, str]:
        """Sort key that grows with every revision."""
        sequence = self.get("SEQUENCE")
        return int(sequence) if sequence.isdecimal() else 0, self.get("LAST-MODIFIED")

    @property
    def text(self) -> str:
        """The entry as a calendar of its own, with the custom time zones it refers to."""
        names = {zone for line in self.lines for zone in _ZONE.findall(line.partition(":")[0])}
        custom = [zone for zone in sorted(names) if not _is_iana_zone(zone)]
        zones = [line for zone in custom for line in self.calendar.zones.get(zone, ())]
        return "\r\n".join(["BEGIN:VCALENDAR", *zones, *self.lines, "END:VCALENDAR", ""])


@lru_cache(maxsize=256)
def _is_iana_zone(zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):  # unknown, empty, or the name of a folder
        return False
    return True


def split_calendar(stream: BinaryIO) -> Iterator[CalendarEntry]:
    """The events, tasks and journal entries of a file, which may contain several calendars."""
    calendar = CalendarHeader()
    lines: list[str] = []
    component, start, truncated = "", 0, False
    for number, line in unfold_lines(stream):
        name, _, value = line.partition(":")
        name_upper, value_upper = name.strip().upper(), value.strip().upper()
        if not component:
            if name_upper == "BEGIN" and value_upper == "VCALENDAR":
                calendar = CalendarHeader()
            elif name_upper == "BEGIN" and value_upper in (*KINDS, "VTIMEZONE", "VFREEBUSY"):
                component, start, truncated, lines = value_upper, number, False, [line]
            elif name_upper not in ("BEGIN", "END"):
                calendar.properties.setdefault(name_upper.partition(";")[0], value.strip())
            continue
        if name_upper == "BEGIN" and value_upper in KINDS:  # the previous entry has no END
            yield CalendarEntry(component, start, tuple(lines), calendar, complete=False)
            component, start, truncated, lines = value_upper, number, False, [line]
            continue
        if _ATTACHMENT.match(line):
            continue
        truncated = truncated or len(line) >= MAX_LINE
        if _PROPERTY.match(line):
            lines.append(line)
        elif (
            line.strip() and len(lines[-1]) < MAX_LINE and _TEXT_PROPERTY.match(lines[-1])
        ):  # a continuation line without its leading space
            lines[-1] += f"\\n{line}"
        if name_upper == "END" and value_upper == component:
            block = CalendarEntry(component, start, tuple(lines), calendar, truncated=truncated)
            if component == "VTIMEZONE":
                calendar.zones[block.get("TZID")] = lines
            elif component in KINDS:
                yield block
            component = ""
    if component in KINDS:
        yield CalendarEntry(component, start, tuple(lines), calendar, complete=False)
