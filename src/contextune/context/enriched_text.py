"""Enriched text: an item's text plus time, place, people and habits; and the text of a request's moment.

An item's text does not say that a song is the one its owner drives to, or that an address is their sister's.
The enriched text does. The moment of a request (weekday, part of the day, place) is written in the same form,
so that an embedder tuned on both matches them by meaning. The vector of a request is the sum of the vectors
of its text and of its moment; there are few moments, so their vectors are cached.

The output of `enriched_text` and `moment_text` is embedded and must not change: stored vectors and the
bundled models depend on it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from contextune.context.signals.columns import part_of_day
from contextune.types import ANYWHERE, NAMELESS, Item, UsageEvent, User, local_time

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MAX_PLACES = 3
_MOST = 0.6
"""Share of the uses from which a part of the day is called usual."""


def moment_text(time: datetime, place: str | None) -> str:
    """Weekday, part of the day and place of a request; `time` is on the user's wall clock."""
    return f"{_day_and_part(time)} — at: {_place_name(place)}" if place else _day_and_part(time)


def all_moment_texts(user: User) -> list[str]:
    """The moment texts of all possible requests of the user."""
    places = (None, *user.places, *NAMELESS)
    hours = (8, 14, 19, 23)
    week = (datetime(2024, 1, 1 + day, hour) for day in range(7) for hour in hours)
    return [moment_text(time, place) for time in week for place in places]


class Relations:
    """The relations of a user's contacts, by name, e-mail address and phone number."""

    def __init__(self, user: User) -> None:
        self._phrases: list[str] = []
        self._numbers: dict[str, list[int]] = {}
        for contact in user.contacts:
            if contact.relation:
                for key in filter(None, (contact.name, contact.email, contact.phone)):
                    self._numbers.setdefault(key.casefold(), []).append(len(self._phrases))
                self._phrases.append(f"{contact.name.split()[0]}: {contact.relation}")

    def describe(self, people: Iterable[str]) -> list[str]:
        """Phrases such as "Marta: sister", in the order of the address book."""
        numbers = {number for person in people for number in self._numbers.get(person.casefold(), ())}
        return [self._phrases[number] for number in sorted(numbers)]


def enriched_text(
    item: Item, user: User, uses: Sequence[UsageEvent], relations: Relations | None = None
) -> str:
    """The item's text with its time, place, relations of its people, and habits; `uses` are the item's own.

    Pass `relations` to index the user's contacts once for many items.
    """
    parts = [item.text]
    if item.time:
        parts.append(_day_and_part(local_time(item.time, user.zone)))
    if item.place:
        parts.append(f"at: {_place_name(item.place)}")
    parts += (relations or Relations(user)).describe(item.people)
    parts += _habits(item, user, uses)
    return " — ".join(parts)


def _day_and_part(time: datetime) -> str:
    return f"{_DAYS[time.weekday()]} {part_of_day(time)}"


def _place_name(place: str) -> str:
    return place.replace("_", " ")


def _habits(item: Item, user: User, uses: Sequence[UsageEvent]) -> list[str]:
    """One phrase per place of use, the most frequent place first."""
    places = Counter(use.place for use in uses)
    phrases: list[str] = []
    for place, count in sorted(places.items(), key=lambda entry: (-entry[1], entry[0] or ""))[:_MAX_PLACES]:
        times = [local_time(use.time, user.zone) for use in uses if use.place == place]
        words = [f"{item.schema.verb} {_frequency(count)}", _usual_time(times)]
        if place and place != ANYWHERE:
            words.append(_place_name(place))
        phrases.append(", ".join(filter(None, words)))
    return phrases


def _frequency(count: int) -> str:
    """In steps, so that one more use rarely changes the text, which would have to be embedded again."""
    for limit, words in ((1, "once"), (3, "a few times"), (7, "several times")):
        if count <= limit:
            return words
    return "often"


def _usual_time(times: Sequence[datetime]) -> str:
    """Such as "weekday morning", "Sunday" or "evening"; empty if there is no pattern."""
    days = Counter(time.weekday() for time in times)
    part, part_count = Counter(map(part_of_day, times)).most_common(1)[0]
    day = ""
    if len(times) > 1 and len(days) == 1:
        day = _DAYS[next(iter(days))]
    elif len(times) > 2 and all(day < 5 for day in days):
        day = "weekday"
    elif len(times) > 1 and all(day >= 5 for day in days):
        day = "weekend"
    return " ".join(filter(None, [day, part if part_count >= _MOST * len(times) else ""]))
