"""Requests composed from items, and personas with applications that no model knows."""

import random
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from contextune.context.index import UserIndex
from contextune.datasets import bundled_persona_file, read_persona
from contextune.embed import Embedder
from contextune.search import tokenize
from contextune.types import Item, User
from contextune.types.app_schema import APPS
from contextune_lab.train.rankers.context.authored_stores import authored_stores
from contextune_lab.train.rankers.context.recast import recast_persona
from contextune_lab.train.rankers.context.request_writer import RequestWriter, SaidRequest

PERSONA = read_persona(bundled_persona_file("a01"))
NOW = datetime(2024, 5, 16, 17)


def write(items: Sequence[Item], embedder: Embedder, count: int = 60) -> list[SaidRequest]:
    index = UserIndex(User("u"), list(items), embedder.embed)
    draw = random.Random(1)
    return list(RequestWriter(index, NOW, draw).write(count))


def message(name: str, sender: str, text: str, date: str) -> Item:
    return Item(name, "Messages", {"sender": sender, "text": text, "date": date})


MESSAGES = [
    message("m1", "Nadia", "The plumber found a crack in the boiler", "2024-02-03T10:00"),
    message("m2", "Omar", "My passport expired", "2024-03-09T11:00"),
    message("m3", "Nadia", "Grandma sold the vineyard", "2024-04-21T09:00"),
    message("m4", "Omar", "See you at the harbour", "2024-05-01T20:00"),
]


def test_a_composed_request_means_the_items_with_its_words_person_or_time(word_embedder: Embedder) -> None:
    by_id = {item.id: item for item in MESSAGES}
    requests = write(MESSAGES, word_embedder)
    assert {request.kind for request in requests} == {"by word", "by time", "by person", "last or next"}
    for request in requests:
        assert request.relevant
        said = set(tokenize(request.text))
        for name in request.relevant:
            item = by_id[name]
            if request.kind == "by word":
                assert said & set(tokenize(item.text))
            if request.kind == "by person":
                assert str(item.fields["sender"]).lower() in said


def test_the_last_message_of_a_person_is_the_newest(word_embedder: Embedder) -> None:
    last = [request for request in write(MESSAGES, word_embedder) if request.kind == "last or next"]
    assert last
    for request in last:
        words = tokenize(request.text)
        expected = "m3" if "nadia" in words else "m4"
        assert list(request.relevant) == [expected], request.text


def test_a_recast_persona_keeps_ids_people_and_times() -> None:
    recast = recast_persona(PERSONA, random.Random(3))
    assert [item.id for item in recast.items] == [item.id for item in PERSONA.items]
    changed = [(old, new) for old, new in zip(PERSONA.items, recast.items, strict=True) if old.app != new.app]
    assert changed
    for old, new in changed:
        assert new.app not in APPS
        assert new.title
        if old.times.get("made") and new.app not in ("Tasks", "Tickets"):
            assert new.times["made"] == old.times["made"].replace(second=0, microsecond=0)


def test_authored_stores_have_known_items_and_requests_after_them() -> None:
    stores = authored_stores()
    assert len(stores) >= 300
    for entry in stores:
        items = {item.id: item for item in entry.user.items}
        assert entry.relevant.keys() <= items.keys()
        for name in entry.relevant:
            made = items[name].times.get("made")
            assert made is None or made <= entry.request.time, (entry.user.id, entry.query.text)


def test_an_item_follows_the_one_right_before_it_in_its_application(word_embedder: Embedder) -> None:
    items = [
        message("b", "Nadia", "Which train?", "2024-05-01T10:00"),
        message("a", "Omar", "The one at nine", "2024-05-01T10:04"),
        message("c", "Nadia", "Good night", "2024-05-01T23:00"),
        Item("n", "Notes", {"title": "Trains", "modified": "2024-05-01T10:02"}),
    ]
    index = UserIndex(User("u"), items, word_embedder.embed)
    row = {item.id: number for number, item in enumerate(index.items)}
    expected = np.full(4, -1)
    expected[row["a"]] = row["b"]
    assert index.preceding.tolist() == expected.tolist()
