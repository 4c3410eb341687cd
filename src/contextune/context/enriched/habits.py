"""Habits: how often, when and where an item is used, in phrases such as "played often, weekday morning, gym".

There are few different phrases, so their vectors are shared by all items, and the vectors of items as of an
earlier moment cost no embedding. The phrases are embedded and must not change: the bundled models depend on
them.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from contextune.context.signals.columns import part_of_day, to_hours
from contextune.types import ANYWHERE, Item, UsageEvent, User, local_time

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MAX_PLACES = 3
_MOST = 0.6
"""Share of the uses from which a part of the day is called usual."""

Phrases = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HabitHistory:
    """The phrases of an item after each use that changed them."""

    times: Sequence[float]
    """When they changed: hours on the user's wall clock, ascending."""
    phrases: Sequence[Phrases]

    @classmethod
    def build(cls, item: Item, user: User, uses: Sequence[UsageEvent]) -> "HabitHistory":
        """`uses` are the item's own."""
        local = sorted(((local_time(use.time, user.zone), use.place) for use in uses), key=lambda use: use[0])
        by_place: dict[str | None, _PlaceHabit] = {}
        times: list[float] = []
        versions: list[Phrases] = []
        for time, place in local:
            by_place.setdefault(place, _PlaceHabit(place)).add(time)
            ordered = sorted(by_place.values(), key=lambda habit: (-habit.count, habit.place or ""))
            phrases = tuple(habit.phrase(item.schema.verb) for habit in ordered[:_MAX_PLACES])
            if not versions or phrases != versions[-1]:
                times.append(to_hours(time))
                versions.append(phrases)
        return cls(times, versions)

    @property
    def current(self) -> Phrases:
        """The phrases after all uses."""
        return self.phrases[-1] if self.phrases else ()

    @property
    def changed(self) -> float:
        """When they changed last; minus infinity for an item that was never used."""
        return self.times[-1] if self.times else float("-inf")

    def as_of(self, hours: float) -> Phrases:
        """The phrases after all uses before a moment."""
        number = bisect_left(self.times, hours)
        return self.phrases[number - 1] if number else ()


def habit_phrases(item: Item, user: User, uses: Sequence[UsageEvent]) -> list[str]:
    """One phrase per place of use, the most frequent place first; `uses` are the item's own."""
    return list(HabitHistory.build(item, user, uses).current)


@dataclass(slots=True)
class _PlaceHabit:
    """Uses of an item at one place."""

    place: str | None
    count: int = 0
    days: set[int] = field(default_factory=set[int])
    parts: Counter[str] = field(default_factory=Counter[str])

    def add(self, time: datetime) -> None:
        self.count += 1
        self.days.add(time.weekday())
        self.parts[part_of_day(time)] += 1

    def phrase(self, verb: str) -> str:
        words = [f"{verb} {_frequency(self.count)}", self._usual_time()]
        if self.place and self.place != ANYWHERE:
            words.append(self.place.replace("_", " "))
        return ", ".join(filter(None, words))

    def _usual_time(self) -> str:
        """Such as "weekday morning", "Sunday" or "evening"; empty if there is no pattern."""
        part, part_count = self.parts.most_common(1)[0]
        day = ""
        if self.count > 1 and len(self.days) == 1:
            day = DAYS[next(iter(self.days))]
        elif self.count > 2 and all(day < 5 for day in self.days):
            day = "weekday"
        elif self.count > 1 and all(day >= 5 for day in self.days):
            day = "weekend"
        return " ".join(filter(None, [day, part if part_count >= _MOST * self.count else ""]))


def _frequency(count: int) -> str:
    """In steps, so that one more use rarely changes the phrase."""
    for limit, words in ((1, "once"), (3, "a few times"), (7, "several times")):
        if count <= limit:
            return words
    return "often"
