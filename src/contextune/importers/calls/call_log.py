"""Calls made and received: one item for everybody at the other end, and a use for every talk."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from contextune.importers.files import SkippedEntry
from contextune.importers.parsing.html_text import tidy
from contextune.importers.reader import Found, ImportContext, iso, item_id, shortened
from contextune.importers.repeated import NO_TIME, RepeatedItems, possible
from contextune.types import Item, User

INCOMING, OUTGOING, MISSED = "incoming", "outgoing", "missed"
VOICEMAIL, REJECTED, BLOCKED = "voicemail", "rejected", "blocked"
_NOBODY = frozenset(
    ("unknown", "private", "private number", "withheld", "restricted", "anonymous", "payphone", "null")
)
_TWO_DIGITS = re.compile(
    r"2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]"
)  # countries whose code has two digits; 1 and 7 are the only ones with one, all others have three
_MOST_NAME, _MOST_NUMBER = 300, 100
_NORTH_AMERICAN = re.compile(r"1\d{10}")


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """One line of a call log."""

    number: str
    name: str
    direction: str | None
    time: datetime | None
    seconds: int
    withheld: bool = False


class CallLog:
    """The calls of one file, on their way to items."""

    def __init__(self, about: ImportContext) -> None:
        self._about = about
        self._callers = RepeatedItems(about)

    def add(self, call: LoggedCall, where: str) -> Iterator[Found]:
        """One more call."""
        name = shortened(tidy(call.name), _MOST_NAME)
        name = "" if name.strip("()").casefold() in _NOBODY else name
        digits = same_number(call.number[:_MOST_NUMBER])
        if call.withheld or not digits:
            yield SkippedEntry(where, "a call whose number was withheld")
        elif call.time is None or not possible(call.time, self._about):
            yield SkippedEntry(where, NO_TIME)
        elif call.direction is None:
            yield SkippedEntry(where, "a call of a kind that is not known")
        elif call.direction == BLOCKED:
            yield SkippedEntry(where, "a call that the phone refused")
        else:
            number = tidy(call.number[:_MOST_NUMBER])
            fields = {
                "contact": self._people.get(digits) or name or number,
                "number": number,
                "direction": call.direction,
                "date": iso(call.time),
                "duration_s": call.seconds,
            }
            # a call that was missed is something to know of, not something the user did
            talked = call.direction in (INCOMING, OUTGOING)
            item = Item(item_id("call", digits), "PhoneCall", fields)
            yield from self._callers.met(item, call.time, used=talked)

    def latest(self) -> Iterator[Found]:
        """Those who called or were called again, as they were last."""
        return self._callers.latest()

    @cached_property
    def _people(self) -> Mapping[str, str]:
        return _names(self._about.user)


def is_nameless(item: Item) -> bool:
    """Whether it is of somebody whose number is all that is known."""
    return item.app == "PhoneCall" and item.fields.get("contact") == item.fields.get("number")


def named(items: Iterable[Item], user: User) -> list[Item]:
    """Those of nameless callers whom the user's address book knows, with their names."""
    people = _names(user)
    return [
        replace(item, fields={**item.fields, "contact": name})
        for item in items
        if is_nameless(item) and (name := people.get(same_number(str(item.fields["number"]))))
    ]


def _names(user: User) -> Mapping[str, str]:
    """Names by number, as the user's address book has them."""
    found: dict[str, str] = {}
    for contact in user.contacts:
        for number in (contact.phone, *contact.more.get("phones", ())):
            if digits := same_number(number or ""):
                found.setdefault(digits, contact.name)
    return found


def same_number(number: str) -> str:
    """What all ways to write a number have in common: with its country or without, spaced or not.

    Nothing where there is no number: phones write -1, -2 or a word for one that was withheld.
    """
    text = number.strip()
    if text.startswith("-") or text.casefold() in _NOBODY:
        return ""
    digits = re.sub(r"\D", "", re.split(r"[,;pPwWxX]", text, maxsplit=1)[0])
    abroad = text.startswith("+") or digits.startswith("00")
    digits = digits.removeprefix("00") if abroad and not text.startswith("+") else digits
    if abroad and len(digits) > 7:
        code = 1 if digits[0] in "17" else 2 if _TWO_DIGITS.match(digits) else 3
        digits = digits[code:]
    digits = digits.lstrip("0")
    return digits[1:] if _NORTH_AMERICAN.fullmatch(digits) else digits
