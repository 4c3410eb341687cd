"""Requests as data: what each should become, asked with the default tuner over the bundled toolbox.

A row of `requests.jsonl` has a text, a time, a store of `request_stores.json` and a kind:

- `call`: the tool and these arguments; `missing` are to be asked for, `absent` are to be left out;
- `tool`: one of these tools, whatever its arguments;
- `held`: the nearest call is wrong, so nothing is done unasked;
- `unserved`: no bundled tool does it, so it is refused or asked about;
- `unknown person`: nobody of that name or role is stored, so the user is asked;
- `foreign`: it is not in English, so nothing is done unasked, and the question says so.

Whatever the row expects, no call that cannot be called back is made unasked.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.samples import sample

from contextune import Tuner
from contextune.plan.schema import tool_parameters
from contextune.plan.values import contact_lookup, normalize_value
from contextune.store import SQLiteStore
from contextune.tools import bundled_toolbox
from contextune.tools.profiles.effects import is_irreversible
from contextune.types import Contact, Item, Plan, Request, Turn, User

HERE = Path(__file__).parent
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (HERE / "requests.jsonl").read_text(encoding="utf-8").splitlines()
]
STORES: dict[str, dict[str, Any]] = json.loads((HERE / "request_stores.json").read_text(encoding="utf-8"))
TOOLS = {tool.name: tool for tool in bundled_toolbox()}
FLOORS: Mapping[str, float] = {
    "tool": 0.64,
    "call": 0.24,
    "held": 0.82,
    "unserved": 0.64,
    "unknown person": 0.81,
    "foreign": 1.0,
}
"""Share of the requests of each kind that are planned as they should be, at least."""
STEPS: Mapping[str, int] = {
    "tool": 11,
    "call": 1,
    "held": 5,
    "unserved": 5,
    "unknown person": 1,
    "foreign": 2,
}
"""One of so many rows of each kind is in the sample."""


def stored_user(name: str) -> User:
    data = STORES[name]
    contacts = tuple(Contact(**contact) for contact in data["contacts"])
    places = {place: tuple(point) for place, point in data["places"].items()}
    return User(name, data["profile"], places, contacts)  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def tuner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tuner]:
    with SQLiteStore(tmp_path_factory.mktemp("requests") / "store.db") as store:
        for name, data in STORES.items():
            store.put_user(stored_user(name))
            store.put_items(name, [Item(item["id"], item["app"], item["fields"]) for item in data["items"]])
        yield Tuner(store, tools=list(TOOLS.values()))


def asked(row: Mapping[str, Any]) -> Request:
    history = tuple(Turn(speaker, text) for speaker, text in row.get("history", ()))
    time = datetime.fromisoformat(row["time"])
    return Request(row["text"], row["store"], time, row.get("place"), history=history)


def is_right(row: Mapping[str, Any], plan: Plan | None) -> bool:
    """Whether a plan is what the row expects."""
    decision = plan.decision if plan else "none"
    match row["kind"]:
        case "held":
            return decision != "act"
        case "foreign":
            text = plan.question.text if plan and plan.question else ""
            return decision != "act" and "planned for English" in text
        case "unserved":
            return decision in ("none", "ask")
        case "unknown person":
            return decision == "ask"
        case _:
            if plan is None or plan.name not in row["tools"] or decision == "none":
                return False
            return row["kind"] == "tool" or has_arguments(row, plan)


def has_arguments(row: Mapping[str, Any], plan: Plan) -> bool:
    people = contact_lookup(stored_user(row["store"]).contacts)
    declared = {parameter.name: parameter for parameter in tool_parameters(TOOLS[plan.name])}
    same = all(
        name in plan.args
        and normalize_value(plan.args[name], declared[name], people)
        == normalize_value(value, declared[name], people)
        for name, value in row["args"].items()
    )
    missing = {missing.argument for missing in plan.missing}
    return same and missing >= {*row.get("missing", ())} and not {*row.get("absent", ())} & plan.args.keys()


def test_requests_are_planned_as_they_should_be(tuner: Tuner, capsys: pytest.CaptureFixture[str]) -> None:
    right: Counter[str] = Counter()
    rows = [
        row
        for kind, step in STEPS.items()
        for row in sample([row for row in ROWS if row["kind"] == kind], step)
    ]
    for row in rows:
        plan = tuner.answer(asked(row)).plan
        assert plan is None or not plan.ready or not is_irreversible(TOOLS[plan.name])
        right[row["kind"]] += is_right(row, plan)
    counts = Counter(row["kind"] for row in rows)
    rates = {kind: right[kind] / count for kind, count in counts.items()}
    with capsys.disabled():
        for kind, rate in rates.items():
            print(f"\n{kind}: {right[kind]} of {counts[kind]} ({rate:.0%})", end="")  # noqa: T201
    low = {kind: rate for kind, rate in rates.items() if rate < FLOORS[kind]}
    assert not low


def test_each_row_names_a_store_and_tools_that_exist() -> None:
    assert len(ROWS) >= 300
    for row in ROWS:
        assert row["store"] in STORES
        assert TOOLS.keys() >= {*row.get("tools", ())}
        for name in (*row.get("args", ()), *row.get("missing", ()), *row.get("absent", ())):
            assert all(name in TOOLS[tool].parameters["properties"] for tool in row["tools"])
