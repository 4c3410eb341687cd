"""Training of the argument scorer, on few requests and with few rounds."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from tests.lab.train.tiny_tools import QUICK

from contextune.datasets import (
    Pair,
    PairItem,
    Persona,
    bundled_pairs,
    bundled_persona_file,
    read_persona,
    training_requests,
)
from contextune.plan import ArgumentScorer, PointerPlanner
from contextune.plan.pointer.scoring.feature_names import NAMES
from contextune.plan.pointer.scoring.priors import ArgumentStatistics
from contextune.tools import bundled_toolbox
from contextune.types import ItemHit, Tool
from contextune_lab.train.rankers.arguments import train as recipe
from contextune_lab.train.rankers.arguments.examples import (
    EXPLICIT,
    NO_CONTEXT,
    ORACLE,
    RETRIEVED,
    ArgumentExample,
    PlannedRequest,
    argument_examples,
    planned_request,
)
from contextune_lab.train.rankers.arguments.pairs import EVERY_FOLD, pair_examples, parse_item
from contextune_lab.train.rankers.arguments.requests import additional_requests
from contextune_lab.train.rankers.arguments.times import time_examples
from contextune_lab.train.rankers.arguments.train import ArgumentTrainingData, fit_by_fold, train

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in bundled_toolbox()}
FOLDS = {"a01": 0, "b05": 1, "c03": 2}


@pytest.fixture(scope="module")
def personas() -> list[Persona]:
    return [read_persona(bundled_persona_file(name)) for name in FOLDS]


@pytest.fixture(scope="module")
def requests(personas: list[Persona]) -> list[PlannedRequest]:
    examples: list[PlannedRequest] = []
    for persona in personas:
        for query in persona.queries[:4]:
            relevant = query.gold.relevant or {}
            order = sorted(persona.items, key=lambda item, relevant=relevant: -relevant.get(item.id, 0))
            hits = [ItemHit(item, -float(n)) for n, item in enumerate(order)]
            examples.append(planned_request(persona, query, hits, FOLDS[persona.id], measured=True))
    return examples


@pytest.fixture(scope="module")
def data(personas: list[Persona], requests: list[PlannedRequest]) -> ArgumentTrainingData:
    generated = list(time_examples(personas, FOLDS, TOOLS))
    return ArgumentTrainingData.build(requests, generated, bundled_pairs()[::60], TOOLS)


@pytest.fixture(autouse=True)
def fast_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "SETTINGS", QUICK)


def test_planning_input_has_retrieved_oracle_or_no_context(
    requests: list[PlannedRequest],
) -> None:
    request = requests[0]
    assert len(request.with_context(RETRIEVED).hits) > len(request.relevant)
    assert {hit.item.id for hit in request.with_context(ORACLE).hits} == set(request.relevant)
    assert not request.with_context(NO_CONTEXT).hits


def test_additional_requests_have_retrieved_context(personas: list[Persona]) -> None:
    persona = personas[0]
    queries = training_requests()[persona.id]
    explicit = next(query for query in queries if query.gold.kind == EXPLICIT)
    implicit = next(query for query in queries if query.gold.kind != EXPLICIT)
    found = [ItemHit(item, 1 - number / 10) for number, item in enumerate(persona.items[:5])]
    requests = additional_requests(
        [persona], {persona.id: [explicit, implicit]}, FOLDS, lambda _persona, _query: found, progress=None
    )
    assert [request.name for request in requests] == [persona.name(explicit), persona.name(implicit)]
    for request in requests:
        hits = request.with_context(RETRIEVED).hits
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert {hit.item.id for hit in hits} <= set(request.items)
    assert NO_CONTEXT in requests[0].contexts  # it says all that is needed
    assert NO_CONTEXT not in requests[1].contexts


def test_features_are_computed_once_and_restricted_by_fold(data: ArgumentTrainingData) -> None:
    statistics = data.statistics(0)
    for example, unknown in zip(data.examples[:60], data.unknown, strict=False):
        assert example.rows is not None
        if unknown:
            continue
        restricted = example.restricted(statistics.priors)
        matrix = restricted.matrix(statistics)
        assert matrix.shape == (len(restricted.candidates), len(NAMES))
        kept = [n for n, candidate in enumerate(example.candidates) if candidate in restricted.candidates]
        np.testing.assert_array_equal(restricted.rows, example.rows[kept])


def test_grades_mark_the_expected_value(requests: list[PlannedRequest]) -> None:
    for request in requests:
        for example in argument_examples(request, TOOLS, ORACLE):
            relevant = [c.value for c, grade in zip(example.candidates, example.grades, strict=True) if grade]
            expected_values = request.expected.args.get(example.parameter.name)
            if expected_values is None:
                assert relevant == [None]
            elif example.parameter.kind == "moment":
                assert relevant in ([], [None]) or set(relevant) == set(expected_values)


def test_statistics_exclude_folds(data: ArgumentTrainingData) -> None:
    def count(statistics: ArgumentStatistics) -> dict[str, int]:
        return statistics.priors.to_json()["totals"]

    counted = [request for request, counts in zip(data.examples, data.counted, strict=True) if counts]
    for fold in FOLDS.values():
        own_names = {
            f"{request.tool.name}.{request.parameter.name}" for request in counted if request.fold == fold
        }
        assert all(
            count(data.statistics())[name] > count(data.statistics(fold)).get(name, 0) for name in own_names
        )
    assert count(data.statistics(0, 1, 2)) == {}


def test_pair_items_are_parsed_into_fields() -> None:
    mail = PairItem(app="Mail", text="Mail — from: a@example.com — subject: Kiln — today — slots on Monday")
    assert parse_item(mail, "i").fields == {
        "author": "a@example.com",
        "subject": "Kiln",
        "content": "slots on Monday",
    }
    note = PairItem(app="Notes", text="Notes — Lemma 4.2 — last opened 25 min ago — stuck")
    assert parse_item(note, "i").fields == {"title": "Lemma 4.2", "content": "stuck"}


def test_pair_examples_belong_to_no_fold() -> None:
    pairs: list[Pair] = bundled_pairs()[::100]
    examples: list[ArgumentExample] = list(pair_examples(pairs, TOOLS))
    assert examples
    assert {request.fold for request in examples} == {EVERY_FOLD}
    assert all(request.grades.any() for request in examples)


def test_time_examples_have_their_time_among_the_candidates(personas: list[Persona]) -> None:
    examples = list(time_examples(personas, FOLDS, TOOLS))
    assert len(examples) >= 10
    assert all(request.grades.any() for request in examples)
    second = list(time_examples(personas, FOLDS, TOOLS))
    assert [request.planning_input.request for request in examples] == [
        request.planning_input.request for request in second
    ]


def test_fold_models_exclude_their_fold(data: ArgumentTrainingData) -> None:
    models = fit_by_fold(data)
    assert set(models) == {0, 1, 2}
    totals = [sum(request.statistics.priors.to_json()["totals"].values()) for request in models.values()]
    assert all(total < sum(data.statistics().priors.to_json()["totals"].values()) for total in totals)


def test_training_is_deterministic_and_loadable(
    data: ArgumentTrainingData, requests: list[PlannedRequest], tmp_path: Path
) -> None:
    for name in ("one", "two"):
        train(data, {"by": "test"}).save(tmp_path / name)
    for file in ("arguments.json.gz", "known.json.gz", "card.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    planner = PointerPlanner(ArgumentScorer.load(tmp_path / "one"))
    for request in requests:
        assert planner.plan_tool(request.with_context(ORACLE), TOOLS[request.expected.tool]) is not None
