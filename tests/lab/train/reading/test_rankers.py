"""The rankers around the reading model, on synthetic rows and on a small world."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import WordEmbedder
from tests.paths import ROOT

from contextune._internal.assets import asset
from contextune.context.reading import CLOSE_FEATURES, WIDE_FEATURES
from contextune.evaluate.outcomes import Judge, JudgedCall
from contextune.plan.reading_planner import CALL_FEATURES
from contextune.rank import CandidateGroup, RankerSettings
from contextune.tools import ToolMatches
from contextune.tools.reading import FIT_FEATURES, TOOL_FEATURES, ReadTools
from contextune.types import Request, Tool, ToolHit
from contextune_lab.train.reading import rankers
from contextune_lab.train.reading.first_ranker import WideExample, fit_wide, wide_examples
from contextune_lab.train.reading.manifest import (
    MANIFESTS,
    RANKER_WORLDS,
    READING_WORLDS,
    WIDE_WORLDS,
    write_manifests,
)
from contextune_lab.train.reading.processes import for_each
from contextune_lab.train.reading.read_sources import ReadCallRow, ReadItemRow, ReadToolRow, is_right
from contextune_lab.train.reading.scenes import ranked_requests
from contextune_lab.train.reading.sources import FOLDS, SourceRequest, fold_of, open_light
from contextune_lab.worlds.light import read_light_worlds
from contextune_lab.worlds.seen import seen_worlds
from contextune_lab.worlds.splits import CHOOSE_ON, REPORT_ON
from contextune_lab.worlds.world import WorldCall

QUICK = RankerSettings(rounds=12, seeds=1, leaves=4, smallest_leaf=2, feature_share=1.0)


def matrix(rng: np.random.Generator, rows: int, names: tuple[str, ...]) -> np.ndarray:
    return rng.normal(size=(rows, len(names))).astype(np.float32)


def item_rows(world: int, count: int = 30) -> list[ReadItemRow]:
    """The item with the highest first feature is needed."""
    rng = np.random.default_rng(world)
    rows: list[ReadItemRow] = []
    for number in range(count):
        features = matrix(rng, 8, CLOSE_FEATURES)
        grades = 2 * (features[:, 0] == features[:, 0].max()).astype(np.int64)
        rows.append(ReadItemRow(str(number), [f"i{n}" for n in range(8)], features, grades, 1))
    return rows


def tool_rows(world: int, count: int = 150) -> list[ReadToolRow]:
    rng = np.random.default_rng(world)
    rows: list[ReadToolRow] = []
    for number in range(count):
        features, fit = matrix(rng, 6, TOOL_FEATURES), matrix(rng, 1, FIT_FEATURES)
        hits = [ToolHit(Tool(f"t{n}", ""), 0.0) for n in range(6)]
        right = {hits[int(features[:, 0].argmax())].tool.id} if fit[0, 0] > 0 else set[str]()
        read = ReadTools(hits, features, fit)
        rows.append(ReadToolRow(str(number), ToolMatches(tuple(hits)), read, frozenset(right)))
    return rows


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLOSE", "TOOLS"):
        monkeypatch.setattr(rankers, name, QUICK)
    for name in ("NEEDED", "FITS", "CALLS"):
        monkeypatch.setattr(rankers, name, replace(QUICK, objective="binary"))


def test_item_rankers_rank_unseen_requests() -> None:
    rows = {str(world): item_rows(world) for world in range(3)}
    held_out = rankers.fit_held_out(rows, rankers.fit_items, item_rows(9))
    for world, models in held_out.items():
        assert rankers.item_recall(rows[world], models, 1) > 0.7
    row = rows["0"][0]
    hits = held_out["0"].hits(row, {name: object() for name in row.items})  # pyright: ignore[reportArgumentType]
    assert [hit.score for hit in hits] == [-float(rank) for rank in range(8)]


def test_held_out_models_have_not_seen_their_world() -> None:
    seen = rankers.fit_held_out({"a": [1, 2], "b": [3], "c": [4]}, tuple, [9])
    assert seen == {"a": (3, 4, 9), "b": (1, 2, 4, 9), "c": (1, 2, 3, 9)}


def test_tool_and_call_rankers_learn() -> None:
    tools = [row for world in range(3) for row in tool_rows(world)]
    models = rankers.fit_tools(tools)
    unseen = tool_rows(7)
    assert rankers.tool_accuracy(unseen, models) > 0.7
    fits = models.fits.score(np.vstack([row.read.fit for row in unseen]))
    served = np.array([bool(row.right) for row in unseen])
    assert fits[served].min() > fits[~served].max() - 0.5
    assert fits[served].mean() > fits[~served].mean() + 0.2
    rng = np.random.default_rng(0)
    calls = [
        ReadCallRow(str(n), each, (each[:, 2] > 0).astype(np.int64))
        for n, each in enumerate(matrix(rng, 3, CALL_FEATURES) for _ in range(80))
    ]
    ranker = rankers.fit_calls(calls[:60])
    chance = float(np.mean([row.right.mean() for row in calls[60:]]))
    assert rankers.call_accuracy(calls[60:], ranker) > chance + 0.2


def test_first_ranker_leaves_a_fold_out() -> None:
    rng = np.random.default_rng(0)
    examples: list[WideExample] = []
    for number in range(40):
        features = matrix(rng, 10, WIDE_FEATURES)
        sign = -1 if number % FOLDS == 3 else 1
        order = (sign * features[:, 0]).argmax()
        grades = np.zeros(10, np.int64)
        grades[order] = 2
        examples.append(WideExample(number % FOLDS, CandidateGroup(features, grades)))
    without = fit_wide(examples, 3, QUICK)
    right = [
        int(without.score(example.group.matrix).argmax()) == int(example.group.matrix[:, 0].argmax())
        for example in examples
    ]
    assert np.mean(right) > 0.8


def test_candidates_of_a_light_world_have_grades() -> None:
    [world] = read_light_worlds(names=["x01"])
    few = replace(world, requests=world.requests[:2], items=world.items[:200])
    with open_light(few) as source:
        ranked = list(ranked_requests(source, WordEmbedder()))
        assert [each.labels.id for each in ranked] == ["x01-001", "x01-002"]
        for each in ranked:
            assert len(each.grades) == len(each.ranked.scene.items)
        assert all(example.fold == 0 for example in wide_examples(source, np.random.default_rng(0)))


def test_folds_keep_worlds_apart() -> None:
    assert fold_of("w01") == fold_of("w12") != fold_of("w03")
    assert {fold_of(f"x{number:02}") for number in range(1, 13)} == set(range(FOLDS))
    assert fold_of("a01") in range(FOLDS)


def test_a_call_is_right_if_any_expected_one_is_the_same() -> None:
    calls = (WorldCall("mail/read", {"subject": "Rent"}), WorldCall("mail/find", {"words": "*"}))
    labels = SourceRequest("1", "", Request("rent?", "me"), frozenset(), frozenset(), calls)
    judge = Judge.of_contacts({}, ())
    assert is_right(labels, judge, JudgedCall("mail/read", {"subject": "rent"}))
    assert not is_right(labels, judge, JudgedCall("mail/read", {"subject": "Bill"}))


def doubled(name: str) -> str:
    return name * 2


def test_what_was_computed_for_a_name_is_kept(tmp_path: Path) -> None:
    assert for_each(doubled, ["a", "b"], processes=2, keep=tmp_path, stage="s") == {"a": "aa", "b": "bb"}
    assert for_each(len, ["b", "a", "c"], keep=tmp_path, stage="s") == {"b": "bb", "a": "aa", "c": 1}
    assert for_each(len, ["a"], keep=tmp_path, stage="other") == {"a": 1}


def test_manifests_name_what_models_have_seen(tmp_path: Path) -> None:
    for name in MANIFESTS:
        (tmp_path / name).mkdir()
    write_manifests(tmp_path)
    seen = seen_worlds(tmp_path)
    assert "reading" in seen["w01"]
    assert not set(READING_WORLDS) & set(RANKER_WORLDS)
    assert seen["w03"] == ("reading_calls", "reading_ranker", "reading_tools")
    assert "SLURP" in " ".join(json.loads((tmp_path / "reading" / "trained_on.json").read_text())["data"])


def test_manifests_that_ship_are_those_of_the_training() -> None:
    for name, (worlds, data) in MANIFESTS.items():
        shipped = json.loads((asset(name) / "trained_on.json").read_text(encoding="utf-8"))
        assert shipped == {"worlds": sorted(worlds), "data": list(data)}, name


def test_page_names_the_worlds_of_the_manifests() -> None:
    page = (ROOT / "docs" / "benchmark-details.md").read_text(encoding="utf-8")
    (reading,) = re.findall(r"^\| reading model \| worlds (.+?); personas", page, re.MULTILINE)
    wide_line = r"^\| ranker before it \(`wide`\) \| all eleven worlds, (.+?), personas"
    (wide,) = re.findall(wide_line, page, re.MULTILINE)
    (rankers,) = re.findall(r"^\| rankers after it \| worlds (.+?), which", page, re.MULTILINE)
    assert worlds_of(reading) == {*READING_WORLDS}
    assert worlds_of(wide) | {*CHOOSE_ON, *REPORT_ON} == {*WIDE_WORLDS}
    assert worlds_of(rankers) == {*RANKER_WORLDS}
    assert len({*CHOOSE_ON, *REPORT_ON}) == 11


def worlds_of(text: str) -> set[str]:
    """The worlds of a list with ranges, such as x01–x06."""
    names: set[str] = set()
    for first, last in re.findall(r"\b([wx]\d\d)\b(?:–x(\d\d))?", text):
        numbers = range(int(first[1:]), int(last or first[1:]) + 1)
        names |= {f"{first[0]}{number:02}" for number in numbers}
    return names
