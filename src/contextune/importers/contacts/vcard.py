"""Contacts (.vcf, vCard 2.1, 3 and 4): names, addresses, numbers, and each person's relation to the user."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from contextune.importers.contacts.relations import INVERSE_RELATIONS, OWN_CARD, OwnCards, stated_relation
from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.content_lines import (
    MAX_LINE,
    ContentLine,
    parse_line,
    unescape,
    unfold_lines,
)
from contextune.importers.parsing.html_text import tidy
from contextune.importers.reader import ImportContext, ImportRecord
from contextune.types import Contact

_LABEL = re.compile(r"_\$!<(.*)>!\$_")
_ANDROID_RELATIONS = {
    "1": "assistant",
    "2": "brother",
    "3": "child",
    "4": "partner",
    "5": "father",
    "6": "friend",
    "7": "manager",
    "8": "mother",
    "9": "parent",
    "10": "partner",
    "12": "relative",
    "13": "sister",
    "14": "spouse",
}
"""Android's relation types by number."""
_MAX_NOTE = 500
_MAX_NAME = 500
_BINARY = ("PHOTO", "LOGO", "SOUND", "KEY")
_START = re.compile(r"\s*BEGIN:VCARD\s", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class VCardRelation:
    """A person related to the person of a card, by name or by the id of their card."""

    kind: str
    name: str = ""
    uid: str = ""


@dataclass(frozen=True, slots=True)
class VCard:
    """The properties of a card."""

    line: int
    lines: Mapping[str, Sequence[ContentLine]]
    """Its properties by name, without empty ones."""
    complete: bool
    truncated: bool = False
    """Whether a line was longer than `MAX_LINE`."""

    def all(self, name: str) -> Sequence[ContentLine]:
        """The properties with this name, preferred ones first."""
        values = self.lines.get(name, ())
        if len(values) < 2:
            return values
        return sorted(values, key=lambda line: "pref" not in line.types() and "PREF" not in line.parameters)

    def text(self, name: str) -> str:
        """The first value with this name, or ""."""
        return next((tidy(line.text()) for line in self.all(name)), "")

    @property
    def uid(self) -> str:
        """The id of the card."""
        return self.text("UID").removeprefix("urn:uuid:")

    @property
    def name(self) -> str:
        """The name of the person, or of the company if there is none."""
        if full_name := self.text("FN"):
            return full_name[:_MAX_NAME]
        for line in self.all("N"):
            family, given, middle, *_ = [*line.parts(), "", "", ""]
            if name := tidy(" ".join(filter(None, (given, middle, family)))):
                return name[:_MAX_NAME]
        company = next((line.parts()[0] for line in self.all("ORG")), "")
        return (company or self.text("NICKNAME") or next(iter(self.emails), ""))[:_MAX_NAME]

    @property
    def emails(self) -> list[str]:
        """Mail addresses."""
        return _unique(tidy(line.text()).removeprefix("mailto:") for line in self.all("EMAIL"))

    @property
    def phones(self) -> list[str]:
        """Phone numbers, as written."""
        return _unique(tidy(line.text()).removeprefix("tel:") for line in self.all("TEL"))

    @property
    def is_group(self) -> bool:
        """Whether the card is a group of contacts."""
        return "group" in (self.text("KIND").lower(), self.text("X-ADDRESSBOOKSERVER-KIND").lower())

    @property
    def relations(self) -> list[VCardRelation]:
        """The people related to the person."""
        return [*self._vcard4_relations(), *self._apple_relations(), *self._android_relations()]

    def extra_fields(self) -> dict[str, Any]:
        """All other details that are kept."""
        values: dict[str, Any] = {
            "uid": self.uid,
            "emails": self.emails[1:],
            "phones": self.phones[1:],
            "prefix": next((prefix for line in self.all("N") if (prefix := _prefix(line))), ""),
            "nickname": self.text("NICKNAME"),
            "organization": next((", ".join(filter(None, line.parts())) for line in self.all("ORG")), ""),
            "title": self.text("TITLE"),
            "birthday": self.text("BDAY"),
            "addresses": _unique(", ".join(filter(None, line.parts())) for line in self.all("ADR")),
            "groups": [
                tidy(unescape(category))
                for line in self.all("CATEGORIES")
                for category in line.raw().split(",")
            ],
            "note": self.text("NOTE")[:_MAX_NOTE],
        }
        return {name: value for name, value in values.items() if value}

    def _vcard4_relations(self) -> Iterator[VCardRelation]:
        for line in self.all("RELATED"):
            kind = next((kind for kind in line.types() if kind not in ("pref", "home", "work")), "relative")
            value = tidy(line.text())
            if value.lower().startswith("urn:uuid:"):
                yield VCardRelation(kind, uid=value[9:])
            elif not value.lower().startswith(("http:", "https:", "data:", "mailto:", "tel:")):
                yield VCardRelation(kind, name=value)

    def _apple_relations(self) -> Iterator[VCardRelation]:
        labels = {line.group: line.text() for line in self.all("X-ABLABEL") if line.group}
        for line in self.all("X-ABRELATEDNAMES"):
            label = labels.get(line.group, "")
            standard = _LABEL.match(label)
            kind = tidy(standard[1] if standard else label).lower() or next(iter(line.types()), "relative")
            yield VCardRelation(kind, name=tidy(line.text()))

    def _android_relations(self) -> Iterator[VCardRelation]:
        for line in self.all("X-ANDROID-CUSTOM"):
            kind_url, name, number, label, *_ = [*line.parts(), "", "", "", ""]
            if kind_url.endswith("/relation") and name:
                yield VCardRelation(
                    _ANDROID_RELATIONS.get(number) or label.lower() or "relative", name=tidy(name)
                )


def read_cards(stream: BinaryIO) -> Iterator[VCard]:
    """The cards of a file, without pictures."""
    lines: dict[str, list[ContentLine]] = {}
    start, truncated = 0, False
    for number, raw in unfold_lines(stream):
        line = parse_line(raw)
        if line is None:
            continue
        key = (line.name, line.value.strip().upper())
        if key == ("BEGIN", "VCARD"):
            if start:
                yield VCard(start, lines, complete=False)
            lines, start, truncated = {}, number, False
        elif key == ("END", "VCARD"):
            if start:
                yield VCard(start, lines, complete=True, truncated=truncated)
            start = 0
        elif start and line.value and line.name not in _BINARY:
            lines.setdefault(line.name, []).append(line)
            truncated = truncated or len(raw) >= MAX_LINE
    if start:
        yield VCard(start, lines, complete=False)


def _prefix(name: ContentLine) -> str:
    """The title before a name: the fourth part of N."""
    return tidy(([*name.parts(), "", "", "", ""])[3])


def _unique(values: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, values)))


