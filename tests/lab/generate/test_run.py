"""Generation runs end to end: resumption, invalid answers, duplicates."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.lab.generate.author import Author, keep, said, wanted

from contextune.datasets import Persona, load_persona, read_personas
from contextune.errors import InvalidDataError, LanguageModelError
from contextune.llm import EndpointChat
from contextune.store import SQLiteStore
from contextune_lab.generate import (
    CostMeter,
    ValidJsonWriter,
    check_files,
    diversity,
    make_personas,
    make_queries,
)
from contextune_lab.generate.deduplicate import NearDuplicates
from contextune_lab.generate.files import ANSWERS, bundled_tools
from contextune_lab.generate.persona_rules import item_faults, user_faults
from contextune_lab.generate.personas import add_items, make_person
from contextune_lab.generate.quotas import item_counts, kinds, query_count
from contextune_lab.generate.traits import draw_traits

ScribeOf = Callable[[Path], ValidJsonWriter]


@pytest.fixture(scope="module")
def somebody(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One persona without queries, generated once."""
    folder = tmp_path_factory.mktemp("somebody")
    with Author() as author:
        chat = EndpointChat("author", base_url=author.url, api_key="key")
        make_personas(ValidJsonWriter(chat, folder / ANSWERS), folder, 1)
    return folder / "p0001.json"


@pytest.fixture
def alone(somebody: Path, tmp_path: Path) -> Path:
    """A folder with that persona."""
    shutil.copy(somebody, tmp_path)
    return tmp_path


def test_small_run_end_to_end(
    author: Author, meter: CostMeter, scribe_of: ScribeOf, tmp_path: Path, store: SQLiteStore
) -> None:
    writer = scribe_of(tmp_path)
    first = make_personas(writer, tmp_path, 2)
    assert [persona.id for persona in first.personas] == ["p0001", "p0002"]
    made = make_queries(writer, tmp_path)
    assert made.failed == ()
    assert check_files([tmp_path]).faults == ()
    for number, persona in enumerate(read_personas(tmp_path)):
        apps = [item.app for item in persona.items]
        assert {app: apps.count(app) for app in apps} == item_counts(number, 2)
        assert len(persona.queries) == query_count(number)
        assert [query.gold.kind for query in persona.queries] == kinds(number, len(persona.queries))
        assert all(query.gold.tools and query.gold.tools[0] == query.gold.api for query in persona.queries)
        load_persona(store, persona)
        assert len(store.items(persona.id)) == len(persona.items)
    assert meter.spent.answers == len(author.asked) == sum(author.parts.values())
    assert (meter.spent.read, meter.spent.written) == (100 * len(author.asked), 20 * len(author.asked))
    assert diversity(made.personas, bundled_tools()).people == 1


def test_repeated_run_asks_nothing(author: Author, scribe_of: ScribeOf, tmp_path: Path) -> None:
    make_personas(scribe_of(tmp_path), tmp_path, 2)
    make_queries(scribe_of(tmp_path), tmp_path)
    files = {file.name: file.read_bytes() for file in tmp_path.glob("*.json")}
    asked = len(author.asked)
    make_personas(scribe_of(tmp_path), tmp_path, 2)
    make_queries(scribe_of(tmp_path), tmp_path)
    assert len(author.asked) == asked
    for file in tmp_path.glob("*.json"):
        file.unlink()
    make_personas(scribe_of(tmp_path), tmp_path, 2)
    make_queries(scribe_of(tmp_path), tmp_path)
    assert len(author.asked) == asked
    assert {file.name: file.read_bytes() for file in tmp_path.glob("*.json")} == files


