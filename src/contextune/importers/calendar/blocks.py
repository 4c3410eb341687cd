"""A calendar's text cut into its events and tasks: each is read by itself, so that none spoils another."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import BinaryIO
from zoneinfo import ZoneInfo

from contextune.importers.parsing.content_lines import MOST_LINE, unfolded

KINDS = ("VEVENT", "VTODO", "VJOURNAL")
_ZONE = re.compile(r";TZID=\"?([^:;\"]+)", re.IGNORECASE)
_PROPERTY = re.compile(r"[A-Za-z0-9-]+[;:]")
_ATTACHED = re.compile(r"ATTACH[;:]", re.IGNORECASE)
_WORDS = re.compile(r"(?:DESCRIPTION|SUMMARY|LOCATION)\b", re.IGNORECASE)
_REPEATING = ("RRULE", "RDATE", "RECURRENCE-ID")


@dataclass(frozen=True, slots=True)
class CalendarHeader:
    """What stands around the events of one calendar."""

    properties: dict[str, str] = field(default_factory=dict[str, str])
    zones: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


@dataclass(frozen=True, slots=True)
class CalendarEntry:
    """One event or task as it is written."""

    kind: str
    line: int
    lines: tuple[str, ...]
    calendar: CalendarHeader
    ended: bool = True
    """Whether the file goes on to its end."""
    cut: bool = False
    """Whether a line of it is longer than what is kept of one."""

    def get(self, name: str) -> str:
        """What stands behind a name, without what stands between the two; nothing where it is missing."""
        for line in self.lines:
            if line[: len(name)].upper() == name and line[len(name) : len(name) + 1] in (":", ";"):
                return line.partition(":")[2].strip()
        return ""

    @property
    def uid(self) -> str:
        """What the calendar calls it, or what it says where it has no name."""
        return self.get("UID") or blake2b("\n".join(self.lines).encode(), digest_size=12).hexdigest()

    @property
    def repeats(self) -> bool:
        """Whether it stands for several, or for one of several."""
        return any(self.get(name) for name in _REPEATING)

    @property
    def version(self) -> tuple[int, str]:
        """Grows with every change to the same event."""
        sequence = self.get("SEQUENCE")
        return int(sequence) if sequence.isdecimal() else 0, self.get("LAST-MODIFIED")

    @property
    def text(self) -> str:
        """As a calendar of its own, with the zones it speaks of that are not the world's."""
        named = {zone for line in self.lines for zone in _ZONE.findall(line.partition(":")[0])}
        own = [zone for zone in sorted(named) if not _known(zone)]
        zones = [line for zone in own for line in self.calendar.zones.get(zone, ())]
        return "\r\n".join(["BEGIN:VCALENDAR", *zones, *self.lines, "END:VCALENDAR", ""])


@lru_cache(maxsize=256)
def _known(zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):  # unknown, no name, the name of a folder
        return False
    return True


def blocks(stream: BinaryIO) -> Iterator[CalendarEntry]:
    """The events, tasks and journal entries of a file, which may hold several calendars."""
    calendar = CalendarHeader()
    kept: list[str] = []
    inside, started, cut = "", 0, False
    for number, line in unfolded(stream):
        name, _, value = line.partition(":")
        word, what = name.strip().upper(), value.strip().upper()
        if not inside:
            if word == "BEGIN" and what == "VCALENDAR":
                calendar = CalendarHeader()
            elif word == "BEGIN" and what in (*KINDS, "VTIMEZONE", "VFREEBUSY"):
                inside, started, cut, kept = what, number, False, [line]
            elif word not in ("BEGIN", "END"):
                calendar.properties.setdefault(word.partition(";")[0], value.strip())
            continue
        if word == "BEGIN" and what in KINDS:  # the one before was never ended
            yield CalendarEntry(inside, started, tuple(kept), calendar, ended=False)
            inside, started, cut, kept = what, number, False, [line]
            continue
        if _ATTACHED.match(line):
            continue
        cut = cut or len(line) >= MOST_LINE
        if _PROPERTY.match(line):
            kept.append(line)
        elif (
            line.strip() and len(kept[-1]) < MOST_LINE and _WORDS.match(kept[-1])
        ):  # a line that should have been folded
            kept[-1] += f"\\n{line}"
        if word == "END" and what == inside:
            block = CalendarEntry(inside, started, tuple(kept), calendar, cut=cut)
            if inside == "VTIMEZONE":
                calendar.zones[block.get("TZID")] = kept
            elif inside in KINDS:
                yield block
            inside = ""
    if inside in KINDS:
        yield CalendarEntry(inside, started, tuple(kept), calendar, ended=False)
