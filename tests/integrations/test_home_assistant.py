"""The Home Assistant example: entities as items, services as tools, areas as places, history as habits."""

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextune import SQLiteStore, Tuner
from contextune.types import Request

EXAMPLE = Path(__file__).parents[2] / "examples" / "home_assistant"


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE / "home.py"))


def test_labels_are_services_of_the_instance(example: dict[str, Any]) -> None:
    home = example["read_home"]()
    services = {tool.id for tool in home.tools}
    labels = example["read_labels"]()
    assert len(home.items) >= 260
    assert len(services) >= 100
    assert len(labels) == 60
    assert {service for _, service in labels} <= services


@pytest.fixture(scope="module")
def tuner(example: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tuner]:
    home = example["read_home"]()
    with SQLiteStore(tmp_path_factory.mktemp("home") / "home.db") as store:
        home.fill(store)
        yield Tuner(store, tools=home.tools)


def test_areas_are_places(tuner: Tuner) -> None:
    assert tuner.store.user("home").places["Kitchen"]


@pytest.mark.parametrize(("hour", "entity"), [(7, "switch.coffee_machine"), (20, "media_player.television")])
def test_history_gives_what_is_usual_at_an_hour(
    example: dict[str, Any], tuner: Tuner, hour: int, entity: str
) -> None:
    now = example["read_home"]().now.replace(hour=hour)
    assert tuner.context(Request(example["USUAL"], "home", now), 1)[0].item.id == entity


def test_shortlist_is_a_small_part_of_the_prompt(example: dict[str, Any], tuner: Tuner) -> None:
    home = example["read_home"]()
    figures = example["measure"](tuner, home, example["read_labels"]()[::4])
    assert figures["requests"] == 15
    assert figures["first"] >= 0.4
    assert figures["among"] >= 0.8
    assert figures["items"] < example["item_tokens"](home.items) / 20
    assert figures["tools"] < example["tool_tokens"](home.tools) / 15