def test_interrupted_run_continues(author: Author, scribe_of: ScribeOf, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    make_personas(scribe_of(whole), whole, 2, at_once=1)
    needed = dict(author.parts)
    author.parts.clear()
    halves = tmp_path / "halves"
    author.spoil = lambda part, _, count: (500, {}) if part == "items" and count > 10 else None
    with pytest.raises(LanguageModelError, match=r"HTTP 500.*run the same command again to continue"):
        make_personas(scribe_of(halves), halves, 2, at_once=1)
    assert [file.name for file in sorted(halves.glob("*.json"))] == ["p0001.json"]
    answered = 10
    author.parts.clear()
    author.spoil = keep
    made = make_personas(scribe_of(halves), halves, 2, at_once=1)
    assert author.parts == {"items": needed["items"] - answered}
    assert made.personas == tuple(read_personas(whole))


def test_larger_n_adds_personas(author: Author, scribe_of: ScribeOf, tmp_path: Path) -> None:
    make_personas(scribe_of(tmp_path), tmp_path, 1)
    before = (tmp_path / "p0001.json").read_bytes()
    made = make_personas(scribe_of(tmp_path), tmp_path, 2)
    assert len(made.personas) == 2
    assert (tmp_path / "p0001.json").read_bytes() == before
    assert author.parts["person"] == 2


def test_rate_limited_server_is_retried(author: Author, scribe_of: ScribeOf, tmp_path: Path) -> None:
    author.spoil = lambda _, __, count: (429, {}) if count % 2 else None
    made = make_personas(scribe_of(tmp_path), tmp_path, 1)
    assert (len(made.personas), made.failed) == (1, ())


def test_duplicate_person_is_rejected(author: Author, scribe_of: ScribeOf, tmp_path: Path) -> None:
    first: dict[str, Any] = {}

    def same(part: str, answer: dict[str, Any], count: int) -> dict[str, Any] | None:
        if part != "person":
            return None
        first.update(answer if count == 1 else {})
        return dict(first) if count <= 2 else None

    author.spoil = same
    made = make_personas(scribe_of(tmp_path), tmp_path, 2, at_once=1)
    assert len({persona.user.profile["name"] for persona in made.personas}) == 2
    told = [body for body in author.asked if len(body["messages"]) > 2]
    assert "duplicate of another persona" in told[0]["messages"][-1]["content"]


def test_failed_persona_is_skipped_and_retried_in_the_next_run(
    author: Author, scribe_of: ScribeOf, tmp_path: Path
) -> None:
    def few(part: str, answer: dict[str, Any], _: int) -> dict[str, Any] | None:
        return (
            {"items": answer["items"][:1]} if part == "items" and "event_name" in answer["items"][0] else None
        )

    author.spoil = few
    made = make_personas(scribe_of(tmp_path), tmp_path, 1)
    assert made.personas == ()
    assert "p0001/Calendar: no valid answer" in made.failed[0]
    assert "1 entries, expected" in made.failed[0]
    author.spoil = keep
    assert len(make_personas(scribe_of(tmp_path), tmp_path, 1).personas) == 1
    assert author.parts["person"] == 1


@pytest.mark.parametrize(
    ("app", "change", "why"),
    [
        ("Calendar", {"end_time": "2020-01-01T10:00"}, "items[0].end_time: not after the start"),
        ("Calendar", {"start_time": "2024-02-31T10:00"}, "items: invalid time"),
        ("Calendar", {"place": "moon"}, "items[0].place: 'moon' not one of club, commute, harbour, home"),
        ("Calendar", {"organizer": "me@corme.es"}, "items[0].organizer: 'me@corme.es' does not end in"),
        ("Mail", {"date": "2020-01-01T10:00"}, "items[0]: must be made in the 15 days before now"),
        (
            "Mail",
            {"use": [{"when": "night", "where": "moon", "times": 1}]},
            "items[0].use: 'moon' not one of",
        ),
        ("PhoneCall", {"contact": "Nobody"}, "items[0].contact: 'Nobody' not one of"),
        ("Google", {"query": " "}, "items[0].query: empty"),
    ],
)
def test_invalid_item_is_asked_for_again(
    author: Author, scribe_of: ScribeOf, tmp_path: Path, app: str, change: dict[str, Any], why: str
) -> None:
    given = draw_traits(0)
    person = make_person(scribe_of(tmp_path), "p1", given, NearDuplicates(min_similarity=1.0))

    def spoil(_: str, answer: dict[str, Any], count: int) -> dict[str, Any] | None:
        bad, *rest = answer["items"]
        return {"items": [{**bad, **change}, *rest]} if count == 1 else None

    author.spoil = spoil
    made = add_items(scribe_of(tmp_path), Persona(person.user, (), {}, ()), person, app, 3)
    assert [item.app for item in made.items] == [app] * 3
    assert f"- {why}" in author.asked[-1]["messages"][-1]["content"]
    assert list(item_faults(made)) == []


def test_duplicate_items_are_asked_for_again(author: Author, scribe_of: ScribeOf, tmp_path: Path) -> None:
    person = make_person(scribe_of(tmp_path), "p1", draw_traits(0), NearDuplicates(min_similarity=1.0))

    def twice(_: str, answer: dict[str, Any], count: int) -> dict[str, Any] | None:
        first, _second, *rest = answer["items"]
        return {"items": [first, first, *rest]} if count == 1 else None

    author.spoil = twice
    made = add_items(scribe_of(tmp_path), Persona(person.user, (), {}, ()), person, "Music", 3)
    assert len({item.title for item in made.items}) == 3
    assert "items[1]: duplicate title" in author.asked[-1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"places": [{"name": "work", "latitude": 1, "longitude": 2}] * 4},
            "places: each has a name of its own",
        ),
        (
            {"places": [{"name": name, "latitude": 99, "longitude": 2} for name in ("home", "a", "b", "c")]},
            "places: not a coordinate: (99.0, 2.0)",
        ),
        ({"profession": ""}, "profile.profession: missing"),
        ({"contacts": []}, "contacts: at least 3 have a phone number"),
    ],
)
def test_invalid_person_is_asked_for_again(
    author: Author, scribe_of: ScribeOf, tmp_path: Path, change: dict[str, Any], why: str
) -> None:
    def spoil(_: str, answer: dict[str, Any], count: int) -> dict[str, Any] | None:
        contacts = [{**contact, "phone": None} for contact in answer["contacts"]]
        bad = {**answer, **change}
        return ({**bad, "contacts": contacts} if not bad["contacts"] else bad) if count == 1 else None

    author.spoil = spoil
    person = make_person(scribe_of(tmp_path), "p1", draw_traits(0), NearDuplicates(min_similarity=1.0))
    assert f"- {why}" in author.asked[-1]["messages"][-1]["content"]
    assert list(user_faults(person.user)) == []


