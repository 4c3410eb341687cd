"""Validation errors of persona files name the file, the field and the reason."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextune.datasets import parse_persona, read_persona
from contextune.errors import InvalidDataError

Json = dict[str, Any]


def drop(data: Json, key: str) -> None:
    del data[key]


def duplicate_first(things: list[Json]) -> None:
    things.append(dict(things[0]))


INVALID: dict[str, tuple[Callable[[Json], object], str]] = {
    "no id": (lambda d: drop(d, "id"), "id: Field required"),
    "empty id": (lambda d: d.update(id=""), "id: String should "),
    "no profile": (lambda d: drop(d, "profile"), "profile: Field required"),
    "queries as number": (lambda d: d.update(queries=5), "queries: "),
    "no items": (lambda d: d.update(items=[]), "items: List should have at least 1 item"),
    "an item that is text": (lambda d: d["items"].insert(0, "m0"), "items[0]: "),
    "coordinate": (lambda d: d["places"].update(home=[91, 0]), "places.home: not a coordinate: (91.0, 0.0)"),
    "three numbers": (lambda d: d["places"].update(home=[1, 2, 3]), "places.home: "),
    "coordinate as text": (lambda d: d["places"].update(home=["41", "-8"]), "places.home[0]: "),
    "contact as text": (lambda d: d["contacts"].update(Rui="555-0142"), "contacts.Rui: "),
    "item time": (lambda d: d["items"][0].update(date="yesterday"), "items[0].date: Invalid isoformat"),
    "item time as number": (lambda d: d["items"][0].update(date=1715880000), "items[0].date: "),
    "no application": (lambda d: drop(d["items"][0], "app"), "items[0].app: Field required"),
    "missing field": (lambda d: drop(d["items"][0], "subject"), "items[0].subject: Field required"),
    "one recipient": (lambda d: d["items"][0].update(recipients="ines"), "items[0].recipients: "),
    "list as number": (lambda d: d["items"][1].update(list=5), "items[1].list: "),
    "direction": (lambda d: d["items"][2].update(direction="lost"), "items[2].direction: "),
    "no use": (lambda d: drop(d["items"][0], "use"), "items[0].use: Field required"),
    "unknown when": (lambda d: d["items"][2].update(use=[["noon", "home", 1]]), "items[2].use[0][0]: "),
    "count as text": (lambda d: d["items"][2].update(use=[["night", "home", "3"]]), "items[2].use[0][2]: "),
    "count of zero": (
        lambda d: d["items"][2].update(use=[["night", "home", 0]]),
        "items[2].use[0][2]: Input should be greater than 0",
    ),
    "use without where": (lambda d: d["items"][2].update(use=[["night", 3]]), "items[2].use[0]"),
    "two items of one id": (lambda d: duplicate_first(d["items"]), "items: duplicate id 'm1' (2 times)"),
    "two queries of one id": (
        lambda d: duplicate_first(d["queries"]),
        "queries: duplicate id 'q1' (2 times)",
    ),
    "place of an item": (
        lambda d: d["items"][1].update(place="moon"),
        "items[1].place: 'moon' is not one of",
    ),
    "anywhere as a place": (lambda d: d["items"][1].update(place="anywhere"), "items[1].place: 'anywhere'"),
    "place of a use": (
        lambda d: d["items"][0].update(use=[["night", "home", 1], ["night", "moon", 1]]),
        "items[0].use[1]: 'moon' is not one of",
    ),
    "place of a query": (lambda d: d["queries"][0].update(place="moon"), "queries[0].place: 'moon'"),
    "no place in a query": (lambda d: drop(d["queries"][0], "place"), "queries[0].place: Field required"),
    "missing item": (
        lambda d: d["queries"][0].update(relevant={"m9": 2}),
        "queries[0].relevant: no such item: 'm9'",
    ),
    "grade of zero": (lambda d: d["queries"][0].update(relevant={"m1": 0}), "queries[0].relevant.m1: "),
    "empty query": (lambda d: d["queries"][0].update(query=""), "queries[0].query: "),
    "blank query": (lambda d: d["queries"][0].update(query="  "), "queries[0].query: "),
    "query without a date": (
        lambda d: d["queries"][0].update(time="17:40"),
        "queries[0].time: not a date with a time: '17:40'",
    ),
    "query without a time": (
        lambda d: d["queries"][0].update(time="2024-05-16"),
        "queries[0].time: not a date with a time: '2024-05-16'",
    ),
}


@pytest.mark.parametrize("case", INVALID)
def test_error_names_the_field(case: str, data: Json, tmp_path: Path) -> None:
    parse_persona(data)
    mutate, expected = INVALID[case]
    mutate(data)
    file = tmp_path / "z01.json"
    file.write_text(json.dumps(data))
    with pytest.raises(InvalidDataError) as error:
        read_persona(file)
    assert str(error.value).startswith(f"{file}: not a valid persona: {expected}")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "not valid JSON", id="empty"),
        pytest.param(b'{"id": "z01",', "not valid JSON", id="cut off"),
        pytest.param('{"id": "zoë"}'.encode("latin-1"), "not valid JSON in UTF-8", id="not UTF-8"),
        pytest.param(b"[]", "valid dictionary|valid object|an object", id="a list"),
        pytest.param(b"null", "valid dictionary|valid object|an object", id="nothing"),
        pytest.param(b'{"queries": 5}', "id: Field required", id="almost nothing"),
    ],
)
@pytest.mark.parametrize("gold", [True, False])
def test_file_that_is_not_a_persona(content: bytes, reason: str, gold: bool, tmp_path: Path) -> None:
    file = tmp_path / "z01.json"
    file.write_bytes(content)
    with pytest.raises(InvalidDataError, match=reason) as error:
        read_persona(file, gold=gold)
    assert str(error.value).startswith(f"{file}: ")


def test_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"z01\.json: cannot read the file: No such file"):
        read_persona(tmp_path / "z01.json")


def test_only_five_errors_are_listed(data: Json) -> None:
    for item in data["items"]:
        item.update(use="never", id=5, place=7)
    with pytest.raises(InvalidDataError) as error:
        parse_persona(data, source="here")
    message = str(error.value)
    assert message.startswith("here: not a valid persona: items[0].id: ")
    assert message.count("items[") == 5
    assert message.endswith("; and 4 more")
