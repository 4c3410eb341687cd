"""Call logs to items: one item per phone number, with a usage event per conversation."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from contextune.importers.files import SkippedEntry
from contextune.importers.parsing.html_text import tidy
from contextune.importers.reader import ImportContext, ImportRecord, iso_time, item_id, shorten
from contextune.importers.repeated import NO_TIME, RepeatedItems, is_plausible_time
from contextune.types import Item, User

INCOMING, OUTGOING, MISSED = "incoming", "outgoing", "missed"
VOICEMAIL, REJECTED, BLOCKED = "voicemail", "rejected", "blocked"
_NO_CALLER = frozenset(
    ("unknown", "private", "private number", "withheld", "restricted", "anonymous", "payphone", "null")
)
_TWO_DIGIT_CODES = re.compile(r"2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]")
"""Country codes with two digits; 1 and 7 are the only ones with one digit, all others have three."""
_MAX_NAME, _MAX_NUMBER = 300, 100
_NORTH_AMERICAN = re.compile(r"1\d{10}")


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """An entry of a call log."""

    number: str
    name: str
    direction: str | None
    time: datetime | None
    seconds: int
    withheld: bool = False


class CallLog:
    """Converts the calls of one file to items and usage events."""

    def __init__(self, context: ImportContext) -> None:
        self._context = context
        self._callers = RepeatedItems(context)

    def add(self, call: LoggedCall, where: str) -> Iterator[ImportRecord]:
        """Add a call."""
        name = shorten(tidy(call.name), _MAX_NAME)
        name = "" if name.strip("()").casefold() in _NO_CALLER else name
        digits = normalize_number(call.number[:_MAX_NUMBER])
        if call.withheld or not digits:
            yield SkippedEntry(where, "call from a withheld number")
        elif call.time is None or not is_plausible_time(call.time, self._context):
            yield SkippedEntry(where, NO_TIME)
        elif call.direction is None:
            yield SkippedEntry(where, "call of unknown kind")
        elif call.direction == BLOCKED:
            yield SkippedEntry(where, "blocked call")
        else:
            number = tidy(call.number[:_MAX_NUMBER])
            fields = {
                "contact": self._names.get(digits) or name or number,
                "number": number,
                "direction": call.direction,
                "date": iso_time(call.time),
                "duration_s": call.seconds,
            }
            # a missed call is not an action of the user
            answered = call.direction in (INCOMING, OUTGOING)
            item = Item(item_id("call", digits), "PhoneCall", fields)
            yield from self._callers.add(item, call.time, used=answered)

    def latest(self) -> Iterator[ImportRecord]:
        """The items of numbers that occurred again, with their latest call."""
        return self._callers.latest()

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return _names_by_number(self._context.user)


def lacks_contact_name(item: Item) -> bool:
    """Whether it is a call item whose contact is only a number."""
    return item.app == "PhoneCall" and item.fields.get("contact") == item.fields.get("number")


def with_contact_names(items: Iterable[Item], user: User) -> list[Item]:
    """The call items without a contact name whose number is among the user's contacts, with that name."""
    names = _names_by_number(user)
    return [
        replace(item, fields={**item.fields, "contact": name})
        for item in items
        if lacks_contact_name(item) and (name := names.get(normalize_number(str(item.fields["number"]))))
    ]


def _names_by_number(user: User) -> Mapping[str, str]:
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
    if text.startswith("-") or text.casefold() in _NO_CALLER:
        return ""
    digits = re.sub(r"\D", "", re.split(r"[,;pPwWxX]", text, maxsplit=1)[0])
    international = text.startswith("+") or digits.startswith("00")
    digits = digits.removeprefix("00") if international and not text.startswith("+") else digits
    if international and len(digits) > 7:
        code = 1 if digits[0] in "17" else 2 if _TWO_DIGIT_CODES.match(digits) else 3
        digits = digits[code:]
    digits = digits.lstrip("0")
    return digits[1:] if _NORTH_AMERICAN.fullmatch(digits) else digits