def request(author: Author, place: int = -1) -> str:
    """The n-th last request for queries that the author received."""
    asked = [body for body in author.asked if "requests" in wanted(body)["properties"]]
    return asked[place]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"relevant": [{"id": "x9", "grade": 2}]}, "no item has this id"),
        ({"relevant": [{"id": "c1", "grade": 1}]}, "needs at least one item of grade 2"),
        ({"place": "moon"}, "'moon' not one of club, commute, harbour, home, work"),
        ({"time": "2031-01-01T10:00"}, "must be within 3 days"),
        ({"time": "2031-13-01T10:00"}, "not a time"),
        ({"query": "Yes"}, "has 1 words"),
    ],
)
def test_invalid_query_is_asked_for_again(
    author: Author, scribe_of: ScribeOf, alone: Path, change: dict[str, Any], why: str
) -> None:
    def spoil(part: str, answer: dict[str, Any], count: int) -> dict[str, Any] | None:
        if part != "requests" or count > 1:
            return None
        bad, *rest = answer["requests"]
        return {"requests": [{**bad, **change}, *rest]}

    author.spoil = spoil
    made = make_queries(scribe_of(alone), alone)
    assert len(made.personas[0].queries) == query_count(0)
    assert author.parts["requests"] == 2
    assert why in request(author)
    assert "slot 2" not in request(author)
    assert check_files([alone]).faults == ()


def test_leaking_query_is_asked_for_again(author: Author, scribe_of: ScribeOf, alone: Path) -> None:
    (persona,) = read_personas(alone)
    event = persona.items[1]

    def spoil(part: str, answer: dict[str, Any], count: int) -> dict[str, Any] | None:
        if part != "requests" or count > 1:
            return None
        bad, *rest = answer["requests"]
        told = {"query": f"When is {event.title} on?", "relevant": [{"id": event.id, "grade": 2}]}
        return {"requests": [{**bad, **told}, *rest]}

    author.spoil = spoil
    made = make_queries(scribe_of(alone), alone)
    assert f"gives item '{event.id}' away by" in request(author)
    assert all(event.title not in query.text for query in made.personas[0].queries)


