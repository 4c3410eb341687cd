"""Features of what a request names outright."""

import math

import pytest
from tests.context.signals.conftest import MakeScene, call, event, mail, note, song

from contextune.context.signals import named
from contextune.types import Item

ITEMS = [
    note("n1", "Kiln slots", text="book the kiln for May"),
    note("n2", "Shopping", text="clay and glaze"),
    mail("m1", "Kiln repair", "The kiln is repaired", "2024-05-10T09:00"),
    event("e1", "Pottery class", "2024-05-18T10:00", "2024-05-18T12:00"),
    song("s1", "Desfado"),
]


def values(make_scene: MakeScene, text: str, feature: str, items: list[Item] = ITEMS) -> dict[str, float]:
    scene = make_scene(text, items)
    column = named.compute(scene)[f"named.{feature}"]
    return {item.id: float(value) for item, value in zip(scene.items, column, strict=True)}


def test_the_item_with_the_rare_words_has_the_largest_share(make_scene: MakeScene) -> None:
    shares = values(make_scene, "open the kiln slots note", "words")
    assert max(shares, key=shares.__getitem__) == "n1"
    assert shares["n1"] > shares["m1"] > shares["s1"] == 0


def test_a_whole_title_counts_more_than_a_part(make_scene: MakeScene) -> None:
    shares = values(make_scene, "show me kiln slots", "title")
    assert shares["n1"] == 1
    assert shares["m1"] == 0.5
    assert shares["s1"] == 0


def test_words_that_no_item_has_lower_the_share_found(make_scene: MakeScene) -> None:
    assert values(make_scene, "kiln slots", "found")["n1"] == 1
    assert values(make_scene, "kiln unicorn", "found")["n1"] == 0.5
    assert math.isnan(values(make_scene, "what is it", "found")["n1"])


def test_people_of_an_item_count_even_if_they_are_no_contacts(make_scene: MakeScene) -> None:
    items = [call("c1", "2024-05-16T10:00", contact="Belgin Kaya"), call("c2", "2024-05-16T11:00")]
    assert values(make_scene, "call Belgin back", "people", items) == {"c1": 1, "c2": 0}


@pytest.mark.parametrize(
    ("text", "near"),
    [("what is on May 18?", "e1"), ("the mail from last Friday", "m1"), ("6 days ago", "m1")],
)
def test_times_are_understood(make_scene: MakeScene, text: str, near: str) -> None:
    distances = values(make_scene, text, "time distance")
    known = {name: value for name, value in distances.items() if not math.isnan(value)}
    assert min(known, key=known.__getitem__) == near
    assert known[near] == 0


def test_without_a_time_the_distance_is_missing(make_scene: MakeScene) -> None:
    assert all(map(math.isnan, values(make_scene, "kiln", "time distance").values()))


def test_a_named_application_is_told_from_the_others(make_scene: MakeScene) -> None:
    own, other = (values(make_scene, "find that note", name) for name in ("app", "other app"))
    assert own["n1"] == 1 == other["m1"]
    assert own["m1"] == 0 == other["n1"]
    assert set(values(make_scene, "find that thing", "other app").values()) == {0}


def test_quoted_text(make_scene: MakeScene) -> None:
    shares = values(make_scene, "open “kiln slots”", "quoted")
    assert shares["n1"] == 1
    assert shares["m1"] == 0.5
    assert all(map(math.isnan, values(make_scene, "it's Ana's kiln", "quoted").values()))
