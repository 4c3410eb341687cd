"""The checker: nothing is wrong with the bundled personas, and every planted fault is found where it is."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextune._internal.assets import asset
from contextune.errors import InvalidDataError
from contextune.lab.generate import check_files
from contextune.lab.generate.faults import JsonLines
from contextune.tools import bundled_toolbox

Data = dict[str, Any]


def a01() -> Data:
    return json.loads(asset("personas/a01.json").read_text(encoding="utf-8"))


def faults(folder: Path, data: Data, name: str = "a01") -> list[str]:
    file = folder / f"{name}.json"
    file.write_text(json.dumps(data, indent=1), encoding="utf-8")
    return [str(found.fault) for found in check_files([file]).faults]


def test_nothing_is_wrong_with_the_bundled_personas() -> None:
    seen: list[tuple[int, int]] = []
    found = check_files([asset("personas")], progress=lambda done, of: seen.append((done, of)))
    assert [str(fault) for fault in found.faults] == []
    assert found.files == len(found.personas) == 109
    assert seen[-1] == (109, 109)


def item(data: Data, name: str) -> Data:
    return next(one for one in data["items"] if one["id"] == name)


def change(path: str, value: Any) -> Callable[[Data], None]:
    """Set what a path such as `items.3.due` leads to; None takes it away."""

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
        (change("profile/name", " "), "profile.name: is missing"),
        (change("profile/age", "46"), "profile.age: '46' is no age"),
        (change("profile/favorite_sport", None), "profile.favorite_sport: is missing"),
        (change("profile/hobbies", []), "profile.hobbies: is to be a list of at least one"),
        (
            change("contacts/Suso Pombo/email", "suso@pombo.es"),
            "contacts.Suso Pombo.email: 'suso@pombo.es' does not end in example.com",
        ),
        (change("contacts/Suso Pombo/phone", "0034 981"), "contacts.Suso Pombo.phone: '0034 981' does not"),
        (change("contacts/Suso Pombo/phone", "555-0311"), "contacts: 2 people have the phone '555-0311'"),
        (change("contacts/Suso Pombo/relation", None), "contacts.Suso Pombo.relation: is missing"),
        # items
        (change("items/0/app", "Photos"), "items[0].app: 'Photos' is none of Mail, Calendar"),
        (change("items/0/event_name", " "), "items[0].event_name: is empty"),
        (change("items/0/organizer", "me@corme.es"), "items[0].organizer: 'me@corme.es' does not end in"),
        (change("items/2/participants/1", "x@y.org"), "items[2].participants[1]: 'x@y.org' does not end in"),
        (change("items/0/end_time", "2023-10-10T11:20"), "items[0].end_time: is not after the start"),
        (
            change("items/0/start_time", "2023-10-10T11:20Z"),
            "items[0].start_time: '2023-10-10T11:20Z' is not",
        ),
        (
            change("items/0/start_time", "2023-06-10T11:20"),
            "items[0].start_time: is more than 31 days before",
        ),
        (change("items/4/end_time", "2023-12-28T22:30"), "items[4].end_time: is more than 31 days after"),
        (change("items/8/date", "2023-10-19T21:40"), "items[8].date: is after the last query"),
        (change("items/27/due", "2023-10-09T09:00"), "items[27].due: is before the reminder was made"),
        (change("items/17/content", "Yes. " * 9), "items[17].content: is too long"),
        (change("items/17/recipients", []), "items[17].recipients: is empty"),
        (change("items/31/number", "555-0000"), "items[31].number: '555-0000' is not that of 'Antía Pose"),
        (change("items/31/number", "981-0000"), "items[31].number: '981-0000' does not begin with 555-"),
        (change("items/31/duration_s", 9), "items[31].duration_s: a missed call lasts 0"),
        (
            change("items/0/use", [["morning", "home", 2], ["morning", "home", 1]]),
            "items[0].use: morning, home stands 2 times",
        ),
        (change("items/0/use", [["morning", "home", 99]]), "items[0].use[0]: 99 times in 15 days"),
        (same_item, "items[0]: says the same as another"),
        # what the reader itself refuses
        (change("items/0/use", [["noonish", "home", 2]]), "items[0].use[0][0]: Input should be 'morning'"),
        (change("items/0/place", "moon"), "items[0].place: 'moon' is none of the persona's places"),
        (change("queries/0/relevant", {"x9": 2}), "queries[0].relevant: there is no item 'x9'"),
        (change("places/home", [100, 0]), "places.home: (100.0, 0.0) is no coordinate"),
        (change("queries/0/time", "2023-10-17"), "queries[0].time: '2023-10-17' is not a date with a time"),
        # queries
        (change("queries/0/kind", "odd"), "queries[0].kind: 'odd' is none of semantic"),
        (change("queries/0/cot", None), "queries[0]: 'cot' is missing"),
        (change("queries/0/time", "2023-10-17T16:45+02:00"), "queries[0].time: has a zone"),
        (change("queries/0/time", "2023-10-17T16:40"), "queries[0].relevant.p3: was made after the query"),
        (change("queries/0/relevant", {"p3": 1}), "queries[0].relevant: needs at least one item of grade 2"),
        (change("queries/0/relevant", {"p3": 3}), "queries[0].relevant.p3: the grade is 2, needed, or 1"),
        (change("queries/6/relevant", {"m1": 2}), "queries[6].relevant: a cross query needs two items"),
        (change("queries/5/relevant", {"c5": 2}), "queries[5].relevant: a habit query needs an item that is"),
        (change("queries/1/relevant", {"n2": 2}), "queries[1].relevant: a place query needs an item that is"),
        (change("queries/2/query", "Ring Iria Souto for me."), "queries[2].query: a person query says what"),
        (
            change("queries/4/query", "Is it windy at the marea of the Ferreiras?"),
            "queries[4].query: gives item 'c8' away by 'ferreiras'",
        ),
        (same_query, "queries[0].query: stands more than once"),
        (change("queries/0/cot", "So. Then. There."), "queries[0].cot: is longer than two sentences"),
        (change("queries/0/cot", "I think about it."), "queries[0].cot: names none of the applications"),
        (change("queries/0/cot", " "), "queries[0].cot: is empty"),
        # calls
        (change("queries/0/api", "fly"), "queries[0].api: 'fly' is not in the toolbox"),
        (change("queries/0/tools/0", "call_contact"), "queries[0].tools[0]: 'call_contact' is not the right"),
        (change("queries/0/tools/2", "fly"), "queries[0].tools[2]: 'fly' is not in the toolbox"),
        (
            change("queries/0/tools", ["return_missed_call"]),
            "queries[0].tools: is to hold the right API and two",
        ),
        (change("queries/0/args", {}), "queries[0].args: return_missed_call needs 'contact'"),
        (change("queries/0/args/speed", 9), "queries[0].args.speed: is no argument of return_missed_call"),
        (change("queries/0/args/contact", 9), "queries[0].args.contact: 9 is not of its type, text"),
        (change("queries/0/args/contact", "*"), "queries[0].args.contact: is no free text"),
        (change("queries/0/args/contact", "Xallas SA"), "queries[0].args.contact: 'Xallas SA' stands in no"),
        (change("queries/3/args/body", "Yes, the L."), "queries[3].args.body: is free text: write '*'"),
        (
            change("queries/4/args/date", "2031-10-18"),
            "queries[4].args.date: '2031-10-18' is more than a year",
        ),
        (
            change("queries/4/args/date", "tomorrow"),
            "queries[4].args.date: 'tomorrow' is not of its type, day",
        ),
    ],
)
def test_a_planted_fault_is_found(tmp_path: Path, plant: Callable[[Data], None], fault: str) -> None:
    data = a01()
    plant(data)
    found = faults(tmp_path, data)
    assert any(one.startswith(fault) for one in found), found


def test_the_line_is_told(tmp_path: Path) -> None:
    text = asset("personas/a01.json").read_text(encoding="utf-8")
    planted = text.replace(
        '"api": "reply_to_email", "args": {"email_subject"', '"api": "reply_to_email", "args": {"subject"'
    )
    file = tmp_path / "a01.json"
    file.write_text(planted, encoding="utf-8")
    line = next(n for n, row in enumerate(planted.splitlines(), 1) if '"args": {"subject"' in row)
    found = check_files([file]).faults
    assert {str(one) for one in found} == {
        f"{file}:{line}: queries[3].args: reply_to_email needs 'email_subject'",
        f"{file}:{line}: queries[3].args.subject: is no argument of reply_to_email",
    }


def test_lines() -> None:
    lines = JsonLines('{\n"a b": [\n {"c.d": "]\\"}",\n  "e": [1,\n 2]}\n],\n"caf\\u00e9": 3\n}')
    assert [lines.of(path) for path in ("", "a b", "a b[0]", "a b[0].c.d", "a b[0].e[1]", "café")] == [
        1,
        2,
        3,
        3,
        5,
        7,
    ]
    assert [lines.of(path) for path in ("a b[0].e[9].x", "a b[7]", "gone")] == [4, 2, 1]


@pytest.mark.parametrize("text", ["", "{", "]]}", '{"a', "[1, 2", '{"a": \x00'])
def test_lines_of_what_is_broken(text: str) -> None:
    assert JsonLines(text).of("a[0].b") == 1


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"id": "broken",')
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "list.json").write_text("[]")
    found = check_files([tmp_path, tmp_path / "gone.json"])
    told = {one.file.name: str(one.fault) for one in found.faults}
    assert told["broken.json"].startswith("is not JSON in UTF-8: Expecting property name")
    assert told["bytes.json"].startswith("is not JSON in UTF-8")
    assert told["list.json"].startswith("Input should be an object")
    assert told["gone.json"] == "cannot be read: No such file or directory"
    assert found.files == 4
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidDataError, match="holds no persona files"):
        check_files([tmp_path / "empty"])


def test_many_faults_of_the_reader_are_told_one_by_one(tmp_path: Path) -> None:
    data = a01()
    for number in range(7):
        data["items"][number]["place"] = "moon; items[3]"
    found = faults(tmp_path, data)
    assert found[:2] == [
        "items[0].place: 'moon; items[3]' is none of the persona's places",
        "items[1].place: 'moon; items[3]' is none of the persona's places",
    ]
    assert found[5:] == ["and 2 more"]


def test_what_stands_in_two_files(tmp_path: Path) -> None:
    assert faults(tmp_path, a01(), "b99") == ["id: 'a01' is in a file of another name: call it a01.json"]
    faults(tmp_path, a01())
    other = {**a01(), "id": "a02"}
    faults(tmp_path, other, "a02")
    told = [str(one.fault) for one in check_files([tmp_path]).faults]
    assert "queries[0].query: is asked in a01/q1 in the same words: leave one out" in told
    assert f"id: 'a01' is also the id in {tmp_path / 'a01.json'}" in told


def test_another_toolbox() -> None:
    file = asset("personas/a01.json")
    tools = [tool for tool in bundled_toolbox() if tool.app != "Notes"]
    told = [str(one.fault) for one in check_files([file], tools).faults]
    assert "queries[1].api: 'read_note' is not in the toolbox" in told
