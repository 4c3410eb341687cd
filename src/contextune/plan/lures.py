"""Recognise items of strangers that are made to be taken for what a request means.

Anybody can send a mail or an invitation whose title repeats what the user may say, with an address to write
to behind it, or with text that people do not see. Planners take no values from such items. What the user or a
contact wrote is never one.
"""

import re
import unicodedata

from contextune.plan.pointer.values.spans import ADDRESS
from contextune.plan.values import ContactLookup
from contextune.types import Item

_SENDERS = ("author", "sender", "organizer", "from")
_LINK = re.compile(r"https?://\S+|\bwww\.\S+", re.IGNORECASE)
_NUMBER_TO_CALL = re.compile(
    r"\b(?:ask|call|dial|phone|ring|sms|text|whatsapp)\b\D{0,12}\+?(?:\d[\s().-]{0,2}){7,}", re.IGNORECASE
)
_HIDDEN = re.compile(
    r"<[^>]*\bstyle\s*=[^>]*(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0\b)",
    re.IGNORECASE,
)
_OVERRIDES = frozenset("\u202d\u202e\u2066\u2067")
"""Characters that show the text behind them in another direction than it is stored."""


def has_link(text: str) -> bool:
    """Whether a text has the address of a web page in it."""
    return _LINK.search(text) is not None


def is_lure(item: Item, contacts: ContactLookup) -> bool:
    """Whether an item by a stranger names whom to reach in its title, or hides text from its reader."""
    sender = next((item.fields[name] for name in _SENDERS if item.fields.get(name)), None)
    if sender is None or contacts.index(sender) is not None:
        return False
    title = unicodedata.normalize("NFKC", item.title)
    if _has_address(title, item) or not _OVERRIDES.isdisjoint(title):
        return True
    return any(isinstance(value, str) and _HIDDEN.search(value) for value in item.fields.values())


def _has_address(title: str, item: Item) -> bool:
    own = {person.casefold() for person in item.people}
    addresses = (match.group().casefold() for match in ADDRESS.finditer(title))
    return (
        has_link(title) or _NUMBER_TO_CALL.search(title) is not None or any(a not in own for a in addresses)
    )
