"""Personas: JSON to types and back, and reading without labels."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from contextune.datasets import (
    Gold,
    Habit,
    bundled_persona_files,
    parse_persona,
    persona_json,
    read_persona,
    read_personas,
)
from contextune.errors import InvalidDataError
from contextune.types import Contact, Request

FILES = bundled_persona_files()
LABELS = {"kind", "relevant", "cot", "api", "args", "tools"}
Json = dict[str, Any]


def write(file: Path, data: object) -> Path:
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def without_labels(data: Json) -> Json:
    queries = [{key: value for key, value in query.items() if key not in LABELS} for query in data["queries"]]
    return {**data, "queries": queries}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_bundled_files_round_trip(file: Path) -> None:
    data = json.loads(file.read_text(encoding="utf-8"))
    persona = read_persona(file)
    assert persona_json(persona) == data
    assert persona.id == file.stem
    assert parse_persona(persona_json(persona)) == persona


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_reading_without_gold_drops_all_labels(file: Path, tmp_path: Path) -> None:
    blind = read_persona(file, gold=False)
    assert {query.gold for query in blind.queries} == {Gold()}
    assert not any(query.more for query in blind.queries)
    data = json.loads(file.read_text(encoding="utf-8"))
    assert blind == read_persona(write(tmp_path / file.name, without_labels(data)))
    assert persona_json(blind) == without_labels(data)


def test_parse_persona_builds_every_part(data: Json) -> None:
    persona = parse_persona(data)
    assert persona.user.places == {"home": (41.152, -8.629), "studio": (41.0, -8.0)}
    assert persona.user.contacts == (
        Contact("Rui", phone="555-0142", relation="brother"),
        Contact("Nobody"),
    )
    assert [item.id for item in persona.items] == ["m1", "r1", "p1"]
    assert "use" not in persona.items[0].fields
    assert persona.items[1].place == "home"
    assert persona.habits == {
        "m1": (Habit("morning", "anywhere", 2), Habit("weekend-evening", "studio", 1)),
        "r1": (),
        "p1": (Habit("friday", "commute", 4),),
    }
    first, second = persona.queries
    assert first.gold == Gold(
        "semantic",
        {"m1": 2, "r1": 1},
        "Look in Mail.",
        "get_mail",
        {"subject": "Kiln slots", "unread": True},
        ("get_mail", "list_mails"),
    )
    assert second.gold == Gold()
    assert persona.request(first) == Request(
        "Anything from the kiln?", user="z01", time=datetime(2024, 5, 16, 17, 40), place="home"
    )
    assert persona_json(persona) == data


def test_malformed_gold_is_ignored_without_gold(data: Json, tmp_path: Path) -> None:
    data["queries"][0] |= {"relevant": {"nowhere": "x"}, "kind": 5, "tools": "all", "args": []}
    file = write(tmp_path / "z01.json", data)
    assert read_persona(file, gold=False).queries[0].gold == Gold()
    with pytest.raises(InvalidDataError, match=r"queries\[0\].kind"):
        read_persona(file)


def test_extra_keys_are_kept(data: Json) -> None:
    data["version"] = 3
    data["contacts"]["Rui"]["birthday"] = "1990-01-01"
    data["items"][0]["thread"] = {"length": 4}
    data["queries"][0]["author"] = "me"
    persona = parse_persona(data)
    assert persona.more == {"version": 3}
    assert persona.user.contacts[0].more == {"birthday": "1990-01-01"}
    assert persona.items[0].fields["thread"] == {"length": 4}
    assert persona.queries[0].more == {"author": "me"}
    assert persona_json(persona) == data


def test_unknown_application_is_accepted(data: Json) -> None:
    data["items"].append({"id": "x1", "app": "Recipes", "name": "Vindaloo", "time": "20 min", "use": []})
    persona = parse_persona(data)
    assert persona.items[-1].text == "Recipes — Vindaloo — time: 20 min"
    assert persona_json(persona) == data


def test_persona_without_queries(data: Json) -> None:
    data["queries"] = []
    assert parse_persona(data).queries == ()


def test_personas_of_a_folder_are_sorted_by_name(data: Json, tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        write(tmp_path / f"{name}.json", {**data, "id": name})
    (tmp_path / "README.md").write_text("not a persona")
    assert [persona.id for persona in read_personas(tmp_path)] == ["a", "b", "c"]
    assert {query.gold for persona in read_personas(tmp_path, gold=False) for query in persona.queries} == {
        Gold()
    }


def test_folder_without_personas_raises(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="no persona files"):
        list(read_personas(tmp_path))
    with pytest.raises(InvalidDataError, match="no such folder"):
        list(read_personas(tmp_path / "missing"))