def test_duplicate_query_is_asked_for_again(author: Author, scribe_of: ScribeOf, tmp_path: Path) -> None:
    texts: list[str] = []

    def spoil(part: str, answer: dict[str, Any], count: int) -> dict[str, Any] | None:
        if part != "requests":
            return None
        if count == 1:
            texts.append(answer["requests"][0]["query"])
            return None
        bad, *rest = answer["requests"]
        return {"requests": [{**bad, "query": f"{texts[0]} please"}, *rest]} if count == 2 else None

    author.spoil = spoil
    make_personas(scribe_of(tmp_path), tmp_path, 2)
    made = make_queries(scribe_of(tmp_path), tmp_path, at_once=1)
    assert "is a near-duplicate" in request(author)
    assert diversity(made.personas, bundled_tools()).alike == 0
    assert author.parts["requests"] == 3


def test_query_without_api_is_replaced(author: Author, scribe_of: ScribeOf, alone: Path) -> None:
    none = {"api": "default", "others": ["get_event", "read_note"]}
    author.spoil = lambda part, _, count: none if part == "choice" and count == 1 else None
    made = make_queries(scribe_of(alone), alone)
    assert "no API does that" in request(author)
    assert len(made.personas[0].queries) == query_count(0)


def test_invented_argument_is_asked_for_again(author: Author, scribe_of: ScribeOf, alone: Path) -> None:
    def spoil(part: str, answer: dict[str, Any], count: int) -> dict[str, Any] | None:
        return dict.fromkeys(answer, "Something made up") if part == "plan" and count == 1 else None

    author.spoil = spoil
    make_queries(scribe_of(alone), alone)
    mended = [body for body in author.asked if len(body["messages"]) > 2]
    assert "'Something made up' not found in a relevant item" in mended[0]["messages"][-1]["content"]
    assert check_files([alone]).faults == ()


def test_missing_queries_are_reported_and_generated_later(
    author: Author, scribe_of: ScribeOf, alone: Path
) -> None:
    author.spoil = lambda part, _answer, _count: {"thought": "Who knows."} if part == "thought" else None
    made = make_queries(scribe_of(alone), alone, average=2)
    assert made.failed == ("p0001: 2 of 2 queries could not be generated",)
    assert made.personas[0].queries == ()
    author.spoil = keep
    assert len(make_queries(scribe_of(alone), alone, average=2).personas[0].queries) == 2


def test_queries_are_added_to_existing_ones(author: Author, scribe_of: ScribeOf, alone: Path) -> None:
    few = make_queries(scribe_of(alone), alone, average=3).personas[0].queries
    more = make_queries(scribe_of(alone), alone, average=9).personas[0].queries
    assert (len(few), len(more)) == (3, 9)
    assert more[:3] == few
    assert len({query.id for query in more}) == 9
    assert f"- {few[0].text}" in request(author)
    assert check_files([alone]).faults == ()


def test_malformed_and_truncated_answers_are_asked_for_again(
    author: Author, meter: CostMeter, scribe_of: ScribeOf, tmp_path: Path
) -> None:
    def spoil(_: str, answer: dict[str, Any], count: int) -> Any:
        whole = json.dumps(answer)
        if count == 1:
            return said("I'd love to help!")
        return said(whole[: len(whole) // 2], finish="length") if count == 2 else None

    author.spoil = spoil
    made = make_personas(scribe_of(tmp_path), tmp_path, 1)
    assert len(made.personas) == 1
    assert meter.spent.answers == len(author.asked)  # those thrown away are paid for as well


def test_invalid_parameters_are_rejected(author: Author, scribe_of: ScribeOf, tmp_path: Path) -> None:
    writer = scribe_of(tmp_path)
    with pytest.raises(InvalidDataError, match="0 personas"):
        make_personas(writer, tmp_path, 0)
    with pytest.raises(InvalidDataError, match="no personas found"):
        make_queries(writer, tmp_path / "empty")
    make_personas(writer, tmp_path, 1)
    with pytest.raises(InvalidDataError, match="the toolbox has 2 APIs"):
        make_queries(writer, tmp_path, toolbox=bundled_tools()[:2])
