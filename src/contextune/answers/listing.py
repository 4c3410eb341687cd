"""Lists of stored items: what a call that lists them covers, by its day, its people and its kind."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import cast

from contextune._internal.plural import plural, pluralize
from contextune.answers.extracted import AnswerSource, ExtractedAnswer
from contextune.answers.statements import StatementReader
from contextune.plan.policy.cost import is_verb
from contextune.plan.times.phrases import find_times
from contextune.search import tokenize
from contextune.search.tokenize import identifier_words
from contextune.types import Item, Plan, Tool, UsageEvent, User, local_time
from contextune.types.app_schema import AppSchema
from contextune.types.field_values import is_day, read_time, to_text

_LISTING = frozenset(["list", "search", "find", "query", "history"])
"""Words in the names of tools that give several items."""
_FILLING = frozenset(["all", "past", "recent", "latest", "my", "the", "of", "by", "for", "in", "on", "and"])
_DONE = frozenset(["done", "completed", "cancelled", "canceled"])
_SHOWN = 3
_STATES = ("direction", "status", "list", "folder")
"""Fields that a request may restrict a list to, as in "missed calls"."""
_SAME_TIME = timedelta(minutes=1)


def lists_items(tool: Tool, nouns: Iterable[str]) -> bool:
    """Whether a tool, by its name, lists all items of a kind that is called by one of the `nouns`.

    A tool that lists only some of them, such as `list_unread_emails`, does not.
    """
    words = identifier_words(tool.name)
    nouns = frozenset(nouns)
    plurals = frozenset(map(plural, nouns)) - nouns
    known = _LISTING | _FILLING | nouns | plurals
    lists = not (_LISTING | plurals).isdisjoint(words)
    return lists and all(word in known or is_verb(word) for word in words)


@dataclass(frozen=True, eq=False)
class ItemList:
    """The items of a kind that a call lists."""

    plan: Plan
    items: Sequence[Item]
    reader: StatementReader
    text: str = ""
    """The request, which may name a day or a state that the call has no argument for."""

    def selected(self) -> list[Item] | None:
        """Those of the days, people and states that call and request name; None if an argument says more."""
        chosen = self._of_text(self.items)
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
        ordered = _once(self._in_order(selected, of_day=bool(argument_values(self.plan))))
        shown = ordered[:_SHOWN]
        text = "\n".join(self.reader.line(item) for item in shown)
        first, *others = [AnswerSource.of(item, self.reader.user) for item in shown]
        covers = _covers(len(shown), len(ordered), shown[0].schema)
        return ExtractedAnswer(text, first, tuple(others), covers=covers)

    def _of_text(self, items: Sequence[Item]) -> list[Item]:
        """The items of the past days and of the states that the request names."""
        named = frozenset(tokenize(self.text))
        for state in _STATES:
            same = [item for item in items if not named.isdisjoint(tokenize(to_text(item.fields.get(state))))]
            items = same or items
        days = {day for phrase in find_times(self.text, self.reader.now).days for day in phrase.dates}
        if days and items and "made" in items[0].schema.times:
            items = [item for item in items if self._day(item) in days]
        return list(items)

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
        times = [(local_time(item.time, zone), item) for item in items if item.time]
        times.sort(key=lambda pair: pair[0])
        timed = [item for _, item in times]
        untimed = [item for item in items if not item.time]
        is_ahead = bool(items) and not {"start", "due"}.isdisjoint(items[0].schema.times)
        if not is_ahead:
            return [*reversed(timed), *untimed]
        days = {time.date() for time, _ in times}
        if of_day and len(days) == 1:
            return [*timed, *untimed]
        today = self.reader.now.date()
        return [*(item for time, item in times if time.date() >= today), *untimed] or timed

    def _day(self, item: Item) -> date | None:
        return local_time(item.time, self.reader.user.zone).date() if item.time else None


def occurrences(items: Iterable[Item], uses: Iterable[UsageEvent], user: User) -> list[Item]:
    """An item for every call, play, search and due time that the items stand for, with its own time."""
    times: dict[str, list[UsageEvent]] = {}
    for use in uses:
        times.setdefault(use.item, []).append(use)
    return [each for item in items for each in _occurrences_of(item, times.get(item.id, ()), user)]


def _occurrences_of(item: Item, uses: Sequence[UsageEvent], user: User) -> list[Item]:
    history: object = item.fields.get("history")
    if isinstance(history, list):
        calls = cast("list[Mapping[str, object]]", history)
        return [item, *(replace(item, fields={**item.fields, **call, "history": []}) for call in calls)]
    due = item.schema.times.get("due")
    if due is not None and (later := item.fields.get("occurrences")):
        return [
            replace(item, fields={**item.fields, due: time, "occurrences": []})
            for time in (item.fields[due], *later)
        ]
    role, made = item.schema.times.get("made"), item.made
    if role is None or made is None or len(uses) < 2:
        return [item]
    moment = local_time(made, user.zone)
    used = sorted(local_time(use.time, user.zone) for use in uses)
    if abs(used[-1] - moment) > _SAME_TIME:
        return [item]  # its time is not that of its last use: a mail is not written when it is answered
    return [item, *(replace(item, fields={**item.fields, role: time.isoformat()}) for time in used[:-1])]


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


def _once(items: Iterable[Item]) -> list[Item]:
    """Each song and search once, at the first place; each call of a history is an entry of its own."""
    first: dict[str, Item] = {}
    return [item for item in items if "history" in item.fields or first.setdefault(item.id, item) is item]


def _covers(shown: int, total: int, schema: AppSchema) -> str:
    counted = pluralize(total, schema.noun.removesuffix(f" {schema.verb}"))
    return counted if shown == total else f"{shown} of {counted}"
