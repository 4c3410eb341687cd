"""Call logs as CSV, with the column names and date formats of many apps."""

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
from contextune.importers.parsing.csv_rows import first_row, read_rows
from contextune.importers.parsing.localized_times import parse_localized_time
from contextune.importers.reader import ImportContext, ImportRecord, read_values

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
_ROLE_BY_NAME = {name: role for role, names in _COLUMNS.items() for name in names.split("|")}
_KINDS = (
    (BLOCKED, r"block|spam|gesperrt|bloque"),
    (REJECTED, r"reject|declin|dismiss|abgelehnt|abgewiesen|rechaz|refus|rejeit|rifiut|^5$"),
    (MISSED, r"miss|verpasst|entgangen|perdid|manqu|pers[ae]|unanswered|gemist|^3$"),
    (VOICEMAIL, r"voice ?mail|mailbox|^4$"),
    (OUTGOING, r"out|dial|ausgehend|salient|sortant|realizad|efetuad|effettuat|uitgaand|^2$"),
    (INCOMING, r"^in|receiv|answer|eingehend|entrant|recib|reçu|recebid|ricevut|^1$"),
)
"""Patterns of each kind, in the order they are tried: "unanswered" contains "answered"."""
_EPOCH = re.compile(r"\d{10}(?:\d{3})?$")
_CLOCK = re.compile(r",? *(\d{1,2}):(\d\d)(?::(\d\d))?$", re.ASCII)
_SLASHED = re.compile(r"^(\d{1,2})[/-](\d{1,2})[/-](\d{2}|\d{4})\b(.*)$")
_UNITS = re.compile(r"(?<!\d)(\d{1,9}) ?([hms])", re.IGNORECASE)
_MAX_DURATION = 40
"""Characters."""
_FIRST_YEAR = 1900
_DAY_FIRST, _MONTH_FIRST = "day first", "month first"
_AMBIGUOUS = "ambiguous date, such as 5/6/2024"


class CallsCsvReader:
    """Call logs in CSV files."""

    name = "calls-csv"
    apps = ("PhoneCall",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether there are columns for number, kind of call and date."""
        return {"number", "kind", "date"} <= set(_names(first_row(file)))

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        names = _names(first_row(file))
        order = _order(file, names, context)
        log = CallLog(context)

        def call(row: Mapping[str, str], where: str) -> Iterator[ImportRecord]:
            date = _date(row)
            time = _time(date, order, context)
            if time is None and order is None and _SLASHED.match(date):
                yield SkippedEntry(where, _AMBIGUOUS)
            else:
                yield from log.add(_call(row, time), where)

        with file.open() as stream:
            table = read_rows(file, stream, names)
            next(table, None)
            records = read_values(table, call, f"{file.where}, line", "unreadable row")
            yield from log.with_items(records)


class _SlashDate(NamedTuple):
    first: int
    second: int
    year: int
    rest: str

    def time(self, order: str | None, context: ImportContext) -> datetime | None:
        """The time, if days and months come in this order; None if the order matters and is not known."""
        if order is None and self.first != self.second:
            return None
        month, day = (self.first, self.second) if order == _MONTH_FIRST else (self.second, self.first)
        if self.year >= _FIRST_YEAR and (clock := _CLOCK.match(self.rest)):
            try:
                return datetime(self.year, month, day, int(clock[1]), int(clock[2]), int(clock[3] or 0))
            except ValueError:
                return None
        return parse_localized_time(f"{self.year}-{month:02}-{day:02} {self.rest}", context.user.zone)


def _slashed(date: str) -> _SlashDate | None:
    match = _SLASHED.match(date)
    if not match:
        return None
    year = int(match[3]) + (2000 if len(match[3]) == 2 else 0)
    return _SlashDate(int(match[1]), int(match[2]), year, match[4])


def _order(file: SourceFile, names: Sequence[str], context: ImportContext) -> str | None:
    """Whether days or months come first: the order that makes all dates of the file valid and sorted."""
    with file.open() as stream:
        table = read_rows(file, stream, names)
        next(table, None)
        checks = {order: _DateOrderCheck(context) for order in (_DAY_FIRST, _MONTH_FIRST)}
        for row in table:
            if row.values and (date := _slashed(_date(row.values))):
                for order, times in checks.items():
                    times.add(date.time(order, context))
    fewest = min(times.invalid for times in checks.values())
    best = [order for order, times in checks.items() if times.invalid == fewest]
    if len(best) > 1:
        best = [order for order in best if checks[order].is_sorted] or best
    return best[0] if len(best) == 1 else None


class _DateOrderCheck:
    """Statistics of the dates of a file under one order of day and month."""

    def __init__(self, context: ImportContext) -> None:
        self.invalid = 0
        """Number of dates that do not exist or lie in the future."""
        self._context = context
        self._today = context.to_local(context.now).date()
        self._last: datetime | None = None
        self._rising = self._falling = True

    def add(self, time: datetime | None) -> None:
        """Add the next date."""
        if time is None:
            self.invalid += 1
            return
        local = self._context.to_local(time)
        self.invalid += local.date() > self._today
        if self._last is not None:
            self._rising = self._rising and local >= self._last
            self._falling = self._falling and local <= self._last
        self._last = local

    @property
    def is_sorted(self) -> bool:
        """Whether the dates are ascending or descending."""
        return self._rising or self._falling


def _names(first: Sequence[str]) -> tuple[str, ...]:
    """The role of each column; "" for columns that are not used."""
    roles: list[str] = []
    for name in first:
        role = _ROLE_BY_NAME.get(name.strip().lower().replace("_", " "), "")
        roles.append("" if role in roles else role)
    return tuple(roles)


def _date(row: Mapping[str, str]) -> str:
    date, clock = row.get("date", ""), row.get("clock", "")
    return date if not clock or ":" in date or _EPOCH.match(date) else f"{date} {clock}"


def _time(date: str, order: str | None, context: ImportContext) -> datetime | None:
    if _EPOCH.match(date):
        number = int(date)
        return datetime.fromtimestamp(number // 1000 if number > 10**11 else number, UTC)
    if slashed := _slashed(date):
        return slashed.time(order, context)
    try:
        return datetime.fromisoformat(date)
    except ValueError:
        return parse_localized_time(date, context.user.zone)


def _call(row: Mapping[str, str], time: datetime | None) -> LoggedCall:
    direction = _direction(row.get("kind", ""))
    return LoggedCall(
        row.get("number", ""), row.get("name", ""), direction, time, _seconds(row.get("length", ""))
    )


@lru_cache(maxsize=64)  # a log has only a few kinds
def _direction(kind: str) -> str | None:
    return next((name for name, pattern in _KINDS if re.search(pattern, kind.lower())), None)


def _seconds(text: str) -> int:
    """The duration in seconds; 65, 1:05, 00:01:05 and 1m 5s are the same."""
    text = text[:_MAX_DURATION]
    if units := _UNITS.findall(text):
        return sum(int(number) * {"h": 3600, "m": 60, "s": 1}[unit.lower()] for number, unit in units)
    parts = text.split(":")
    if not all(part.strip().isdecimal() for part in parts):
        return 0
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + int(part)
    return seconds
