"""Contacts (.vcf), with each person's relation to the user."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from contextune.importers.contacts.relations import INVERSE_RELATIONS, OWN_CARD, OwnCards, stated_relation
from contextune.importers.contacts.vcard import VCard, VCardRelation, read_cards
from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.reader import ImportContext, ImportRecord
from contextune.types import Contact

_START = re.compile(r"\s*BEGIN:VCARD\s", re.IGNORECASE)


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
