"""Lists of stored items: what a call that lists them covers, by its day, its people and its kind."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from contextune.answers.extracted import AnswerSource, ExtractedAnswer
from contextune.answers.statements import StatementReader
from contextune.plan.policy.cost import is_verb
from contextune.search.tokenize import identifier_words
from contextune.types import Item, Plan, Tool, local_time
from contextune.types.field_values import is_day, read_time, to_text

_LISTING = frozenset(["list", "search", "find", "query", "history"])
"""Words in the names of tools that give several items."""
_FILLING = frozenset(["all", "past", "recent", "latest", "my", "the", "of", "by", "for", "in", "on", "and"])
_DONE = frozenset(["done", "completed", "cancelled", "canceled"])
_SHOWN = 3


def lists_items(tool: Tool, nouns: Iterable[str]) -> bool:
    """Whether a tool, by its name, lists all items of a kind that is called by one of the `nouns`.

    A tool that lists only some of them, such as `list_unread_emails`, does not.
    """
    words = identifier_words(tool.name)
    known = {*_LISTING, *_FILLING, *(form for noun in nouns for form in (noun, f"{noun}s"))}
    return not _LISTING.isdisjoint(words) and all(word in known or is_verb(word) for word in words)


@dataclass(frozen=True, eq=False)
class ItemList:
    """The items of a kind that a call lists."""

    plan: Plan
    items: Sequence[Item]
    reader: StatementReader

    def selected(self) -> list[Item] | None:
        """Those of the days and people that the arguments name; None if an argument says anything else."""
        chosen = list(self.items)
        for value in argument_values(self.plan).values():
            filtered = self._of_day(chosen, value)
            if filtered is None:
                filtered = self._of_people(chosen, value)
            if filtered is None:
                return None
            chosen = filtered
        return [item for item in chosen if to_text(item.fields.get("status")).casefold() not in _DONE]

    def answer(self, selected: Sequence[Item]) -> ExtractedAnswer | None:
        """The first ones of selected items, and how many there are; None if there are none."""
        if not selected:
            return None
        ordered = self._in_order(selected, of_day=bool(argument_values(self.plan)))
        shown = ordered[:_SHOWN]
        text = "\n".join(self.reader.line(item) for item in shown)
        first, *others = [AnswerSource.of(item, self.reader.user) for item in shown]
        covers = _covers(len(shown), len(ordered), shown[0].schema.noun)
        return ExtractedAnswer(text, first, tuple(others), covers=covers)

    def _of_day(self, items: Sequence[Item], value: object) -> list[Item] | None:
        """The items of the day that a value names; None if it names none."""
        time = read_time(value) if isinstance(value, str) else None
        if time is None or (isinstance(value, str) and value.isdigit()):
            return None
        day = time.date() if is_day(value) else local_time(time, self.reader.user.zone).date()
        return [item for item in items if self._day(item) == day]

    def _of_people(self, items: Sequence[Item], value: object) -> list[Item] | None:
        if not isinstance(value, str):
            return None
        wanted = self.reader.name(value).casefold()
        found = [
            item
            for item in items
            if any(wanted == self.reader.name(person).casefold() for person in item.people)
        ]
        return found or None

    def _in_order(self, items: Sequence[Item], *, of_day: bool) -> list[Item]:
        """By time: a day from its start, other events and tasks from today on, anything else newest first."""
        zone = self.reader.user.zone
        times = {item.id: local_time(item.time, zone) for item in items if item.time}
        timed = sorted((item for item in items if item.id in times), key=lambda item: times[item.id])
        untimed = [item for item in items if item.id not in times]
        is_ahead = bool(items) and not {"start", "due"}.isdisjoint(items[0].schema.times)
        if not is_ahead:
            return [*reversed(timed), *untimed]
        days = {times[item.id].date() for item in timed}
        if of_day and len(days) == 1:
            return [*timed, *untimed]
        today = self.reader.now.date()
        return [*(item for item in timed if times[item.id].date() >= today), *untimed] or timed

    def _day(self, item: Item) -> date | None:
        return local_time(item.time, self.reader.user.zone).date() if item.time else None


def by_title(items: Iterable[Item], values: Iterable[object]) -> list[Item]:
    """The items whose title is one of the values, unless it is a person, as that of a call."""
    titles = {" ".join(value.casefold().split()) for value in values if isinstance(value, str)}
    return [
        item
        for item in items
        if item.schema.title not in item.schema.people and " ".join(item.title.casefold().split()) in titles
    ]


def argument_values(plan: Plan) -> Mapping[str, object]:
    """The values of the arguments that are given."""
    return {
        name: argument.value for name, argument in plan.arguments.items() if argument.value not in (None, "")
    }


def _covers(shown: int, total: int, noun: str) -> str:
    plural = noun if total == 1 else f"{noun}s"
    return f"{total} {plural}" if shown == total else f"{shown} of {total} {plural}"
