"""Worlds are imported as their person would import them, once."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import ModuleType

import pytest
from tests.lab.worlds.scripted_planner import SCRIPTS, ScriptedPlanner

from contextune import tuner
from contextune.context import methods
from contextune.errors import InvalidDataError
from contextune.plan import reading_planner
from contextune_lab.worlds.ask import AskOptions, ask_world, shown_items, world_request
from contextune_lab.worlds.load import LoadedWorld, imported_store
from contextune_lab.worlds.seen import read_trained_on, seen_data, seen_worlds, write_trained_on
from contextune_lab.worlds.splits import CHOOSE_ON, is_reported, leave_one_out
from contextune_lab.worlds.world import USER, World, find_worlds, read_world


def test_items_are_found_as_the_requests_name_them(loaded_bakery: LoadedWorld) -> None:
    world, user = loaded_bakery.world, loaded_bakery.user
    items = [shown for item in loaded_bakery.store.items(USER) for shown in shown_items(item, user)]
    for request in world.requests:
        for needed in request.needs | request.helps:
            assert items.count(needed) == 1


def test_person_has_zone_addresses_places_and_contacts(loaded_bakery: LoadedWorld) -> None:
    user = loaded_bakery.user
    assert str(user.zone) == "Europe/Lisbon"
    assert user.addresses == {"marta@barro.example"}
    assert user.places == {"home": "Rua da Torre 4, Porto", "bakery": "Largo do Forno 2, Porto"}
    assert {contact.name for contact in user.contacts} == {"Rui Duarte", "Ana Lopes", "Ana Pires"}


def test_times_of_change_are_restored(loaded_bakery: LoadedWorld) -> None:
    notes = {item.title: item.time for item in loaded_bakery.store.items(USER) if item.app == "Notes"}
    user = loaded_bakery.user
    assert notes["Sourdough"] is not None
    assert notes["Sourdough"].astimezone(user.zone).isoformat()[:16] == "2026-03-01T07:30"


def test_place_of_a_request_is_passed_where_the_person_has_it(loaded_bakery: LoadedWorld) -> None:
    request = loaded_bakery.world.requests[0]
    assert world_request(request, loaded_bakery.user).place == "bakery"
    assert world_request(request, replace(loaded_bakery.user, places={})).place is None


def test_store_is_imported_once_and_again_when_a_file_changes(bakery: World, tmp_path: Path) -> None:
    first = imported_store(bakery, cache=tmp_path / "cache")
    written = first.stat().st_mtime_ns
    assert imported_store(bakery, cache=tmp_path / "cache") == first
    assert first.stat().st_mtime_ns == written
    assert imported_store(bakery, cache=tmp_path / "cache", places=False) != first
    shutil.copytree(bakery.folder, tmp_path / "bakery")
    same = read_world(tmp_path / "bakery")
    assert imported_store(same, cache=tmp_path / "cache") == first
    note = tmp_path / "bakery" / "files" / "notes" / "Oven.md"
    note.write_text("# Oven\n\nNew code 9912.\n", encoding="utf-8")
    assert imported_store(same, cache=tmp_path / "cache") != first


def test_moment_of_the_import_is_in_the_zone_of_the_person(bakery: World) -> None:
    assert bakery.moment(None) == bakery.now
    lisbon = bakery.moment(datetime(2026, 7, 1, 12))
    assert (lisbon.tzinfo, lisbon.utcoffset()) == (bakery.zone, timedelta(hours=1))
    tokyo = datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=9)))
    assert bakery.moment(tokyo) is tokyo


def test_each_request_is_read_once(loaded_bakery: LoadedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[str] = Counter()

    def count(module: ModuleType, name: str) -> None:
        function = getattr(module, name)

        def counted(*arguments: object, **options: object) -> object:
            read[name] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, counted)

    for module, name in (
        (methods, "read_items"),
        (tuner, "read_request_tools"),
        (reading_planner, "fill_calls"),
    ):
        count(module, name)
    monkeypatch.setattr(methods, "READ_FROM", 1)  # as in a world of ordinary size
    ask_world(loaded_bakery, AskOptions(only={"bakery-001", "bakery-003"}))
    assert read == {"read_items": 2, "read_request_tools": 2, "fill_calls": 2}


def test_only_chosen_requests_are_asked(loaded_bakery: LoadedWorld) -> None:
    planner = ScriptedPlanner(SCRIPTS["right"])
    results = ask_world(loaded_bakery, AskOptions({"planner": planner}, only={"bakery-003", "bakery-009"}))
    assert [result.request.id for result in results] == ["bakery-003", "bakery-009"]
    assert [result.sequence_right is None for result in results] == [True, False]


def test_unknown_world_and_broken_line_are_named(bakery: World, tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"no world 'nowhere' \(worlds: bakery\)"):
        find_worlds(bakery.folder.parent, ["nowhere"])
    with pytest.raises(InvalidDataError, match="no worlds"):
        find_worlds(tmp_path)
    shutil.copytree(bakery.folder, tmp_path / "broken")
    lines = (bakery.folder / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    lines[1] = json.dumps({"id": "x"})
    (tmp_path / "broken" / "requests.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InvalidDataError, match=r"requests\.jsonl.*line 2: KeyError 'expected'"):
        read_world(tmp_path / "broken")


def test_worlds_to_choose_on_are_not_reported() -> None:
    assert [name for name in ("w01", "w03", "w08", "w12") if is_reported(name)] == ["w03", "w12"]
    assert dict(leave_one_out(CHOOSE_ON))["w05"] == ("w01", "w02", "w06", "w08")


def test_manifests_name_the_worlds_that_models_have_seen(tmp_path: Path) -> None:
    for model, worlds in (("ranker", ["w02", "w01"]), ("reader", ["w01"]), ("calls", [])):
        (tmp_path / model).mkdir()
        write_trained_on(tmp_path / model, worlds, ["personas"])
    assert seen_worlds(tmp_path) == {"w01": ("ranker", "reader"), "w02": ("ranker",)}
    write_trained_on(tmp_path / "reader", ["w01"], ["SLURP, development part"])
    assert (seen_data("slurp", tmp_path), seen_data("smcalflow", tmp_path)) == (("reader",), ())
    (tmp_path / "calls" / "trained_on.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InvalidDataError, match="not a manifest"):
        read_trained_on(tmp_path / "calls" / "trained_on.json")
