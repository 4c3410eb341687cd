"""Contacts as CSV, as Google Contacts and Outlook export them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contextune.importers.contacts.relations import INVERSE_RELATIONS, OWN_CARD, OwnCards, stated_relation
from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.csv_rows import first_row, read_rows
from contextune.importers.parsing.html_text import tidy
from contextune.importers.reader import ImportContext, ImportRecord, read_values
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
    "prefix": ("name prefix", "title"),
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

        with file.open() as stream:
            rows = (row.values for row in read_rows(file, stream, columns) if row.values)
            own = OwnCards(((_name(row), _matching(row, _EMAIL)) for row in rows), context)

        def contact(row: Mapping[str, str], where: str) -> Iterator[ImportRecord]:
            return _contact(row, own, context, where)

        with file.open() as stream:
            table = read_rows(file, stream, columns)
            next(table, None)  # the names of the columns
            yield from read_values(table, contact, f"{file.where}, line", "unreadable row")


def _columns(row: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip().strip("\ufeff").lower() for name in row)


def _contact(
    row: Mapping[str, str], own: OwnCards, context: ImportContext, where: str
) -> Iterator[ImportRecord]:
    emails, phones = _matching(row, _EMAIL), _matching(row, _PHONE)
    name, related = _name(row), _related(row)
    if not name:
        yield SkippedEntry(where, "card without a name")
        return
    if own.contains(name, emails):
        yield SkippedEntry(where, OWN_CARD)
        for person, kind in related.items():
            yield Contact(person, relation=kind)
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
        "related": {kind: person for person, kind in related.items()},
    }
    more = {key: value for key, value in values.items() if value}
    nickname, note, title = (str(values[key]) for key in ("nickname", "note", "title"))
    relation = stated_relation(nickname, note, title, str(values["organization"]), name)
    own_kind = next((kind for person, kind in related.items() if _is_user(person, context)), None)
    if own_kind is not None:
        relation = INVERSE_RELATIONS.get(own_kind)
    yield Contact(name, next(iter(emails), None), next(iter(phones), None), relation, more)


def _name(row: Mapping[str, str]) -> str:
    parts = (_first(row, names) for names in (_GIVEN, _MIDDLE, _FAMILY))
    name = tidy(" ".join(filter(None, parts))) or _first(row, _FULL)
    return name or _first(row, _MORE["organization"]) or next(iter(_matching(row, _EMAIL)), "")


def _related(row: Mapping[str, str]) -> dict[str, str]:
    """The people related to the person, each with the kind of relation."""
    related: dict[str, str] = {}
    for key, value in row.items():
        if (match := _RELATION.fullmatch(key)) and (person := tidy(value)):
            kind = row.get(f"relation {match[1]} - label", row.get(f"relation {match[1]} - type", ""))
            related[person] = kind.lstrip("* ").lower() or "relative"
    return related


def _is_user(person: str, context: ImportContext) -> bool:
    return bool(context.name) and person.casefold() == context.name.casefold()


def _first(row: Mapping[str, str], names: Sequence[str]) -> str:
    return next((tidy(row[name]) for name in names if row.get(name)), "")


def _matching(row: Mapping[str, str], pattern: re.Pattern[str]) -> list[str]:
    values = [part for key, value in row.items() if pattern.fullmatch(key) for part in _split(value)]
    return list(dict.fromkeys(values))


def _split(value: str) -> list[str]:
    return [tidy(part) for part in value.split(_SEVERAL) if part.strip()]
