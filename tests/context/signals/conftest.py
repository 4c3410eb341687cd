"""Builds scenes from a few items, with an embedder whose similarity is the overlap of words."""

from collections.abc import Callable, Sequence
from datetime import datetime

import pytest

from contextune.context.build_scene import RequestVectors, scene_from_vectors
from contextune.context.index import UserIndex
from contextune.context.signals import RequestClasses, Scene, UseColumns
from contextune.embed import Embedder
from contextune.types import Contact, Item, Request, UsageEvent, User

NOW = datetime(2024, 5, 16, 17, 40)
"""A Thursday."""
USER = User(
    "ines",
    places={"home": (41.152, -8.629), "studio": (41.145, -8.611)},
    contacts=(
        Contact("Rui Duarte", "rui@example.com", "555-0142", "brother"),
        Contact("Marta Reis", "marta@example.org", None, "pottery teacher"),
    ),
)
MakeScene = Callable[..., Scene]


@pytest.fixture
def make_scene(word_embedder: Embedder) -> MakeScene:
    """Builds a scene from a text, items and usage events, at `now` and `place`."""

    def make(
        text: str,
        items: Sequence[Item],
        uses: Sequence[UsageEvent] = (),
        *,
        now: datetime = NOW,
        place: str | None = "home",
        request_classes: RequestClasses | None = None,
        user: User = USER,
    ) -> Scene:
        index = UserIndex(user, list(items), word_embedder.embed)
        return scene_from_vectors(
            Request(text, user.id, now, place),
            index,
            UseColumns.build(index.item_columns, uses),
            vectors=word_embedder.embed([item.text for item in index.items]),
            contents=word_embedder.embed([item.text for item in index.items]),
            request_vectors=RequestVectors.build(Request(text, user.id, now, place), user, word_embedder),
            request_classes=request_classes or RequestClasses({}, {}, {}),
            depth=10,
        )

    return make


def call(name: str, time: str, direction: str = "missed", contact: str = "Rui Duarte") -> Item:
    fields = {"contact": contact, "direction": direction, "date": time}
    return Item(name, "PhoneCall", fields)


def song(name: str, title: str, time: str = "2024-05-15T06:20") -> Item:
    return Item(name, "Music", {"song_name": title, "artist": "Ana Moura", "played_time": time})


def event(name: str, title: str, start: str, end: str, **more: str) -> Item:
    return Item(name, "Calendar", {"event_name": title, "start_time": start, "end_time": end, **more})


def note(name: str, title: str, time: str = "2024-05-11T20:30", **more: str) -> Item:
    return Item(name, "Notes", {"title": title, "modified": time, **more})


def mail(name: str, subject: str, content: str, time: str) -> Item:
    return Item(name, "Mail", {"subject": subject, "content": content, "date": time})
