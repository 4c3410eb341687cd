"""Requests about times, made by pattern over the personas' own events: how days and hours go together.

Authored requests that name a time are few. What a time is made of — a day that is said, the hour of an
event, an hour before or after — follows rules that can be spelled out, so these requests do.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

from contextune.datasets import Persona
from contextune.lab.train.rankers.argument_examples import ArgumentExample
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.candidates import candidates
from contextune.plan.pointer.features import ChosenArguments
from contextune.plan.schema import Parameter, parameters
from contextune.plan.values import normal
from contextune.types import Item, ItemHit, Request, Tool

_DAY = timedelta(days=1)
_HOURS = ("twelve", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LENGTHS = {
    "an hour": timedelta(hours=1),
    "half an hour": timedelta(minutes=30),
    "two hours": timedelta(hours=2),
    "fifteen minutes": timedelta(minutes=15),
    "a quarter of an hour": timedelta(minutes=15),
    "three hours": timedelta(hours=3),
    "20 minutes": timedelta(minutes=20),
}
_THINGS = ("that", "it", "this one", "my thing", "the usual")
_EVENING = 18 * 60
_HALF = 0.5
_EACH = 6
"""Requests a persona."""


def time_examples(
    personas: Sequence[Persona], folds: Mapping[str, int], tools: Mapping[str, Tool], *, seed: int = 0
) -> Iterator[ArgumentExample]:
    """A few made requests of every persona, each of the persona's fold."""
    for persona in personas:
        draw = np.random.default_rng([seed, *persona.id.encode()])
        planned = [item for item in persona.items if {"start", "due"} & item.times.keys()]
        if not planned:
            continue
        for number in range(_EACH):
            item = planned[int(draw.integers(len(planned)))]
            others = [persona.items[int(n)] for n in draw.choice(len(persona.items), 3, replace=False)]
            yield from _example(persona, number, item, others, folds[persona.id], tools, draw)


def _example(
    persona: Persona,
    number: int,
    item: Item,
    others: Sequence[Item],
    fold: int,
    tools: Mapping[str, Tool],
    draw: np.random.Generator,
) -> Iterator[ArgumentExample]:
    start = (item.times.get("start") or item.times["due"]).replace(tzinfo=None)
    now = (start - timedelta(hours=float(draw.uniform(1, 96)))).replace(second=0, microsecond=0)
    if not 6 <= now.hour <= 22:
        now = now.replace(hour=int(draw.integers(7, 22)))
    if now >= start:
        now = start - timedelta(hours=1)
    text, tool, name, value = _PhraseWriter(item, start, now, draw).says()
    if datetime.fromisoformat(value) + _DAY < now:
        return  # nobody asks to be reminded of the past
    first = [other for other in others if other.id != item.id]
    place = int(draw.integers(3)) if number % 3 == 0 else 0
    ranked = [*first[:place], item, *first[place:]]
    hits = [ItemHit(one, -float(n)) for n, one in enumerate(ranked)]
    situation = PlanningInput(Request(text, user=persona.id, time=now), persona.user, hits)
    parameter = _parameter(tools[tool], name)
    found = candidates(situation, parameter)
    right = normal(value, parameter)
    grades = np.array([normal(one.value, parameter) == right for one in found], np.int64)
    if grades.any():
        chosen = (
            ChosenArguments(frozenset([ranked.index(item)]))
            if tool.startswith("reschedule")
            else ChosenArguments()
        )
        yield ArgumentExample(
            f"{persona.id}/time{number}", fold, tools[tool], parameter, situation, found, grades, chosen
        )


def _parameter(tool: Tool, name: str) -> Parameter:
    return next(parameter for parameter in parameters(tool) if parameter.name == name)


class TimeExample(NamedTuple):
    """What is said, the tool, its argument, and the right value."""

    text: str
    tool: str
    argument: str
    value: str


