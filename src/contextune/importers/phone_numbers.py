"""Phone numbers: normalise them, and name the callers and senders that are among the contacts."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from contextune.types import Item, User

NO_CALLER = frozenset(
    ("unknown", "private", "private number", "withheld", "restricted", "anonymous", "payphone", "null")
)
"""What phones write instead of a withheld number."""
_TWO_DIGIT_CODES = re.compile(r"2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]")
"""Country codes with two digits; 1 and 7 are the only ones with one digit, all others have three."""
_NORTH_AMERICAN = re.compile(r"1\d{10}")
_NUMBER = re.compile(r"\+?\d[\d ()./-]{3,20}")
_PEOPLE = {"PhoneCall": ("contact",), "Messages": ("sender", "recipients", "chat")}
"""Fields with people, by application."""


def lacks_contact_name(item: Item) -> bool:
    """Whether it is a call or a message of which somebody is only a number."""
    return any(map(_is_number, _people(item)))


def with_contact_names(items: Iterable[Item], user: User) -> list[Item]:
    """The calls and messages with numbers that are among the user's contacts, with their names instead."""
    names = names_by_number(user)

    def name(value: Any) -> Any:
        if isinstance(value, list):
            return [name(entry) for entry in cast("list[object]", value)]
        return names.get(normalize_number(value), value) if _is_number(value) else value

    renamed: list[Item] = []
    for item in items:
        people = {key: name(item.fields[key]) for key in _PEOPLE.get(item.app, ()) if key in item.fields}
        if any(item.fields[key] != value for key, value in people.items()):
            renamed.append(replace(item, fields={**item.fields, **people}))
    return renamed


def _people(item: Item) -> Iterable[object]:
    for field in _PEOPLE.get(item.app, ()):
        value = item.fields.get(field)
        yield from cast("list[object]", value) if isinstance(value, list) else [value]


def _is_number(value: object) -> bool:
    return isinstance(value, str) and bool(_NUMBER.fullmatch(value))


def names_by_number(user: User) -> Mapping[str, str]:
    """Names of the user's contacts by normalised number."""
    names: dict[str, str] = {}
    for contact in user.contacts:
        for number in (contact.phone, *contact.more.get("phones", ())):
            if digits := normalize_number(number or ""):
                names.setdefault(digits, contact.name)
    return names


def normalize_number(number: str) -> str:
    """The digits of a number without country code and leading zeros, to compare numbers.

    Empty for a withheld number, for which phones write -1, -2 or a word.
    """
    text = number.strip()
    if text.startswith("-") or text.casefold() in NO_CALLER:
        return ""
    digits = re.sub(r"\D", "", re.split(r"[,;pPwWxX]", text, maxsplit=1)[0])
    international = text.startswith("+") or digits.startswith("00")
    digits = digits.removeprefix("00") if international and not text.startswith("+") else digits
    if international and len(digits) > 7:
        code = 1 if digits[0] in "17" else 2 if _TWO_DIGIT_CODES.match(digits) else 3
        digits = digits[code:]
    digits = digits.lstrip("0")
    return digits[1:] if _NORTH_AMERICAN.fullmatch(digits) else digits
