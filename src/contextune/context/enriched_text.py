"""An item in words together with what is known around it, and what is around a request.

An item's text alone does not tell that a song is what somebody drives to, or that an address
is their sister's. Its portrait says so: when and where it belongs, who the people in it are to
the user, and how it is used. What is around a request is put the same way: the day, the part
of the day and the place. The vector of a request is the sum of what is said and of this, which
are few and remembered. An embedder tuned on both finds by meaning what otherwise only signals would.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from contextune.context.signals.columns import part_of_day
from contextune.types import ANYWHERE, NAMELESS, Item, UsageEvent, User, local_time

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PLACES = 3
_MOST = 0.6
"""The share of uses from which on a day or a part of the day is called usual."""


def moment_text(time: datetime, place: str | None) -> str:
    """When and where a request is made; `time` is on the user's wall clock."""
    return f"{_moment(time)} — at: {_spoken(place)}" if place else _moment(time)


def situations(user: User) -> list[str]:
    """All that can be around a request of the user's."""
    places = (None, *user.places, *NAMELESS)
    hours = (8, 14, 19, 23)
    week = (datetime(2024, 1, 1 + day, hour) for day in range(7) for hour in hours)  # a wall clock
    return [moment_text(time, place) for time in week for place in places]


class Relations:
    """What people are to the user, by the names, addresses and numbers they go by."""

    def __init__(self, user: User) -> None:
        self._said: list[str] = []
        self._known: dict[str, list[int]] = {}
        for contact in user.contacts:
            if contact.relation:
                for name in filter(None, (contact.name, contact.email, contact.phone)):
                    self._known.setdefault(name.casefold(), []).append(len(self._said))
                self._said.append(f"{contact.name.split()[0]}: {contact.relation}")

    def of(self, people: Iterable[str]) -> list[str]:
        """In the order of the address book."""
        found = {number for person in people for number in self._known.get(person.casefold(), ())}
        return [self._said[number] for number in sorted(found)]


def enriched_text(
    item: Item, user: User, uses: Sequence[UsageEvent], relations: Relations | None = None
) -> str:
    """The item's text, its time and place, its people's relations, its usage; `uses` are the item's own.

    `relations` are the user's, for whoever has many portraits to make and an address book of hundreds.
    """
    parts = [item.text]
    if item.time:
        parts.append(_moment(local_time(item.time, user.zone)))
    if item.place:
        parts.append(f"at: {_spoken(item.place)}")
    parts += (relations or Relations(user)).of(item.people)
    parts += _habits(item, user, uses)
    return " — ".join(parts)


def _moment(time: datetime) -> str:
    return f"{_DAYS[time.weekday()]} {part_of_day(time)}"


def _spoken(place: str) -> str:
    return place.replace("_", " ")


def _habits(item: Item, user: User, uses: Sequence[UsageEvent]) -> list[str]:
    """One phrase for each place it is used at, the most frequent first."""
    places = Counter(use.place for use in uses)
    phrases: list[str] = []
    for place, count in sorted(places.items(), key=lambda entry: (-entry[1], entry[0] or ""))[:_PLACES]:
        times = [local_time(use.time, user.zone) for use in uses if use.place == place]
        words = [f"{item.schema.verb} {_often(count)}", _usual(times)]
        if place and place != ANYWHERE:
            words.append(_spoken(place))
        phrases.append(", ".join(filter(None, words)))
    return phrases


def _often(count: int) -> str:
    """In steps, so that one more use seldom makes another text, which would have to be embedded anew."""
    for most, words in ((1, "once"), (3, "a few times"), (7, "several times")):
        if count <= most:
            return words
    return "often"


def _usual(times: Sequence[datetime]) -> str:
    """Such as "weekday morning", "Sunday", "evening"; nothing where there is no pattern."""
    days = Counter(time.weekday() for time in times)
    part, often = Counter(map(part_of_day, times)).most_common(1)[0]
    day = ""
    if len(times) > 1 and len(days) == 1:
        day = _DAYS[next(iter(days))]
    elif len(times) > 2 and all(day < 5 for day in days):
        day = "weekday"
    elif len(times) > 1 and all(day >= 5 for day in days):
        day = "weekend"
    return " ".join(filter(None, [day, part if often >= _MOST * len(times) else ""]))
