"""Contacts as CSV, as Google Contacts and Outlook export them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contextune.importers.contacts.relations import stated_relation
from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.csv_rows import CsvRow, first_row, read_rows
from contextune.importers.parsing.html_text import tidy
from contextune.importers.reader import ImportContext, ImportRecord, read_each
from contextune.types import Contact

_GIVEN = ("first name", "given name")
_MIDDLE = ("middle name", "additional name")
_FAMILY = ("last name", "family name")
_FULL = ("name", "display name", "file as")
_EMAIL = re.compile(r"e-?mail(?: \d+)?(?: - value| address)?|e-mail \d address")
_PHONE = re.compile(
    r"phone \d+ - value|(?:(?:primary|home|business|mobile|other|company main|car|assistant's) )phone(?: \d)?"
)
_ADDRESS = re.compile(r"address \d+ - formatted")
_RELATION = re.compile(r"relation (\d+) - value")
_MORE = {
    "nickname": ("nickname",),
    "organization": ("organization name", "organization 1 - name", "company"),
    "title": ("organization title", "organization 1 - title", "job title"),
    "birthday": ("birthday",),
    "note": ("notes",),
}
_SEVERAL = " ::: "
"""Google's separator of several values in one cell."""
_MAX_NOTE = 500


class ContactsCsvReader:
    """CSV files of Google Contacts and Outlook."""

    name = "contacts-csv"
    apps = ("Contacts",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether there are columns for given and family name, and for addresses or numbers."""
        columns = _columns(first_row(file))
        named = any(name in columns for name in _GIVEN) and any(name in columns for name in _FAMILY)
        return named and any(_EMAIL.fullmatch(name) or _PHONE.fullmatch(name) for name in columns)

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The people in the table."""
        columns = _columns(first_row(file))

        def where(row: CsvRow) -> str:
            return f"{file.where}, line {row.line}"

        def contact(row: CsvRow) -> Iterator[ImportRecord]:
            if row.values is None:
                yield SkippedEntry(where(row), "unreadable row")
            else:
                yield from _contact(row.values, context, where(row))

        with file.open() as stream:
            table = read_rows(file, stream, columns)
            next(table, None)  # the names of the columns
            yield from read_each(table, contact, where)


def _columns(row: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip().strip("\ufeff").lower() for name in row)


def _contact(row: Mapping[str, str], context: ImportContext, where: str) -> Iterator[ImportRecord]:
    emails, phones = _matching(row, _EMAIL), _matching(row, _PHONE)
    parts = (_first(row, names) for names in (_GIVEN, _MIDDLE, _FAMILY))
    name = tidy(" ".join(filter(None, parts))) or _first(row, _FULL)
    name = name or _first(row, _MORE["organization"]) or next(iter(emails), "")
    if not name:
        yield SkippedEntry(where, "card without a name")
        return
    own = {email.casefold() for email in emails} & context.addresses
    if own or (context.name and name.casefold() == context.name.casefold()):
        yield SkippedEntry(where, "the user's own card: only its relations are read")
        for key in row:
            if (match := _RELATION.fullmatch(key)) and row[key]:
                kind = row.get(f"relation {match[1]} - label", row.get(f"relation {match[1]} - type", ""))
                yield Contact(row[key], relation=kind.lstrip("* ").lower() or "relative")
        return
    values: dict[str, Any] = {key: _first(row, names) for key, names in _MORE.items()}
    values |= {
        "emails": emails[1:],
        "phones": phones[1:],
        "addresses": [", ".join(line.split("\n")) for line in _matching(row, _ADDRESS)],
        "groups": [
            group.removeprefix("* ")
            for group in _split(_first(row, ("labels", "group membership", "categories")))
            if group not in ("* myContacts", "* My Contacts")
        ],
        "note": values["note"][:_MAX_NOTE],
    }
    more = {key: value for key, value in values.items() if value}
    relation = stated_relation(values["nickname"], values["note"], values["title"], values["organization"])
    yield Contact(name, next(iter(emails), None), next(iter(phones), None), relation, more)


def _first(row: Mapping[str, str], names: Sequence[str]) -> str:
    return next((tidy(row[name]) for name in names if row.get(name)), "")


def _matching(row: Mapping[str, str], pattern: re.Pattern[str]) -> list[str]:
    values = [part for key, value in row.items() if pattern.fullmatch(key) for part in _split(value)]
    return list(dict.fromkeys(values))


def _split(value: str) -> list[str]:
    return [tidy(part) for part in value.split(_SEVERAL) if part.strip()]
