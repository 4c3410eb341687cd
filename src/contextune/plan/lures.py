"""Recognise items of strangers that are made to be taken for what a request means.

Anybody can send a mail or an invitation whose title repeats what the user may say, with an address to write
to behind it, or with text that people do not see. Planners take no values from such items. What the user or a
contact wrote is never one.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import cast

from contextune.plan.bounded_items import MAX_ENTRIES, MAX_FIELD
from contextune.plan.values import ADDRESS, ContactLookup
from contextune.types import Item

_SENDERS = ("author", "sender", "organizer", "from")
_LINK = re.compile(r"https?://\S+|\bwww\.\S+", re.IGNORECASE)
_NUMBER_TO_CALL = re.compile(
    r"\b(?:ask|call|dial|phone|ring|sms|text|whatsapp)\b\D{0,12}\+?(?:\d[\s().-]{0,2}){7,}", re.IGNORECASE
)
_MARKUP = re.compile(
    r"(?P<mark>[<>])|\b(?P<style>style)\s*+="
    r"|(?P<hidden>display\s*+:\s*+none|visibility\s*+:\s*+hidden|font-size\s*+:\s*+0|opacity\s*+:\s*+0\b)",
    re.IGNORECASE,
)
"""The parts of a tag with a style that hides its text; found in one pass, since senders choose the text."""
_MAX_TITLE = 2_000
_OVERRIDES = frozenset("\u202d\u202e\u2066\u2067")
"""Characters that show the text behind them in another direction than it is stored."""


def has_link(text: str) -> bool:
    """Whether a text has the address of a web page in it."""
    return _LINK.search(text) is not None


def is_by_stranger(item: Item, contacts: ContactLookup) -> bool:
    """Whether an item has a sender, or somebody who invites, who is no contact."""
    sender = next((item.fields[name] for name in _SENDERS if item.fields.get(name)), None)
    return sender is not None and contacts.index(sender) is None


def is_lure(item: Item, contacts: ContactLookup) -> bool:
    """Whether an item by a stranger names whom to reach in its title, or hides text from its reader.

    Fields are searched as far as planners read them.
    """
    if not is_by_stranger(item, contacts):
        return False
    title = unicodedata.normalize("NFKC", item.title[:_MAX_TITLE])
    if _has_address(title, item) or not _OVERRIDES.isdisjoint(title):
        return True
    return any(_hides_text(text[:MAX_FIELD]) for value in item.fields.values() for text in _texts(value))


def _texts(value: object) -> Iterator[str]:
    """The texts of a field, those in lists and fields of its own included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts(list(cast("dict[str, object]", value).values()))
    elif isinstance(value, list):
        for part in cast("list[object]", value)[:MAX_ENTRIES]:
            yield from _texts(part)


@lru_cache(maxsize=256)
def _hides_text(text: str) -> bool:
    """Whether a tag in a text has a style that hides what it encloses."""
    is_tag = has_style = False
    for match in _MARKUP.finditer(text) if "<" in text else ():
        if match["mark"]:
            is_tag = match["mark"] == "<"
            has_style = has_style and is_tag
        elif match["style"]:
            has_style = has_style or is_tag
        elif has_style:
            return True
    return False


def _has_address(title: str, item: Item) -> bool:
    own = {person.casefold() for person in item.people}
    addresses = (match.group().casefold() for match in ADDRESS.finditer(title))
    return (
        has_link(title) or _NUMBER_TO_CALL.search(title) is not None or any(a not in own for a in addresses)
    )
