"""The user's contacts, to which those of files are added: the same person twice is one entry."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from contextune.types import Contact, User


class AddressBook:
    """Contacts that know who they are: by the address book's own id, else by name and a common address."""

    def __init__(self, contacts: Iterable[Contact]) -> None:
        self.new = 0
        self.changed = False
        self._contacts = list(contacts)
        self._keys: dict[str, list[int]] = {}
        for number, contact in enumerate(self._contacts):
            self._note(number, contact)

    def add(self, contact: Contact) -> None:
        """Add somebody, or what is new about them."""
        known = self._find(contact)
        if known is None:
            self._contacts.append(contact)
            self._note(len(self._contacts) - 1, contact)
            self.new += 1
            self.changed = True
            return
        old = self._contacts[known]
        merged = Contact(
            contact.name,
            contact.email or old.email,
            contact.phone or old.phone,
            contact.relation or old.relation,
            {**old.more, **contact.more},
        )
        if merged != old:
            self._contacts[known] = merged
            self._note(known, merged)
            self.changed = True

    def of(self, user: User) -> User:
        """The user with these contacts."""
        return replace(user, contacts=tuple(self._contacts))

    def _find(self, contact: Contact) -> int | None:
        if uid := contact.more.get("uid"):
            for number in self._keys.get(f"uid {uid}", ()):
                return number
        mine = set(_addresses(contact))
        for number in self._keys.get(f"name {contact.name.casefold()}", ()):
            other = self._contacts[number]
            if uid and other.more.get("uid"):
                continue  # two cards of one name in one book are two people
            theirs = set(_addresses(other))
            if mine & theirs or not mine or not theirs:
                return number
        return None

    def _note(self, number: int, contact: Contact) -> None:
        keys = [f"name {contact.name.casefold()}"]
        if uid := contact.more.get("uid"):
            keys.append(f"uid {uid}")
        for key in keys:
            numbers = self._keys.setdefault(key, [])
            if number not in numbers:
                numbers.append(number)


def _addresses(contact: Contact) -> Iterator[str]:
    """Mail addresses, and numbers by their last digits: with and without the country they are the same."""
    for email in (contact.email, *contact.more.get("emails", ())):
        if email:
            yield email.casefold()
    for phone in (contact.phone, *contact.more.get("phones", ())):
        digits = "".join(filter(str.isdigit, phone or ""))
        if digits:
            yield digits[-7:]
