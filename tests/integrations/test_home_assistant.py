"""The Home Assistant example: entities as items, services as tools, areas as places, history as habits."""

import runpy
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
    assert len(home.items) >= 270
    assert len(services) >= 100
    assert len(labels) == 60
    assert {service for _, service in labels} <= services


def test_shortlist_is_a_small_part_of_the_prompt(example: dict[str, Any], tmp_path: Path) -> None:
    home = example["read_home"]()
    with SQLiteStore(tmp_path / "home.db") as store:
        home.fill(store)
        tuner = Tuner(store, tools=home.tools)
        assert store.user("home").places["Kitchen"]
        morning = Request("coffee", "home", home.now.replace(hour=7))
        assert tuner.context(morning, 1)[0].item.id == "switch.coffee_machine"
        globals_of = example["measure"].__globals__
        labels = example["read_labels"]()[::6]
        globals_of["read_labels"] = lambda: labels
        figures = example["measure"](tuner, home)
    assert figures["requests"] == 10
    assert figures["among"] >= 0.7
    assert figures["items"] < example["item_tokens"](home.items) / 10
    assert figures["tools"] < example["tool_tokens"](home.tools) / 10
