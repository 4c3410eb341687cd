"""Rows of the reading model, from a few requests of a light world, and from small public sets."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import WordEmbedder
from tests.lab.train.tiny_tools import api, ask, write

from contextune import Item, Request, Tool, User
from contextune.evaluate.outcomes import Judge
from contextune.plan.planning_input import PlanningInput
from contextune.reading.model import OMITTED, SPAN
from contextune.reading.texts import NO_TOOL
from contextune.tools import bundled_toolbox
from contextune.types import ItemHit
from contextune_lab.public_data.toolset import read_toolset
from contextune_lab.train.reading.build_rows import RowBuilder
from contextune_lab.train.reading.catalogues import read_catalogues
from contextune_lab.train.reading.public_rows import PublicRows, bfcl_calls
from contextune_lab.train.reading.rows import CallTrainingRow, TrainingRows
from contextune_lab.train.reading.rows_calls import CallLabels, find_span
from contextune_lab.train.reading.sources import open_light
from contextune_lab.worlds.light import LightWorld, read_light_worlds
from contextune_lab.worlds.world import WorldCall


@pytest.fixture(scope="module")
def light() -> list[LightWorld]:
    return read_light_worlds()


def test_light_worlds_and_catalogues_are_complete(light: list[LightWorld]) -> None:
    catalogues = read_catalogues()
    assert [world.name for world in light] == [f"x{number:02}" for number in range(1, 22)]
    assert len(catalogues) == 32
    assert all(len(world.requests) > 160 and len(world.items) > 250 for world in light)
    for world in light:
        tools = {tool.id for tool in world.tools}
        assert {call.tool for request in world.requests for call in request.first_calls} <= tools
    bundled = {tool.id for tool in bundled_toolbox()}
    for catalogue in catalogues.values():
        assert catalogue.mapping.keys() <= bundled
        assert {entry["tool"] for entry in catalogue.mapping.values()} <= {t.id for t in catalogue.tools}


def test_calls_are_translated_into_a_catalogue() -> None:
    catalogue = read_catalogues()["c01"]
    call = WorldCall("Music/play_song", {"song_name": "Avalon", "artist": "Roxy"})
    translated = WorldCall("sonos/play_track", {"track": "Avalon", "artist": "Roxy"})
    assert catalogue.translate(call) == translated
    assert catalogue.translate(WorldCall("Nothing/at_all", {})) is None


@pytest.fixture(scope="module")
def rows(light: list[LightWorld]) -> TrainingRows:
    few = replace(light[0], requests=light[0].requests[:4], items=light[0].items)
    builder = RowBuilder(embedder=WordEmbedder())
    with open_light(few) as source:
        builder.add(source)
    return builder.rows


def test_rows_of_requests_have_right_and_wrong_texts(rows: TrainingRows) -> None:
    assert {row.id for row in rows.items} <= {"x01-001", "x01-002", "x01-003", "x01-004"}
    first = next(row for row in rows.items if row.id == "x01-001")
    assert len(first.texts) == len(first.grades)
    assert first.grades.count(2) == 2
    assert any("152 now they measured us" in first.texts[n] for n, grade in enumerate(first.grades) if grade)
    for row in rows.tools:
        assert row.texts[0] == NO_TOOL
        assert sum(row.grades) >= 1
        assert row.grades[0] == int(not any(row.grades[1:]))
        assert " || 1 " in row.request
    served = [row for row in rows.calls if row.fits]
    assert len(served) < len(rows.calls)
    assert any(each.gold for row in served for each in row.arguments)
    assert all(each.gold is None for row in rows.calls if not row.fits for each in row.arguments)


def test_rows_are_read_as_they_were_written(
    rows: TrainingRows, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    rows.save(folder)
    read = TrainingRows.load([folder])
    assert (read.items, read.tools, read.calls) == (rows.items, rows.tools, rows.calls)


SCHEMA = {
    "properties": {"subject": {"type": "string"}, "body": {"type": "string"}, "top": {"type": "integer"}},
    "required": ["subject"],
}


def labelled(*arguments: dict[str, object]) -> CallTrainingRow:
    mail = Item.mail(subject="Gutschrift Nordkai", date="2026-09-15T10:02", author="o@a.example", content="")
    request = Request("tell Ola the credit is booked", "me")
    inputs = PlanningInput(request, User("me"), [ItemHit(mail, 1.0)])
    labels = CallLabels(inputs, Judge.of_contacts({}, ()), frozenset(["body"]))
    tool = Tool("reply", "Answer a mail.", app="mail", parameters=SCHEMA)
    calls = [WorldCall(tool.id, each) for each in arguments]
    return labels.row("1", "w01", f"request: {request.text}", tool, calls)


def test_right_values_are_candidates_spans_or_not_given() -> None:
    row = labelled({"subject": "Gutschrift Nordkai", "body": "The credit is booked."})
    by_name = {each.text.split(":")[0]: each for each in row.arguments}
    assert by_name["subject"].gold
    column = by_name["subject"].gold[0]
    assert "Gutschrift Nordkai" in row.values[column - 2]
    assert by_name["body"].gold == [SPAN]
    assert by_name["body"].span is not None
    assert row.request[slice(*by_name["body"].span)] == "the credit is booked"
    assert by_name["top"].gold == [OMITTED]
    assert not labelled().fits


def test_unknown_values_teach_nothing() -> None:
    row = labelled({"subject": "Something else entirely"})
    assert next(each for each in row.arguments if each.text.startswith("subject")).gold is None


def test_spans_are_exact_unless_the_wording_is_free() -> None:
    text = "note: ring the plumber, about the boiler"
    exact = find_span(text, "the plumber", is_free=False)
    assert exact is not None
    assert text[slice(*exact.place)] == "the plumber"
    assert find_span(text, "call the plumber about our boiler", is_free=False) is None
    loose = find_span(text, "call the plumber about our boiler", is_free=True)
    assert loose is not None
    assert "plumber, about the boiler" in text[slice(*loose.place)]


def test_public_sets_make_rows(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("public")
    tools = [api(f"server{n}", "read") for n in range(30)]
    tools[0]["parameters"] = [{"name": "count", "type": "integer", "description": "", "required": True}]
    queries = [ask(f"read {n} of server{n}", "train", f"server{n}.read") for n in range(30)]
    queries[0]["possible_answer"] = [{"read": {"count": [0]}}]
    write(folder / "bfcl", tools, [*queries, ask("never", "test", "server1.read")])
    public = PublicRows(embedder=WordEmbedder())
    public.add_toolset("tiny", read_toolset(folder / "bfcl"), 20, "train")
    public.add_bfcl(folder / "bfcl")
    (folder / "slurp").mkdir()
    lines = [
        {"id": 1, "sentence": "is it raining", "intent": "weather_query"},
        {"id": 2, "sentence": "lights off", "intent": "iot_hue_lightoff"},
    ]
    (folder / "slurp" / "utterances.jsonl").write_text("\n".join(map(json.dumps, lines)))
    public.add_slurp(folder / "slurp")
    tiny = [row for row in public.rows.tools if row.source == "tiny"]
    assert len(tiny) == 20
    assert any(row.grades[0] for row in tiny)
    assert any("does server" in row.texts[row.grades.index(1)] for row in tiny)
    assert not any("never" in row.request for row in tiny)
    served = [bool(row.grades[0]) for row in public.rows.tools if row.source == "slurp"]
    assert served.count(True) == 1
    [call] = public.rows.calls
    assert call.arguments[0].gold
    assert call.values[call.arguments[0].gold[0] - 2].startswith("0")


def test_optional_arguments_of_bfcl_may_be_left_out() -> None:
    calls = bfcl_calls(Tool("area", ""), {"base": [10], "unit": ["units", ""], "at": [{"x": [1, 2]}]})
    assert [dict(call.args) for call in calls] == [
        {"base": 10, "unit": "units", "at": {"x": 1}},
        {"base": 10, "at": {"x": 1}},
    ]


def test_rows_are_drawn_by_a_seed(light: list[LightWorld]) -> None:
    few = replace(light[8], requests=light[8].requests[:2], items=light[8].items[:60])

    def built() -> TrainingRows:
        builder = RowBuilder(embedder=WordEmbedder())
        with open_light(few) as source:
            builder.add(source)
        return builder.rows

    assert built() == built()


def test_folder_of_rows_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"item\.jsonl\.gz"):
        TrainingRows.load([tmp_path])
