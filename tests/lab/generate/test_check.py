"""Persona checker: the bundled personas pass, planted faults are found and located."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextune._internal.assets import asset
from contextune.datasets import bundled_persona_files
from contextune.errors import InvalidDataError
from contextune_lab.generate import check_files
from contextune_lab.generate.faults import JsonLines
from contextune_lab.generate.files import bundled_tools

Data = dict[str, Any]


def a01() -> Data:
    return json.loads(asset("personas/a01.json").read_text(encoding="utf-8"))


def faults(folder: Path, data: Data, name: str = "a01") -> list[str]:
    file = folder / f"{name}.json"
    file.write_text(json.dumps(data, indent=1), encoding="utf-8")
    return [str(faults_found.fault) for faults_found in check_files([file]).faults]


def test_bundled_personas_have_no_faults() -> None:
    lines_seen: list[tuple[int, int]] = []
    faults_found = check_files(
        bundled_persona_files(), progress=lambda done, line_of: lines_seen.append((done, line_of))
    )
    assert [str(fault) for fault in faults_found.faults] == []
    assert faults_found.files == len(faults_found.personas) == 109
    assert lines_seen[-1] == (109, 109)


def item(data: Data, name: str) -> Data:
    return next(persona_ for persona_ in data["items"] if persona_["id"] == name)


def change(path: str, value: Any) -> Callable[[Data], None]:
    """Set the value at a path such as `items.3.due`; None removes it."""

    def do(data: Data) -> None:
        *before, last = path.split("/")
        at: Any = data
        for step in before:
            at = at[int(step) if isinstance(at, list) else step]
        if value is None:
            del at[last]
        else:
            at[int(last) if isinstance(at, list) else last] = value

    return do


def same_item(data: Data) -> None:
    data["items"].append({**data["items"][0], "id": "c99"})


def same_query(data: Data) -> None:
    data["queries"].append({**data["queries"][0], "id": "q99"})


@pytest.mark.parametrize(
    ("plant", "fault"),
    [
        # a person
        (change("profile/name", " "), "profile.name: missing"),
        (change("profile/age", "46"), "profile.age: '46' not an age"),
        (change("profile/favorite_sport", None), "profile.favorite_sport: missing"),
        (change("profile/hobbies", []), "profile.hobbies: must be a list of at least one"),
        (
            change("contacts/Suso Pombo/email", "suso@pombo.es"),
            "contacts.Suso Pombo.email: 'suso@pombo.es' does not end in example.com",
        ),
        (change("contacts/Suso Pombo/phone", "0034 981"), "contacts.Suso Pombo.phone: '0034 981' does not"),
        (change("contacts/Suso Pombo/phone", "555-0311"), "contacts: 2 people have the phone '555-0311'"),
        (change("contacts/Suso Pombo/relation", None), "contacts.Suso Pombo.relation: missing"),
        # items
        (change("items/0/app", "Photos"), "items[0].app: 'Photos' not one of Mail, Calendar"),
        (change("items/0/event_name", " "), "items[0].event_name: empty"),
        (change("items/0/organizer", "me@corme.es"), "items[0].organizer: 'me@corme.es' does not end in"),
        (change("items/2/participants/1", "x@y.org"), "items[2].participants[1]: 'x@y.org' does not end in"),
        (change("items/0/end_time", "2023-10-10T11:20"), "items[0].end_time: not after the start"),
        (
            change("items/0/start_time", "2023-10-10T11:20Z"),
            "items[0].start_time: '2023-10-10T11:20Z' not in the form",
        ),
        (
            change("items/0/start_time", "2023-06-10T11:20"),
            "items[0].start_time: is more than 31 days before",
        ),
        (change("items/4/end_time", "2023-12-28T22:30"), "items[4].end_time: is more than 31 days after"),
        (change("items/8/date", "2023-10-19T21:40"), "items[8].date: is after the last query"),
        (change("items/27/due", "2023-10-09T09:00"), "items[27].due: before the reminder was made"),
        (change("items/17/content", "Yes. " * 9), "items[17].content: is too long"),
        (change("items/17/recipients", []), "items[17].recipients: empty"),
        (change("items/31/number", "555-0000"), "items[31].number: '555-0000' not 'Antía Pose"),
        (change("items/31/number", "981-0000"), "items[31].number: '981-0000' does not start with 555-"),
        (change("items/31/duration_s", 9), "items[31].duration_s: a missed call lasts 0"),
        (
            change("items/0/use", [["morning", "home", 2], ["morning", "home", 1]]),
            "items[0].use: morning, home occurs 2 times",
        ),
        (change("items/0/use", [["morning", "home", 99]]), "items[0].use[0]: 99 uses in 15 days"),
        (same_item, "items[0]: duplicate of another item"),
        # what the reader itself refuses
        (change("items/0/use", [["noonish", "home", 2]]), "items[0].use[0][0]: Input should be 'morning'"),
        (change("items/0/place", "moon"), "items[0].place: 'moon' is not one of the persona's places"),
        (change("queries/0/relevant", {"x9": 2}), "queries[0].relevant: no such item: 'x9'"),
        (change("places/home", [100, 0]), "places.home: not a coordinate: (100.0, 0.0)"),
        (change("queries/0/time", "2023-10-17"), "queries[0].time: not a date with a time: '2023-10-17'"),
        # queries
        (change("queries/0/kind", "odd"), "queries[0].kind: 'odd' not one of semantic"),
        (change("queries/0/cot", None), "queries[0]: 'cot' missing"),
        (change("queries/0/time", "2023-10-17T16:45+02:00"), "queries[0].time: has a time zone"),
        (change("queries/0/time", "2023-10-17T16:40"), "queries[0].relevant.p3: made after the query"),
        (change("queries/0/relevant", {"p3": 1}), "queries[0].relevant: needs at least one item of grade 2"),
        (change("queries/0/relevant", {"p3": 3}), "queries[0].relevant.p3: grade must be 2 (needed) or 1"),
        (
            change("queries/6/relevant", {"m1": 2}),
            "queries[6].relevant: a cross query needs at least two items",
        ),
        (change("queries/5/relevant", {"c5": 2}), "queries[5].relevant: a habit query needs an item with"),
        (change("queries/1/relevant", {"n2": 2}), "queries[1].relevant: a place query needs an item that is"),
        (
            change("queries/2/query", "Ring Iria Souto for me."),
            "queries[2].query: a person query must not name",
        ),
        (
            change("queries/4/query", "Is it windy at the marea of the Ferreiras?"),
            "queries[4].query: gives item 'c8' away by 'ferreiras'",
        ),
        (same_query, "queries[0].query: duplicate query"),
        (change("queries/0/cot", "So. Then. There."), "queries[0].cot: is longer than two sentences"),
        (
            change("queries/0/cot", "I think about it."),
            "queries[0].cot: names none of the applications",
        ),
        (change("queries/0/cot", " "), "queries[0].cot: empty"),
        # calls
        (change("queries/0/api", "fly"), "queries[0].api: 'fly' is not in the toolbox"),
        (change("queries/0/tools/0", "call_contact"), "queries[0].tools[0]: 'call_contact' is not the right"),
        (change("queries/0/tools/2", "fly"), "queries[0].tools[2]: 'fly' is not in the toolbox"),
        (
            change("queries/0/tools", ["return_missed_call"]),
            "queries[0].tools: must hold the right API and two",
        ),
        (change("queries/0/args", {}), "queries[0].args: return_missed_call needs 'contact'"),
        (change("queries/0/args/speed", 9), "queries[0].args.speed: not an argument of return_missed_call"),
        (change("queries/0/args/contact", 9), "queries[0].args.contact: 9 not of type text"),
        (change("queries/0/args/contact", "*"), "queries[0].args.contact: not free text"),
        (change("queries/0/args/contact", "Xallas SA"), "queries[0].args.contact: 'Xallas SA' not found in"),
        (change("queries/3/args/body", "Yes, the L."), "queries[3].args.body: free text: write '*'"),
        (
            change("queries/4/args/date", "2031-10-18"),
            "queries[4].args.date: '2031-10-18' is more than a year",
        ),
        (
            change("queries/4/args/date", "tomorrow"),
            "queries[4].args.date: 'tomorrow' not of type day",
        ),
    ],
)
def test_planted_fault_is_found(tmp_path: Path, plant: Callable[[Data], None], fault: str) -> None:
    data = a01()
    plant(data)
    faults_found = faults(tmp_path, data)
    assert any(persona_.startswith(fault) for persona_ in faults_found), faults_found


def test_fault_has_the_line_of_its_path(tmp_path: Path) -> None:
    text = asset("personas/a01.json").read_text(encoding="utf-8")
    planted = text.replace(
        '"api": "reply_to_email", "args": {"email_subject"', '"api": "reply_to_email", "args": {"subject"'
    )
    file = tmp_path / "a01.json"
    file.write_text(planted, encoding="utf-8")
    line = next(n for n, row in enumerate(planted.splitlines(), 1) if '"args": {"subject"' in row)
    faults_found = check_files([file]).faults
    assert {str(persona_) for persona_ in faults_found} == {
        f"{file}:{line}: queries[3].args: reply_to_email needs 'email_subject'",
        f"{file}:{line}: queries[3].args.subject: not an argument of reply_to_email",
    }


def test_line_of_every_path() -> None:
    lines = JsonLines('{\n"a b": [\n {"c.d": "]\\"}",\n  "e": [1,\n 2]}\n],\n"caf\\u00e9": 3\n}')
    assert [lines.line_of(path) for path in ("", "a b", "a b[0]", "a b[0].c.d", "a b[0].e[1]", "café")] == [
        1,
        2,
        3,
        3,
        5,
        7,
    ]
    assert [lines.line_of(path) for path in ("a b[0].e[9].x", "a b[7]", "gone")] == [4, 2, 1]


@pytest.mark.parametrize("text", ["", "{", "]]}", '{"a', "[1, 2", '{"a": \x00'])
def test_line_lookup_survives_malformed_json(text: str) -> None:
    assert JsonLines(text).line_of("a[0].b") == 1


def test_unreadable_file_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"id": "broken",')
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "list.json").write_text("[]")
    faults_found = check_files([tmp_path, tmp_path / "gone.json"])
    messages = {persona_.file.name: str(persona_.fault) for persona_ in faults_found.faults}
    assert messages["broken.json"].startswith("not valid JSON in UTF-8: Expecting property name")
    assert messages["bytes.json"].startswith("not valid JSON in UTF-8")
    assert messages["list.json"].startswith("Input should be an object")
    assert messages["gone.json"] == "cannot read the file: No such file or directory"
    assert faults_found.files == 4
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidDataError, match="no persona files"):
        check_files([tmp_path / "empty"])


def test_reader_faults_are_split(tmp_path: Path) -> None:
    data = a01()
    for number in range(7):
        data["items"][number]["place"] = "moon; items[3]"
    faults_found = faults(tmp_path, data)
    assert faults_found[:2] == [
        "items[0].place: 'moon; items[3]' is not one of the persona's places",
        "items[1].place: 'moon; items[3]' is not one of the persona's places",
    ]
    assert faults_found[5:] == ["and 2 more"]


def test_duplicates_across_files_are_faults(tmp_path: Path) -> None:
    assert faults(tmp_path, a01(), "b99") == [
        "id: 'a01' does not match the file name: rename the file to a01.json"
    ]
    faults(tmp_path, a01())
    other = {**a01(), "id": "a02"}
    faults(tmp_path, other, "a02")
    messages = [str(persona_.fault) for persona_ in check_files([tmp_path]).faults]
    assert "queries[0].query: duplicate of a01/q1: remove one" in messages
    assert f"id: duplicate persona id 'a01', also in {tmp_path / 'a01.json'}" in messages


def test_check_against_another_toolbox() -> None:
    file = asset("personas/a01.json")
    tools = [tool for tool in bundled_tools() if tool.app != "Notes"]
    messages = [str(persona_.fault) for persona_ in check_files([file], tools).faults]
    assert "queries[1].api: 'read_note' is not in the toolbox" in messages
