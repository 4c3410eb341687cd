"""Call logs as tables, in the shapes that the many apps for it write."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from contextune.importers.calls.call_log import (
    BLOCKED,
    INCOMING,
    MISSED,
    OUTGOING,
    REJECTED,
    VOICEMAIL,
    CallLog,
    LoggedCall,
)
from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.csv_rows import CsvRow, first_row, rows
from contextune.importers.parsing.localized_times import written_time
from contextune.importers.reader import Found, ImportContext, each

_COLUMNS = {
    "number": "number|phone|phone number|phonenumber|caller|nummer|telefonnummer|rufnummer|número|numero|"
    "teléfono|numéro|telefone|telefoonnummer",
    "name": "name|contact|contact name|cached name|cachedname|caller name|kontakt|nombre|contacto|nom|nome|"
    "naam",
    "kind": "type|call type|calltype|direction|kind|art|anruftyp|typ|tipo|tipo de llamada|type d'appel|"
    "richtung",
    "date": "date|date time|datetime|date/time|date & time|call date|timestamp|start time|datum|fecha|data",
    "clock": "time|call time|uhrzeit|zeit|hora|heure|ora|tijd",
    "length": "duration|call duration|duration (s)|duration (sec)|duration in seconds|length|dauer|"
    "duración|durée|duração|durata|duur",
}
_ROLES = {name: role for role, known in _COLUMNS.items() for name in known.split("|")}
_KINDS = (
    (BLOCKED, r"block|spam|gesperrt|bloque"),
    (REJECTED, r"reject|declin|dismiss|abgelehnt|abgewiesen|rechaz|refus|rejeit|rifiut|^5$"),
    (MISSED, r"miss|verpasst|entgangen|perdid|manqu|pers[ae]|unanswered|gemist|^3$"),
    (VOICEMAIL, r"voice ?mail|mailbox|^4$"),
    (OUTGOING, r"out|dial|ausgehend|salient|sortant|realizad|efetuad|effettuat|uitgaand|^2$"),
    (INCOMING, r"^in|receiv|answer|eingehend|entrant|recib|reçu|recebid|ricevut|^1$"),
)
"""How each kind is told, in this order: "answered" stands in "unanswered"."""
_EPOCH = re.compile(r"\d{10}(?:\d{3})?$")
_CLOCK = re.compile(r",? *(\d{1,2}):(\d\d)(?::(\d\d))?$", re.ASCII)
_SLASHED = re.compile(r"^(\d{1,2})[/-](\d{1,2})[/-](\d{2}|\d{4})\b(.*)$")
_UNITS = re.compile(r"(\d+) ?([hms])", re.IGNORECASE)
_FIRST_YEAR = 1900
_DAY_FIRST, _MONTH_FIRST = "day first", "month first"
_AMBIGUOUS = "a date that can be read in two ways, such as 5/6/2024"


class CallsCsvReader:
    """Calls in a CSV file."""

    name = "calls-csv"
    apps = ("PhoneCall",)

    def reads(self, file: SourceFile) -> bool:
        """Whether there are columns for a number, a kind of call and a date."""
        return {"number", "kind", "date"} <= set(_names(first_row(file)))

    def read(self, file: SourceFile, about: ImportContext) -> Iterator[Found]:
        """Every call in it."""
        names = _names(first_row(file))
        order = _order(file, names, about)
        log = CallLog(about)

        def where(row: CsvRow) -> str:
            return f"{file.where}, line {row.line}"

        def call(row: CsvRow) -> Iterator[Found]:
            if row.values is None:
                yield SkippedEntry(where(row), "a row that cannot be read")
                return
            date = _date(row.values)
            time = _time(date, order, about)
            if time is None and order is None and _SLASHED.match(date):
                yield SkippedEntry(where(row), _AMBIGUOUS)
            else:
                yield from log.add(_call(row.values, time), where(row))

        with file.open() as stream:
            table = rows(file, stream, names)
            next(table, None)
            yield from each(table, call, where)
        yield from log.latest()


class _SlashDates(NamedTuple):
    first: int
    second: int
    year: int
    rest: str

    def time(self, order: str | None, about: ImportContext) -> datetime | None:
        """Read in this order, or in any where both say the same."""
        if order is None and self.first != self.second:
            return None
        month, day = (self.first, self.second) if order == _MONTH_FIRST else (self.second, self.first)
        if self.year >= _FIRST_YEAR and (clock := _CLOCK.match(self.rest)):
            try:
                return datetime(self.year, month, day, int(clock[1]), int(clock[2]), int(clock[3] or 0))
            except ValueError:
                return None
        return written_time(f"{self.year}-{month:02}-{day:02} {self.rest}", about.user.zone)


def _slashed(date: str) -> _SlashDates | None:
    found = _SLASHED.match(date)
    if not found:
        return None
    year = int(found[3]) + (2000 if len(found[3]) == 2 else 0)
    return _SlashDates(int(found[1]), int(found[2]), year, found[4])


def _order(file: SourceFile, names: Sequence[str], about: ImportContext) -> str | None:
    """Whether days or months come first in the file: the way in which all its dates exist, in order."""
    with file.open() as stream:
        table = rows(file, stream, names)
        next(table, None)
        read = {order: _ParsedRow(about) for order in (_DAY_FIRST, _MONTH_FIRST)}
        for row in table:
            if row.values and (one := _slashed(_date(row.values))):
                for order, times in read.items():
                    times.add(one.time(order, about))
    fewest = min(times.wrong for times in read.values())
    best = [order for order, times in read.items() if times.wrong == fewest]
    if len(best) > 1:
        best = [order for order in best if read[order].sorted] or best
    return best[0] if len(best) == 1 else None


class _ParsedRow:
    """What comes out where all dates of a file are read in one way."""

    def __init__(self, about: ImportContext) -> None:
        self.wrong = 0
        """How many there cannot be: of a thirteenth month, or still to come."""
        self._about = about
        self._today = about.clock(about.now).date()
        self._last: datetime | None = None
        self._rising = self._falling = True

    def add(self, time: datetime | None) -> None:
        """The next date."""
        if time is None:
            self.wrong += 1
            return
        clock = self._about.clock(time)
        self.wrong += clock.date() > self._today
        if self._last is not None:
            self._rising = self._rising and clock >= self._last
            self._falling = self._falling and clock <= self._last
        self._last = clock

    @property
    def sorted(self) -> bool:
        """Whether they go forward, or back, all the way."""
        return self._rising or self._falling


def _names(first: Sequence[str]) -> tuple[str, ...]:
    """What each column is, or nothing where it is of no use here."""
    found: list[str] = []
    for name in first:
        role = _ROLES.get(name.strip().lower().replace("_", " "), "")
        found.append("" if role in found else role)
    return tuple(found)


def _date(row: Mapping[str, str]) -> str:
    date, clock = row.get("date", ""), row.get("clock", "")
    return date if not clock or ":" in date or _EPOCH.match(date) else f"{date} {clock}"


def _time(date: str, order: str | None, about: ImportContext) -> datetime | None:
    if _EPOCH.match(date):
        number = int(date)
        return datetime.fromtimestamp(number // 1000 if number > 10**11 else number, UTC)
    if slashed := _slashed(date):
        return slashed.time(order, about)
    try:
        return datetime.fromisoformat(date)
    except ValueError:
        return written_time(date, about.user.zone)


def _call(row: Mapping[str, str], time: datetime | None) -> LoggedCall:
    direction = _direction(row.get("kind", ""))
    return LoggedCall(
        row.get("number", ""), row.get("name", ""), direction, time, _seconds(row.get("length", ""))
    )


@lru_cache(maxsize=64)  # a log has a handful
def _direction(kind: str) -> str | None:
    return next((name for name, told in _KINDS if re.search(told, kind.lower())), None)


def _seconds(text: str) -> int:
    """65, 1:05, 00:01:05 and 1m 5s are the same."""
    if found := _UNITS.findall(text):
        return sum(int(number) * {"h": 3600, "m": 60, "s": 1}[unit.lower()] for number, unit in found)
    parts = text.split(":")
    if not all(part.strip().isdecimal() for part in parts):
        return 0
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + int(part)
    return seconds
