"""Address books (.vcf): vCard 2.1, 3 and 4, with who is what to the user."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from contextune.importers.contacts.vcard import VCard, VCardRelation, cards
from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.reader import Found, ImportContext
from contextune.types import Contact

_KIN = frozenset(
    (
        *("mum", "mom", "mother", "mummy", "mama", "dad", "father", "daddy", "papa", "sister", "brother"),
        *("wife", "husband", "partner", "son", "daughter", "grandma", "granny", "grandmother", "grandpa"),
        *("grandfather", "aunt", "uncle", "cousin", "niece", "nephew", "boss", "girlfriend", "boyfriend"),
    )
)
"""Nicknames that say what somebody is to the user."""
_BACK = {
    **dict.fromkeys(("sister", "brother", "sibling"), "sibling"),
    **dict.fromkeys(("mother", "father", "parent"), "child"),
    **dict.fromkeys(("child", "son", "daughter"), "parent"),
    **dict.fromkeys(("spouse", "wife", "husband"), "spouse"),
    **{kind: kind for kind in ("partner", "friend", "relative", "kin", "neighbor", "colleague", "co-worker")},
}
"""What somebody is to the user whose card says what the user is to them."""


class ContactsReader:
    """An address book, as phones and mail programs export it."""

    name = "contacts"
    apps = ("ContactsReader",)

    def reads(self, file: SourceFile) -> bool:
        """Whether the file says that it holds cards."""
        return file.says("BEGIN:VCARD")

    def read(self, file: SourceFile, about: ImportContext) -> Iterator[Found]:
        """Everybody in it; whoever has no card but is said to be related to the user, too."""
        people: list[Contact] = []
        own: list[VCard] = []
        with file.open() as stream:
            for card in cards(stream):
                where = f"{file.where}, line {card.line}"
                if card.cut:
                    yield SkippedEntry(where, "the end of a line that is too long")
                if not card.ended:
                    yield SkippedEntry(where, "a card that is cut off")
                elif card.is_group:
                    yield SkippedEntry(where, "a group of contacts")
                elif not card.name:
                    yield SkippedEntry(where, "a card without a name")
                elif _is_own(card, about):
                    own.append(card)
                    yield SkippedEntry(where, "the user's own card: only its relations are read")
                else:
                    people.append(_contact(card, _said(card, about)))
        yield from _contacts(people, [one for card in own for one in card.relations])


def _contacts(people: Sequence[Contact], relations: Sequence[VCardRelation]) -> Iterator[Contact]:
    places = _named(people) if relations else {}
    known: dict[int, str] = {}
    for relation in relations:
        key = f"uid {relation.uid}" if relation.uid else relation.name.casefold()
        if key in places:
            known.setdefault(places[key], relation.kind)
        elif relation.name:
            yield Contact(relation.name, relation=relation.kind)
    for number, contact in enumerate(people):
        yield replace(contact, relation=known[number]) if known.get(number) else contact


def _named(people: Sequence[Contact]) -> dict[str, int]:
    """Where those of names and ids stand."""
    found: dict[str, int] = {}
    for number, contact in enumerate(people):
        found.setdefault(contact.name.casefold(), number)
        if uid := contact.more.get("uid"):
            found.setdefault(f"uid {uid}", number)
    return found


def _contact(card: VCard, relation: str | None) -> Contact:
    more = card.more()
    if related := {one.kind: one.name for one in card.relations if one.name}:
        more["related"] = related
    email, phone = next(iter(card.emails), None), next(iter(card.phones), None)
    return Contact(card.name, email, phone, relation, more)


def _said(card: VCard, about: ImportContext) -> str | None:
    """What somebody is to the user, as their own card has it."""
    nickname = card.text("NICKNAME").casefold()
    if nickname in _KIN:
        return nickname
    for relation in card.relations:
        if about.name and relation.name.casefold() == about.name.casefold():
            return _BACK.get(relation.kind)
    return None


def _is_own(card: VCard, about: ImportContext) -> bool:
    mine = {email.casefold() for email in card.emails} & about.addresses
    return bool(mine) or bool(about.name and card.name.casefold() == about.name.casefold())