class _PhraseWriter:
    """Somebody who speaks of an event at a moment."""

    def __init__(self, item: Item, start: datetime, now: datetime, draw: np.random.Generator) -> None:
        self.item, self.start, self.now, self.draw = item, start, now, draw
        event = item.app == "Calendar"
        self._moves = ("reschedule_event", "start_time") if event else ("reschedule_reminder", "due_time")
        self.item = self.pick([item.title, *_THINGS])

    def pick(self, several: Sequence[Any]) -> Any:
        return several[int(self.draw.integers(len(several)))]

    def says(self) -> TimeExample:
        """What is said, the tool, its argument, and the right value."""
        ways = (self.all_said, self.other_hour, self.shifted, self.same_hour, self.before, self.eve)
        more = (self.from_now, self.day_said, self.day_of, self.next_to)
        if "end" in self.item.times:
            more = (*more, self.once_over)
        return self.pick([*ways, *more])()

    def _moved(self, text: str, time: datetime) -> TimeExample:
        tool, name = self._moves
        return TimeExample(text, tool, name, time.isoformat(timespec="minutes"))

    def _reminded(self, text: str, time: datetime) -> TimeExample:
        return TimeExample(text, "create_reminder", "due_time", time.isoformat(timespec="minutes"))

    def clock(self, after: datetime | None = None) -> tuple[str, int]:
        """An hour in words, and the minutes after midnight it stands for."""
        hour = int(self.draw.integers(7, 23))
        if after is not None:
            hour = min(22, max(hour, after.hour + 1))
        half = bool(self.draw.random() < 0.25)
        word = _HOURS[hour % 12]
        spoken = self.pick([f"half past {word}", f"{word} thirty"]) if half else word
        if self.draw.random() < 0.3:
            spoken += (
                " in the morning" if hour < 12 else " in the afternoon" if hour < 17 else " in the evening"
            )
        elif self.draw.random() < 0.2:
            spoken = f"{hour}:{'30' if half else '00'}"
        return spoken, hour * 60 + 30 * half

    def day(self) -> tuple[str, datetime]:
        """A day in words, and its midnight."""
        ahead = int(self.draw.integers(1, 7))
        day = self.now.replace(hour=0, minute=0) + ahead * _DAY
        if ahead == 1 and self.draw.random() < 0.7:
            return "tomorrow", day
        return self.pick(["on ", "", ""]) + _WEEKDAYS[day.weekday()], day

    def all_said(self) -> TimeExample:
        (day, date), (clock, minutes) = self.day(), self.clock()
        text = self.pick(
            [
                f"Move {self.item} to {day.removeprefix('on ')} at {clock}.",
                f"{day.capitalize()}, {clock}: {self.item}.",
            ]
        )
        return self._moved(text, date + timedelta(minutes=minutes))

    def other_hour(self) -> TimeExample:
        today = self.start.date() == self.now.date()
        clock, minutes = self.clock(self.now if today else None)
        text = self.pick([f"Make {self.item} {clock} instead.", f"{self.item} can only start at {clock}."])
        return self._moved(text, _midnight(self.start) + timedelta(minutes=minutes))

    def shifted(self) -> TimeExample:
        words = self.pick(list(_LENGTHS))
        later = bool(self.draw.random() < 0.7)
        text = self.pick(
            [f"Push {self.item} back {words}.", f"{self.item} {words} later.", f"Add {words} extra."]
        )
        if not later:
            text = self.pick(
                [f"Start {self.item} {words} earlier.", f"{words} sooner for {self.item}, please."]
            )
        moved = self.start + (_LENGTHS[words] if later else -_LENGTHS[words])
        return self._moved(text.capitalize(), moved)

    def same_hour(self) -> TimeExample:
        day, date = self.day()
        text = self.pick(
            [f"Same hour {day} for {self.item}.", f"Can't do {self.item}. {day.capitalize()}, same time.",
             f"Shift {self.item} to {day.removeprefix('on ')}."]
        )  # fmt: skip
        return self._moved(text, date + (self.start - _midnight(self.start)))

    def before(self) -> TimeExample:
        words = self.pick(list(_LENGTHS))
        text = self.pick(
            [f"Remind me {words} before {self.item}.", f"Nudge me {words} ahead of {self.item}."]
        )
        return self._reminded(text, self.start - _LENGTHS[words])

    def eve(self) -> TimeExample:
        clock, minutes = self.clock()
        words = self.pick(["day", "evening" if minutes >= 17 * 60 else "day"])
        text = f"Remind me at {clock} the {words} before {self.item}."
        return self._reminded(text, _midnight(self.start) - _DAY + timedelta(minutes=minutes))

    def from_now(self) -> TimeExample:
        if self.draw.random() < 0.5 or self.now.hour > 20:
            words = self.pick(list(_LENGTHS))
            if self.draw.random() < _HALF:
                return self._reminded(f"Remind me of {self.item} in {words}.", self.now + _LENGTHS[words])
            return self._moved(f"Ask me again in {words}.", self.now + _LENGTHS[words])
        clock, minutes = self.clock(self.now)
        late = f"Remind me at {clock} tonight." if minutes >= _EVENING else f"Nag me at {clock} today."
        text = self.pick([f"Not now. Try me at {clock}.", late])
        return self._reminded(text, _midnight(self.now) + timedelta(minutes=minutes))

    def once_over(self) -> TimeExample:
        end = self.item.times["end"].replace(tzinfo=None)
        after = self.pick(
            ["as soon as {} is over", "right after {}", "once {} is done", "the minute {} ends"]
        )
        when = after.format(self.item)
        if self.draw.random() < _HALF:
            return self._reminded(f"Remind me {when}.", end)
        return TimeExample(
            f"Put a walk in {when}.", "create_event", "start_time", end.isoformat(timespec="minutes")
        )

    def day_said(self) -> TimeExample:
        day, date = self.day()
        tool = self.pick(["list_events", "find_free_time", "get_weather"])
        text = self.pick([f"What about {day}?", f"{day.capitalize()}, how does it look?", f"Any room {day}?"])
        return TimeExample(text, tool, "date", date.date().isoformat())

    def day_of(self) -> TimeExample:
        tool = self.pick(["list_events", "find_free_time", "get_weather"])
        text = self.pick(
            [f"How full is the day of {self.item}?", f"What else is on when I have {self.item}?"]
        )
        return TimeExample(text, tool, "date", self.start.date().isoformat())

    def next_to(self) -> TimeExample:
        tool = self.pick(["list_events", "find_free_time"])
        before = bool(self.draw.random() < 0.5)
        words = "before" if before else "after"
        text = self.pick(
            [f"What's on the day {words} {self.item}?", f"Am I free the day {words} {self.item}?"]
        )
        return TimeExample(text, tool, "date", (self.start + (-_DAY if before else _DAY)).date().isoformat())


def _midnight(time: datetime) -> datetime:
    return time.replace(hour=0, minute=0, second=0, microsecond=0)
