"""Training the light planner, on few requests and quick settings."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.lab.train.tiny_tools import QUICK

from contextune._internal.assets import asset
from contextune.datasets import Pair, PairItem, Persona, bundled_pairs, read_persona
from contextune.lab.train.rankers import arguments as recipe
from contextune.lab.train.rankers.argument_examples import (
    ALONE,
    FOUND,
    ORACLE,
    ArgumentExample,
    PlannedRequest,
    asked,
    to_fill,
)
from contextune.lab.train.rankers.argument_pairs import EVERY_FOLD, pair_examples, parsed
from contextune.lab.train.rankers.argument_times import time_examples
from contextune.lab.train.rankers.arguments import ArgumentTrainingData, by_fold, train
from contextune.plan import ArgumentScorer, PointerPlanner
from contextune.plan.pointer.priors import ArgumentStatistics
from contextune.tools import bundled_toolbox
from contextune.types import ItemHit, Tool

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in bundled_toolbox()}
FOLDS = {"a01": 0, "b05": 1, "c03": 2}


@pytest.fixture(scope="module")
def personas() -> list[Persona]:
    return [read_persona(asset(f"personas/{name}.json")) for name in FOLDS]


@pytest.fixture(scope="module")
def requests(personas: list[Persona]) -> list[PlannedRequest]:
    found: list[PlannedRequest] = []
    for persona in personas:
        for query in persona.queries:
            right = query.gold.relevant or {}
            order = sorted(persona.items, key=lambda item, right=right: -right.get(item.id, 0))
            hits = [ItemHit(item, -float(n)) for n, item in enumerate(order)]
            found.append(asked(persona, query, hits, FOLDS[persona.id], measured=True))
    return found


@pytest.fixture(scope="module")
def lessons(personas: list[Persona], requests: list[PlannedRequest]) -> ArgumentTrainingData:
    made = list(time_examples(personas, FOLDS, TOOLS))
    return ArgumentTrainingData.of(requests, made, bundled_pairs()[::60], TOOLS)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "SETTINGS", QUICK)


def test_a_request_is_seen_with_the_context_found_the_right_one_and_none(
    requests: list[PlannedRequest],
) -> None:
    one = requests[0]
    assert len(one.seeing(FOUND).hits) > len(one.right)
    assert {hit.item.id for hit in one.seeing(ORACLE).hits} == set(one.right)
    assert not one.seeing(ALONE).hits


def test_the_right_value_is_the_one_graded(requests: list[PlannedRequest]) -> None:
    for one in requests:
        for example in to_fill(one, TOOLS, ORACLE):
            right = [c.value for c, grade in zip(example.found, example.grades, strict=True) if grade]
            wanted = one.expected.args.get(example.parameter.name)
            if wanted is None:
                assert right == [None]
            elif example.parameter.kind == "moment":
                assert right in ([], [None]) or set(right) == set(wanted)


def test_what_is_known_is_counted_on_other_folds(lessons: ArgumentTrainingData) -> None:
    def count(known: ArgumentStatistics) -> dict[str, int]:
        return known.priors.to_json()["totals"]

    counted = [one for one, counts in zip(lessons.examples, lessons.counted, strict=True) if counts]
    for fold in FOLDS.values():
        own = {f"{one.tool.name}.{one.parameter.name}" for one in counted if one.fold == fold}
        assert all(count(lessons.known())[name] > count(lessons.known(fold)).get(name, 0) for name in own)
    assert count(lessons.known(0, 1, 2)) == {}


def test_pairs_are_read_back_into_fields() -> None:
    mail = PairItem(app="Mail", text="Mail — from: a@example.com — subject: Kiln — today — slots on Monday")
    assert parsed(mail, "i").fields == {
        "author": "a@example.com",
        "subject": "Kiln",
        "content": "slots on Monday",
    }
    note = PairItem(app="Notes", text="Notes — Lemma 4.2 — last opened 25 min ago — stuck")
    assert parsed(note, "i").fields == {"title": "Lemma 4.2", "content": "stuck"}


def test_pairs_belong_to_no_fold() -> None:
    pairs: list[Pair] = bundled_pairs()[::100]
    found: list[ArgumentExample] = list(pair_examples(pairs, TOOLS))
    assert found
    assert {one.fold for one in found} == {EVERY_FOLD}
    assert all(one.grades.any() for one in found)


def test_made_requests_have_their_time_among_the_candidates(personas: list[Persona]) -> None:
    found = list(time_examples(personas, FOLDS, TOOLS))
    assert len(found) >= 10
    assert all(one.grades.any() for one in found)
    again = list(time_examples(personas, FOLDS, TOOLS))
    assert [one.situation.request for one in found] == [one.situation.request for one in again]


def test_each_fold_is_judged_by_what_has_not_seen_it(lessons: ArgumentTrainingData) -> None:
    learnt = by_fold(lessons)
    assert set(learnt) == {0, 1, 2}
    totals = [sum(one.known.priors.to_json()["totals"].values()) for one in learnt.values()]
    assert all(total < sum(lessons.known().priors.to_json()["totals"].values()) for total in totals)


def test_the_same_lessons_give_the_same_planner(
    lessons: ArgumentTrainingData, requests: list[PlannedRequest], tmp_path: Path
) -> None:
    for name in ("one", "two"):
        train(lessons, {"by": "test"}).save(tmp_path / name)
    for file in ("arguments.json.gz", "known.json.gz", "card.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    planner = PointerPlanner(ArgumentScorer.load(tmp_path / "one"))
    for one in requests:
        assert planner.call(one.seeing(ORACLE), TOOLS[one.expected.api]) is not None
