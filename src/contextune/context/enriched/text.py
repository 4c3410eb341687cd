"""Texts that are embedded: an item with its time, place and people, and the moment of a request.

An item's text does not say that a song is the one its owner drives to, or that an address is their sister's.
The vector of an item does: it is the sum of the vectors of `content_text` and of the item's habits
(`contextune.context.enriched.habits`). The moment of a request (weekday, part of the day, place) is written
in the same form, so that an embedder tuned on both matches them by meaning. The vector of a request is the
sum of the vectors of its text and of its moment; there are few moments, so their vectors are cached.

The output of `content_text` and `moment_text` is embedded and must not change: stored vectors and the bundled
models depend on it. Texts of more than `MAX_CHARACTERS` are cut.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from contextune.context.enriched.habits import DAYS, habit_phrases
from contextune.context.signals.columns import part_of_day
from contextune.search.glosses import gloss
from contextune.types import NAMELESS, Item, UsageEvent, User, local_time

MAX_CHARACTERS = 750
"""Of the text of an item, about 175 tokens; the rest is not embedded. The embedder reads 256 tokens, and of a
longer text its time, place and people would be cut off. All texts that the models were trained on or measured
with are shorter; a limit of 500 costs two points of Recall@3 on WorkBench."""


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
    """All that is known of the item as one text, for methods without a vector; `uses` are the item's own.

    Pass `relations` to index the user's contacts once for many items.
    """
    return " — ".join([content_text(item, user, relations), *habit_phrases(item, user, uses)])


def content_text(item: Item, user: User, relations: Relations | None = None, *, glossed: bool = True) -> str:
    """The item's text with its time, place and relations of its people: all but its use.

    `glossed` adds English words for a title in another language.
    """
    parts = [_start(item.text)]
    if glossed and (english := gloss(item.title)):
        parts.append(english)
    if item.time:
        parts.append(_day_and_part(local_time(item.time, user.zone)))
    if item.place:
        parts.append(f"at: {_place_name(item.place)}")
    parts += (relations or Relations(user)).describe(item.people)
    return " — ".join(parts)


def _start(text: str) -> str:
    """The beginning of a long text, cut between two words."""
    if len(text) <= MAX_CHARACTERS:
        return text
    start = text[:MAX_CHARACTERS]
    return start[: start.rfind(" ")].rstrip() if " " in start[MAX_CHARACTERS // 2 :] else start


def _day_and_part(time: datetime) -> str:
    return f"{DAYS[time.weekday()]} {part_of_day(time)}"


def _place_name(place: str) -> str:
    return place.replace("_", " ")
