"""Merge imported contacts into the user's contacts, one entry per person."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from contextune.importers.contacts.relations import job_relation
from contextune.types import Contact, User


class AddressBook:
    """Contacts, matched by the id of their card, else by name and a common address or number."""

    def __init__(self, contacts: Iterable[Contact]) -> None:
        self.new = 0
        self.changed = False
        self._contacts = list(contacts)
        self._keys: dict[str, list[int]] = {}
        self._stated: set[int] = set()
        """Contacts whose relation the user's own card states, which no other card overrides."""
        for number, contact in enumerate(self._contacts):
            self._index(number, contact)

    def add(self, contact: Contact) -> None:
        """Add a contact, or merge it into the contact of the same person."""
        position = self._find(contact)
        is_stated = bool(contact.relation) and not (contact.email or contact.phone or contact.more)
        if is_stated:
            self._stated.add(len(self._contacts) if position is None else position)
        if position is None:
            self._contacts.append(contact)
            self._index(len(self._contacts) - 1, contact)
            self.new += 1
            self.changed = True
            return
        old = self._contacts[position]
        merged = Contact(
            contact.name,
            contact.email or old.email,
            contact.phone or old.phone,
            old.relation if position in self._stated and not is_stated else _newer_relation(contact, old),
            {**old.more, **contact.more},
        )
        if merged != old:
            self._contacts[position] = merged
            self._index(position, merged)
            self.changed = True

    def apply_to(self, user: User) -> User:
        """The user with these contacts."""
        return replace(user, contacts=tuple(self._contacts))

    def _find(self, contact: Contact) -> int | None:
        if uid := contact.more.get("uid"):
            for number in self._keys.get(f"uid {uid}", ()):
                return number
        addresses = set(_addresses(contact))
        for number in self._keys.get(f"name {contact.name.casefold()}", ()):
            other = self._contacts[number]
            if uid and other.more.get("uid"):
                continue  # two cards with the same name are two people
            other_addresses = set(_addresses(other))
            if addresses & other_addresses or not addresses or not other_addresses:
                return number
        return None

    def _index(self, number: int, contact: Contact) -> None:
        keys = [f"name {contact.name.casefold()}"]
        if uid := contact.more.get("uid"):
            keys.append(f"uid {uid}")
        for key in keys:
            numbers = self._keys.setdefault(key, [])
            if number not in numbers:
                numbers.append(number)


def _newer_relation(contact: Contact, old: Contact) -> str | None:
    """The relation of the newer entry, unless it is only somebody's job: a brother may be a dentist."""
    more = contact.more
    job = job_relation(str(more.get("title") or ""), str(more.get("organization") or ""), contact.name)
    return (contact.relation if contact.relation != job else None) or old.relation or contact.relation


def _addresses(contact: Contact) -> Iterator[str]:
    """Mail addresses, and the last seven digits of numbers, which do not depend on the country code."""
    for email in (contact.email, *contact.more.get("emails", ())):
        if email:
            yield email.casefold()
    for phone in (contact.phone, *contact.more.get("phones", ())):
        digits = "".join(filter(str.isdigit, phone or ""))
        if digits:
            yield digits[-7:]