class ContactsReader:
    """vCard files, as phones and mail programs export them."""

    name = "contacts"
    apps = ("Contacts",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether the file contains vCards."""
        if file.suffix in (".vcf", ".vcard"):
            return file.contains("BEGIN:VCARD")
        return bool(_START.match(file.start))  # other files may only quote a card

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The people in the file, and relations on the user's own card who have no card."""
        people: list[Contact] = []
        own_cards: list[VCard] = []
        with file.open() as stream:
            own = OwnCards(
                ((card.name, card.emails) for card in read_cards(stream) if card.complete), context
            )
        with file.open() as stream:
            for card in read_cards(stream):
                where = f"{file.where}, line {card.line}"
                if card.truncated:
                    yield SkippedEntry(where, "rest of a line that is too long")
                if not card.complete:
                    yield SkippedEntry(where, "truncated card")
                elif card.is_group:
                    yield SkippedEntry(where, "contact group")
                elif not card.name:
                    yield SkippedEntry(where, "card without a name")
                elif own.contains(card.name, card.emails):
                    own_cards.append(card)
                    yield SkippedEntry(where, OWN_CARD)
                else:
                    people.append(_contact(card, _relation_to_user(card, context)))
        yield from _contacts(people, [relation for card in own_cards for relation in card.relations])


def _contacts(people: Sequence[Contact], relations: Sequence[VCardRelation]) -> Iterator[Contact]:
    positions = _positions(people) if relations else {}
    relation_by_position: dict[int, str] = {}
    for relation in relations:
        key = f"uid {relation.uid}" if relation.uid else relation.name.casefold()
        if key in positions:
            relation_by_position.setdefault(positions[key], relation.kind)
        elif relation.name:
            yield Contact(relation.name, relation=relation.kind)
    for number, contact in enumerate(people):
        yield (
            replace(contact, relation=relation_by_position[number])
            if relation_by_position.get(number)
            else contact
        )


def _positions(people: Sequence[Contact]) -> dict[str, int]:
    """Positions in the list, by name and by card id."""
    positions: dict[str, int] = {}
    for number, contact in enumerate(people):
        positions.setdefault(contact.name.casefold(), number)
        if uid := contact.more.get("uid"):
            positions.setdefault(f"uid {uid}", number)
    return positions


def _contact(card: VCard, relation: str | None) -> Contact:
    more = card.extra_fields()
    if related := {relation.kind: relation.name for relation in card.relations if relation.name}:
        more["related"] = related
    email, phone = next(iter(card.emails), None), next(iter(card.phones), None)
    return Contact(card.name, email, phone, relation, more)


def _relation_to_user(card: VCard, context: ImportContext) -> str | None:
    """The relation of a person to the user, as their card states it."""
    for relation in card.relations:
        if context.name and relation.name.casefold() == context.name.casefold():
            return INVERSE_RELATIONS.get(relation.kind)
    more = card.extra_fields()
    title = card.text("TITLE") or card.text("ROLE")
    organization = more.get("organization", "")
    return stated_relation(card.text("NICKNAME"), card.text("NOTE"), title, organization, card.name)
