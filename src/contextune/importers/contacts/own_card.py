"""Which cards of an address book are the user's own, and how the people on them are related to the user."""

from collections.abc import Collection, Iterable

from contextune.importers.reader import ImportContext

OWN_CARD = "the user's own card: only its relations are read"
INVERSE_RELATIONS = {
    **dict.fromkeys(("sister", "brother", "sibling"), "sibling"),
    **dict.fromkeys(("mother", "father", "parent"), "child"),
    **dict.fromkeys(("child", "son", "daughter"), "parent"),
    **dict.fromkeys(("spouse", "wife", "husband"), "spouse"),
    **{kind: kind for kind in ("partner", "friend", "relative", "kin", "neighbor", "colleague", "co-worker")},
}
"""The relation of a person to the user, by the relation of the user to that person."""


class OwnCards:
    """Recognises the user's own cards: those with the user's name, else the only one with their address.

    A family may share a mailbox: other cards with that address are other people.
    """

    def __init__(self, cards: Iterable[tuple[str, Collection[str]]], context: ImportContext) -> None:
        """`cards` are the names and addresses of all cards of a file."""
        self._context = context
        names = [name for name, emails in cards if self._has_own_name(name) or self._has_own_address(emails)]
        named = [name for name in names if self._has_own_name(name)]
        self._names = frozenset(named or (names if len(set(names)) == 1 or not context.name else ()))

    def contains(self, name: str, emails: Collection[str]) -> bool:
        """Whether a card is the user's own."""
        return name in self._names and (self._has_own_name(name) or self._has_own_address(emails))

    def _has_own_name(self, name: str) -> bool:
        return bool(self._context.name) and name.casefold() == self._context.name.casefold()

    def _has_own_address(self, emails: Collection[str]) -> bool:
        return any(email.casefold() in self._context.addresses for email in emails)
