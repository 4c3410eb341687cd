"""Diversity statistics of small examples and of the bundled personas."""

from dataclasses import replace
from datetime import datetime

import pytest

from contextune.datasets import Gold, Persona, Query, bundled_personas
from contextune.types import Item, User
from contextune_lab.generate import diversity
from contextune_lab.generate.deduplicate import NearDuplicates
from contextune_lab.generate.diversity import evenness
from contextune_lab.generate.files import bundled_tools


def persona(name: str, *texts: str, kind: str = "semantic") -> Persona:
    note = Item(
        "n1", "Notes", {"title": "Celadon crazing", "content": "cool slower", "modified": "2024-05-11T20:30"}
    )
    gold = Gold(kind=kind, relevant={"n1": 2}, api="read_note")
    queries = [Query(f"q{n}", text, datetime(2024, 5, 16), "home", gold) for n, text in enumerate(texts)]
    return Persona(User(name, {"name": name, "profession": "potter"}), (note,), {"n1": ()}, tuple(queries))


def test_statistics_of_a_small_example() -> None:
    people = [
        persona("a", "why do my pots crack", "read that note again"),
        persona("b", "why do my pots all crack", "what about celadon", kind="recency"),
    ]
    stats = diversity(people, bundled_tools())
    assert (stats.personas, stats.queries) == (2, 4)
    assert stats.items["Notes"] == 1
    assert stats.items["Mail"] == 0
    assert stats.overlap == pytest.approx((0 + 1 / 4 + 0 + 1 / 3) / 4)  # "note" and "celadon"
    assert stats.telling == pytest.approx(1 / 3 / 4)
    assert stats.leaking == 1 / 4
    assert stats.alike == 2 / 4
    assert stats.people == 0.5
    assert stats.kinds["semantic"] == stats.kinds["recency"] == 2
    assert stats.kinds_even == pytest.approx(evenness([2, 2, 0, 0, 0, 0, 0]))
    assert stats.apis == {"read_note": 4}
    assert stats.apis_even == 0
    assert len(stats.apis_unused) == 58


def test_bundled_personas_are_diverse() -> None:
    stats = diversity(bundled_personas(), bundled_tools())
    assert (stats.personas, stats.leaking, stats.apis_unused) == (109, 0, ())
    assert stats.alike < 0.01
    assert stats.kinds_even > 0.99
    assert stats.apis_even > 0.8
    assert stats.overlap < 0.2
    assert stats.telling < 0.01


def test_statistics_of_no_personas() -> None:
    stats = diversity([], [])
    assert (stats.personas, stats.queries, stats.overlap, stats.alike, stats.people) == (0, 0, 0, 0, 0)
    bare = replace(persona("a", "hello there"), queries=())
    assert diversity([bare], bundled_tools()).queries == 0


@pytest.mark.parametrize(
    ("counts", "even"), [([1, 1, 1], 1), ([3, 0, 0], 0), ([], 0), ([0, 0], 0), ([1, 1, 0, 0], 0.5)]
)
def test_evenness_is_normalised_entropy(counts: list[int], even: float) -> None:
    assert evenness(counts) == pytest.approx(even)


def test_near_duplicate_is_found_and_not_added() -> None:
    texts = NearDuplicates(["Read me the note"])
    assert texts.find("read me THE note!") == "Read me the note"
    assert texts.add("read me the note please") == "Read me the note"
    assert texts.add("play some music") is None
    assert texts.find("Play some music.") == "play some music"
