"""Diversity statistics of small examples and of the bundled personas."""

from dataclasses import replace
from datetime import datetime

import pytest

from contextune.datasets import Gold, Persona, Query, bundled_personas
from contextune.lab.generate import diversity
from contextune.lab.generate.deduplicate import NearDuplicates
from contextune.lab.generate.diversity import evenness
from contextune.tools import bundled_toolbox
from contextune.types import Item, User


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
    found = diversity(people, bundled_toolbox())
    assert (found.personas, found.queries) == (2, 4)
    assert found.items["Notes"] == 1
    assert found.items["Mail"] == 0
    assert found.overlap == pytest.approx((0 + 1 / 4 + 0 + 1 / 3) / 4)  # "note" and "celadon"
    assert found.telling == pytest.approx(1 / 3 / 4)
    assert found.leaking == 1 / 4
    assert found.alike == 2 / 4
    assert found.people == 0.5
    assert found.kinds["semantic"] == found.kinds["recency"] == 2
    assert found.kinds_even == pytest.approx(evenness([2, 2, 0, 0, 0, 0, 0]))
    assert found.apis == {"read_note": 4}
    assert found.apis_even == 0
    assert len(found.apis_unused) == 58


def test_bundled_personas_are_diverse() -> None:
    found = diversity(bundled_personas(), bundled_toolbox())
    assert (found.personas, found.leaking, found.apis_unused) == (109, 0, ())
    assert found.alike < 0.01
    assert found.kinds_even > 0.99
    assert found.apis_even > 0.8
    assert found.overlap < 0.2
    assert found.telling < 0.01


def test_statistics_of_no_personas() -> None:
    found = diversity([], [])
    assert (found.personas, found.queries, found.overlap, found.alike, found.people) == (0, 0, 0, 0, 0)
    bare = replace(persona("a", "hello there"), queries=())
    assert diversity([bare], bundled_toolbox()).queries == 0


@pytest.mark.parametrize(
    ("counts", "even"), [([1, 1, 1], 1), ([3, 0, 0], 0), ([], 0), ([0, 0], 0), ([1, 1, 0, 0], 0.5)]
)
def test_evenness_is_normalised_entropy(counts: list[int], even: float) -> None:
    assert evenness(counts) == pytest.approx(even)


def test_near_duplicate_is_found_and_not_added() -> None:
    seen = NearDuplicates(["Read me the note"])
    assert seen.find("read me THE note!") == "Read me the note"
    assert seen.add("read me the note please") == "Read me the note"
    assert seen.add("play some music") is None
    assert seen.find("Play some music.") == "play some music"
