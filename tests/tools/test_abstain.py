"""An honest "nothing fits", from a ranker that gives true reasons: made by hand, and as it ships."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import WordEmbedder
from tests.tools.tiny_ranker import THRESHOLDS, WIDTH, shipped, tiny_abstain, tiny_ranker

from contextune.embed import default_embedder
from contextune.errors import InvalidRequestError, RankerError
from contextune.tools import (
    Catalog,
    ToolFilter,
    ToolRanker,
    ToolRetriever,
    bundled_toolbox,
    default_tool_ranker,
)
from contextune.tools.abstain import INPUTS, Abstain, inputs
from contextune.tools.features import NAMES, measure
from contextune.tools.index import ToolIndex
from contextune.tools.query import PastCalls, QueryContext, ToolQuery
from contextune.types import Item, Tool

EMBEDDER = WordEmbedder()
INDEX = ToolIndex.build(Catalog(bundled_toolbox()), EMBEDDER)
NOTE = Item("n", "Notes", {"title": "Glaze recipe", "modified": "2024-05-15T08:00"})
SHARE = st.floats(0.001, 0.999)


def matrix_of(text: str, context: QueryContext | None = None) -> np.ndarray:
    return measure(INDEX, ToolQuery(text, EMBEDDER.embed([text])[0], context), np.arange(len(INDEX.catalog)))


def test_the_inputs_are_the_best_and_the_first_of_the_candidates() -> None:
    matrix = matrix_of("send an email to Ana")
    scores = np.linspace(0, 1, len(matrix), dtype=np.float64)  # the last one leads
    found = dict(zip(INPUTS, inputs(matrix, scores).tolist(), strict=True))
    meaning = matrix[:, NAMES.index("meaning")]
    assert found["best meaning"] == pytest.approx(meaning.max())
    assert found["second meaning"] == pytest.approx(np.sort(meaning)[-2])
    assert found["tenth meaning"] == pytest.approx(np.sort(meaning)[-10])
    assert found["first meaning"] == pytest.approx(meaning[-1])
    assert found["lead"] == pytest.approx(scores[-1] - scores[-2])
    assert found["length"] == pytest.approx(np.log1p(5))
    assert found["has context"] == 0
    for name in ("best in context", "best item", "best item app", "best past", "best app likely"):
        assert np.isnan(found[name]), name


def test_with_context_nothing_of_it_is_missing() -> None:
    context = QueryContext.of([NOTE], [1.0], EMBEDDER.embed([NOTE.text]))
    matrix = matrix_of("read it", context)
    found = dict(zip(INPUTS, inputs(matrix, np.arange(len(matrix), dtype=np.float64)).tolist(), strict=True))
    assert found["has context"] == 1
    assert found["best item app"] == 1
    assert not {name for name, value in found.items() if np.isnan(value)} - {
        "best app likely", "first app likely", "best past", "first past"
    }  # fmt: skip


def test_the_order_of_the_candidates_does_not_matter() -> None:
    matrix = matrix_of("move the class to Friday")
    draw = np.random.default_rng(0)
    scores, order = draw.normal(size=len(matrix)), draw.permutation(len(matrix))
    np.testing.assert_array_equal(inputs(matrix, scores), inputs(matrix[order], scores[order]))


def test_one_candidate_or_none() -> None:
    one = matrix_of("send an email")[:1]
    assert np.isfinite(inputs(one, np.array([2.0]))[INPUTS.index("lead")])
    abstain = tiny_abstain()
    assert 0 < abstain.any_fits(one, np.array([2.0])) < 1
    assert abstain.any_fits(one[:0], np.empty(0)) == 0


def test_a_threshold_is_between_those_measured() -> None:
    abstain = tiny_abstain()
    for share, least in THRESHOLDS.items():
        assert abstain.threshold(float(share)) == pytest.approx(least)
    assert 0.6 < abstain.threshold(0.05) < 0.9
    assert abstain.threshold(0.001) == 0.9
    assert abstain.threshold(0.9) == 0.2


@given(SHARE, SHARE)
def test_who_bears_fewer_mistakes_asks_for_no_less(one: float, other: float) -> None:
    for abstain in (tiny_abstain(), default_tool_ranker().abstain):
        fewer, more = sorted((one, other))
        assert 1 >= abstain.threshold(fewer) >= abstain.threshold(more) >= 0


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, float("nan")])
def test_what_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(InvalidRequestError, match="between 0 and 1"):
        tiny_abstain().threshold(share)


def test_it_comes_back_from_json() -> None:
    abstain = tiny_abstain()
    again = Abstain.from_json(json.loads(json.dumps(abstain.to_json())))
    matrix, scores = matrix_of("play that song"), np.arange(59, dtype=np.float64)
    assert again.any_fits(matrix, scores) == pytest.approx(abstain.any_fits(matrix, scores))
    assert again.needs_context(np.ones(WIDTH, np.float32)) == pytest.approx(1 / (1 + np.e**4))
    assert again.thresholds == THRESHOLDS


def test_a_ranker_comes_back_from_its_folder(tmp_path: Path) -> None:
    made = tiny_ranker("meaning", "words")
    made.save(tmp_path / "deep" / "r")
    again = ToolRanker.load(tmp_path / "deep" / "r")
    first, second = (
        ToolRetriever(bundled_toolbox(), EMBEDDER, ranker=ranker).find("play that song", 59)
        for ranker in (made, again)
    )
    assert first == second
    assert again.about == made.about


def test_what_is_no_ranker_of_tools_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RankerError, match="contextune train tools"):
        ToolRanker.load(tmp_path)
    made = tiny_ranker("meaning", "words")
    made.save(tmp_path)
    (tmp_path / "tools.json.gz").unlink()
    with pytest.raises(RankerError, match=r"tools\.json\.gz"):
        ToolRanker.load(tmp_path)
    for card in ("", "[]", "{}", '{"abstain": {}, "about": {}}'):
        (tmp_path / "card.json").write_text(card)
        with pytest.raises(RankerError, match="contextune train tools"):
            ToolRanker.load(tmp_path)
    other = replace(made, abstain=replace(made.abstain, fits=replace(made.abstain.fits, names=("other",))))
    other.save(tmp_path)
    with pytest.raises(RankerError, match="train it again"):
        ToolRanker.load(tmp_path)


def test_the_best_likeness_decides_for_the_tiny_one() -> None:
    retriever = ToolRetriever(bundled_toolbox(), EMBEDDER, ranker=tiny_ranker("meaning"))
    near, far = retriever.find("sends a new email to somebody"), retriever.find("plugh")
    assert near.fits is not None
    assert far.fits is not None
    assert 0 < far.fits < 0.05 < 0.5 < near.fits < 1
    assert near.needs_context == pytest.approx(1 / (1 + np.e**4))
    assert retriever.find("send it", only=ToolFilter(servers=())).fits == 0


@pytest.mark.parametrize("method", ["bm25", "semantic", "hybrid"])
def test_the_plain_methods_do_not_know(method: str) -> None:
    found = ToolRetriever(bundled_toolbox(), EMBEDDER, method=method).find("send an email")
    assert (found.fits, found.needs_context) == (None, None)


def test_nobody_knows_with_an_embedder_the_ranker_was_not_made_for() -> None:
    for retriever in (
        ToolRetriever(bundled_toolbox(), EMBEDDER),
        ToolRetriever(bundled_toolbox(), EMBEDDER, ranker=tiny_ranker("meaning", embedder="another")),
    ):
        for only in (None, ToolFilter(servers=())):
            found = retriever.find("send an email", only=only)
            assert (found.fits, found.needs_context) == (None, None)


def test_the_ranker_in_the_package_was_made_for_the_embedder_in_the_package() -> None:
    assert default_tool_ranker().about["embedder"] == default_embedder().name, "contextune train tools"


SERVED = [
    "Play a song by Mariza.",
    "Send Anna an email about the invoice.",
    "Search my notes for the recipe.",
]
NOT_SERVED = ["What is the square root of 81?", "Transfer 200 euros to my savings account.", "Mow the lawn."]


def test_what_nothing_serves_fits_less_than_what_is_plainly_served() -> None:
    served, unserved = (
        [shipped().find(text).fits or 0.0 for text in texts] for texts in (SERVED, NOT_SERVED)
    )
    assert all(0 < fits < 1 for fits in [*served, *unserved])
    assert min(served) > 0.5 > max(unserved)


def test_the_tool_that_plainly_serves_is_first() -> None:
    found = [shipped().search(text, 1)[0].tool.name for text in SERVED]
    assert found == ["play_song", "send_email", "search_notes"]


def test_without_its_application_a_request_fits_less() -> None:
    for text, app in zip(SERVED, ["Music", "Mail", "Notes"], strict=True):
        rest = ToolFilter(servers={tool.app for tool in bundled_toolbox()} - {app})
        whole, less = shipped().find(text).fits, shipped().find(text, only=rest).fits
        assert whole is not None
        assert less is not None
        assert less < whole


def test_what_leaves_things_out_needs_context() -> None:
    implicit, explicit = (
        shipped().find(text).needs_context or 0.0
        for text in ("Read me what she wrote.", "Play Barco Negro by Mariza.")
    )
    assert 0 <= explicit < 0.5 < implicit <= 1


TRAINING = [
    Tool("join_training", "Joins a group in the morning.", app="sport"),
    Tool("show_plan", "Shows the plan.", app="sport"),
    Tool("log_training", "Notes down what was done.", app="sport"),
]


def test_words_are_told_apart_from_the_marks_around_them() -> None:
    by_words = ToolRetriever(TRAINING, EMBEDDER, ranker=tiny_ranker("name said"))
    hit = by_words.search("Which training, if any, is there?", 1)[0]
    assert hit.reasons == ("shares the words: training",)


def test_what_a_tool_was_wrong_for_is_not_told_as_praise() -> None:
    """Of a ranker, too, that for some reason goes by it."""
    asked = "Put that down."
    wrong = PastCalls(np.array([2]), EMBEDDER.embed([asked]), np.array([3.0]), np.array([False]))
    hits = ToolRetriever(TRAINING, EMBEDDER, ranker=tiny_ranker("past wrong")).find(asked, past=wrong).hits
    assert any(hit.tool.name == "log_training" for hit in hits)
    assert not any("was right" in said for hit in hits for said in hit.reasons)


def test_nothing_is_said_of_applications_where_nothing_is_known_of_them() -> None:
    for text in ("remind me to buy milk", "turn the lights off", "order a pizza"):
        for hit in shipped().search(text):
            assert not any("sounds like" in said for said in hit.reasons)
    known = shipped().find("What did she write?", apps={"Mail": 0.9, "Notes": 0.05}).hits
    assert any("sounds like Mail" in said for hit in known for said in hit.reasons)
