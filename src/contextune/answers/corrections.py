"""Later mails and messages about the same as an item, which may say something else."""

import re
from collections.abc import Iterable, Iterator, Sequence

from contextune.answers.statements import Statement
from contextune.context.stop_words import STOP_WORDS
from contextune.plan.times.phrases import find_times
from contextune.search import tokenize
from contextune.types import Item, User, local_time

_PREFIX = re.compile(r"^\s*(?:(?:re|fwd?|aw|wg|sv|tr|rv)\s*:\s*)+", re.IGNORECASE)
_NUMBER = re.compile(r"(\d+)(?:[:.,](\d+))?(?:\s?([ap])\.?m\b)?", re.IGNORECASE)
_FEW = 2
"""Words of a title that name the same thing in another item."""


def later_items(item: Item, others: Iterable[Item], user: User) -> list[Item]:
    """The later ones among `others` of the same thread, or that name the item by its title.

    An event has no time at which it was made: every mail that names it is taken as later.
    """
    made = local_time(item.made, user.zone) if item.made else None
    return [
        other
        for other in others
        if other.id != item.id
        and other.made is not None
        and "start" not in other.times
        and (made is None or local_time(other.made, user.zone) > made)
        and _is_about(other, item, user)
    ]


def contradictions(statements: Sequence[Statement], answer: Statement, user: User) -> Iterator[Statement]:
    """The sentences of an item that have a number, such as a time or a price, that the answer has not.

    Not those before a sentence that says the same as the answer: "it was on the 20th; now it is on the 27th".
    """
    known = _numbers(answer.passage)
    for statement in reversed(statements):
        numbers = _numbers(statement.text) if statement.is_sentence else frozenset[str]()
        if _is_same_time(statement, numbers, answer.item, user):
            return
        if not numbers <= known:
            yield statement


def _is_same_time(statement: Statement, numbers: frozenset[str], item: Item, user: User) -> bool:
    """Whether a sentence states the start of an event, and no other day and no other time of day."""
    start, written = item.times.get("start"), statement.item.made
    if start is None or written is None:
        return False
    start = local_time(start, user.zone)
    said = _numbers(f"{start:%d, %H:%M}")
    clocks = {number for number in numbers if ":" in number}
    days = find_times(statement.text, local_time(written, user.zone)).days
    is_other = any(
        start.date() not in day.dates
        # "Thursday" may stand beside a date that is not read
        and (any(char.isdigit() for char in day.words) or day.dates[0].weekday() != start.weekday())
        for day in days
    )
    return said <= numbers and clocks <= said and not is_other


def _is_about(other: Item, item: Item, user: User) -> bool:
    if _subject(other) == _subject(item):
        return True
    words = _words(item.title)
    named = words & _words(f"{other.title} {other.text}")
    shares_people = not _people(other, user).isdisjoint(_people(item, user))
    return (len(named) >= _FEW and named == words) or (shares_people and len(named) >= _FEW)


def _subject(item: Item) -> str:
    return " ".join(_PREFIX.sub("", item.title).casefold().split())


def _words(text: str) -> frozenset[str]:
    return frozenset(tokenize(text)) - STOP_WORDS


def _people(item: Item, user: User) -> frozenset[str]:
    return frozenset(person.casefold() for person in item.people) - {a.casefold() for a in user.addresses}


def _numbers(text: str) -> frozenset[str]:
    """The numbers of a text; times of day on a 24-hour clock, so that "4 pm" is "16:00"."""
    numbers: set[str] = set()
    for first, second, half in _NUMBER.findall(text):
        whole = int(first)
        if half:
            whole = whole % 12 + (12 if half in "pP" else 0)
        numbers.add(f"{whole}:{second or '00'}" if half or second else f"{whole}")
    return frozenset(numbers)
