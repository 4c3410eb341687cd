"""Abstention: probabilities that a tool fits, thresholds, and true reasons."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import WordEmbedder
from tests.tools.tiny_ranker import THRESHOLDS, WIDTH, bundled_retriever, tiny_abstention, tiny_ranker

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
from contextune.tools.abstain import FIT_INPUTS, AbstentionModel, fit_inputs
from contextune.tools.features import FEATURE_NAMES, feature_matrix
from contextune.tools.index import ToolIndex
from contextune.tools.query import PastCalls, QueryContext, ToolQuery
from contextune.types import Item, Tool

EMBEDDER = WordEmbedder()
INDEX = ToolIndex.build(Catalog(bundled_toolbox()), EMBEDDER)
NOTE = Item("n", "Notes", {"title": "Glaze recipe", "modified": "2024-05-15T08:00"})
RATE = st.floats(0.001, 0.999)


def matrix_of(text: str, context: QueryContext | None = None) -> np.ndarray:
    return feature_matrix(
        INDEX, ToolQuery(text, EMBEDDER.embed([text])[0], context), np.arange(len(INDEX.catalog))
    )


def test_inputs_are_maxima_and_values_of_the_top_tool() -> None:
    matrix = matrix_of("send an email to Ana")
    scores = np.linspace(0, 1, len(matrix), dtype=np.float64)  # the last one is first
    found = dict(zip(FIT_INPUTS, fit_inputs(matrix, scores).tolist(), strict=True))
    meaning, relative, words = (
        matrix[:, FEATURE_NAMES.index(name)] for name in ("meaning", "meaning in catalogue", "words")
    )
    assert found["best meaning"] == pytest.approx(meaning.max())
    assert found["ahead of second"] == pytest.approx(meaning.max() - np.sort(meaning)[-2])
    assert found["ahead of tenth"] == pytest.approx(meaning.max() - np.sort(meaning)[-10])
    assert found["tenth meaning in catalogue"] == pytest.approx(np.sort(relative)[-10])
    assert found["first meaning in catalogue"] == pytest.approx(relative[-1])
    assert found["words rank of nearest"] == pytest.approx(np.log1p((words > words[meaning.argmax()]).sum()))
    assert found["lead"] == pytest.approx(scores[-1] - scores[-2])
    assert found["lead over sixth"] == pytest.approx(scores[-1] - scores[-6])
    assert found["length"] == pytest.approx(np.log1p(5))
    assert found["has context"] == 0
    for name in ("best in context", "best item", "best item app", "best past", "best app likely"):
        assert np.isnan(found[name]), name


def test_context_inputs_are_set_with_context() -> None:
    context = QueryContext.build([NOTE], [1.0], EMBEDDER.embed([NOTE.text]))
    matrix = matrix_of("read it", context)
    found = dict(
        zip(FIT_INPUTS, fit_inputs(matrix, np.arange(len(matrix), dtype=np.float64)).tolist(), strict=True)
    )
    assert found["has context"] == 1
    assert found["best item app"] == 1
    assert not {name for name, value in found.items() if np.isnan(value)} - {
        "best app likely", "first app likely", "best past", "first past"
    }  # fmt: skip


def test_order_of_candidates_does_not_matter() -> None:
    matrix = matrix_of("move the class to Friday")
    draw = np.random.default_rng(0)
    scores, order = draw.normal(size=len(matrix)), draw.permutation(len(matrix))
    np.testing.assert_array_equal(fit_inputs(matrix, scores), fit_inputs(matrix[order], scores[order]))


def test_inputs_do_not_depend_on_the_size_of_the_catalogue() -> None:
    assert not [name for name in FIT_INPUTS if "catalogue" in name and "meaning" not in name]
    text = "send an email to Ana"
    doubled = ToolIndex.build(
        Catalog([*bundled_toolbox(), *(replace(tool, app=f"{tool.app} too") for tool in bundled_toolbox())]),
        EMBEDDER,
    )
    query = ToolQuery(text, EMBEDDER.embed([text])[0])
    once, twice = (
        dict(
            zip(
                FIT_INPUTS,
                fit_inputs(matrix, matrix[:, FEATURE_NAMES.index("meaning")].astype(np.float64)),
                strict=True,
            )
        )
        for matrix in (
            matrix_of(text),
            feature_matrix(doubled, query, np.arange(len(doubled.catalog))),
        )
    )
    for name in ("best meaning in catalogue", "best words share"):
        assert twice[name] == pytest.approx(once[name], rel=0.25)


def test_single_and_no_candidate() -> None:
    one = matrix_of("send an email")[:1]
    assert np.isfinite(fit_inputs(one, np.array([2.0]))[FIT_INPUTS.index("lead")])
    model = tiny_abstention()
    assert 0 < model.any_fits(one, np.array([2.0])) < 1
    assert model.any_fits(one[:0], np.empty(0)) == 0


def test_threshold_interpolates_the_measured_ones() -> None:
    model = tiny_abstention()
    for rate, minimum in THRESHOLDS.items():
        assert model.threshold(float(rate)) == pytest.approx(minimum)
    assert 0.6 < model.threshold(0.05) < 0.9
    assert model.threshold(0.001) == 0.9
    assert model.threshold(0.9) == 0.2


@given(RATE, RATE)
def test_threshold_falls_with_the_false_positive_rate(one: float, other: float) -> None:
    for model in (tiny_abstention(), default_tool_ranker().abstention):
        fewer, more = sorted((one, other))
        assert 1 >= model.threshold(fewer) >= model.threshold(more) >= 0


@pytest.mark.parametrize("rate", [0, 1, -0.1, 1.5, float("nan")])
def test_invalid_rate_is_an_error(rate: float) -> None:
    with pytest.raises(InvalidRequestError, match="between 0 and 1"):
        tiny_abstention().threshold(rate)


def test_json_round_trip() -> None:
    model = tiny_abstention()
    again = AbstentionModel.from_json(json.loads(json.dumps(model.to_json())))
    matrix, scores = matrix_of("play that song"), np.arange(59, dtype=np.float64)
    assert again.any_fits(matrix, scores) == pytest.approx(model.any_fits(matrix, scores))
    assert again.needs_context(np.ones(WIDTH, np.float32)) == pytest.approx(1 / (1 + np.e**4))
    assert again.thresholds == THRESHOLDS


def test_save_and_load_ranker(tmp_path: Path) -> None:
    ranker = tiny_ranker("meaning", "words")
    ranker.save(tmp_path / "deep" / "r")
    again = ToolRanker.load(tmp_path / "deep" / "r")
    first, second = (
        ToolRetriever(bundled_toolbox(), EMBEDDER, ranker=ranker).find("play that song", 59)
        for ranker in (ranker, again)
    )
    assert first == second
    assert again.about == ranker.about


def test_invalid_ranker_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RankerError, match="contextune train tools"):
        ToolRanker.load(tmp_path)
    ranker = tiny_ranker("meaning", "words")
    ranker.save(tmp_path)
    (tmp_path / "tools.json.gz").unlink()
    with pytest.raises(RankerError, match=r"tools\.json\.gz"):
        ToolRanker.load(tmp_path)
    for card in ("", "[]", "{}", '{"abstain": {}, "about": {}}'):
        (tmp_path / "card.json").write_text(card)
        with pytest.raises(RankerError, match="contextune train tools"):
            ToolRanker.load(tmp_path)
    other = replace(
        ranker, abstention=replace(ranker.abstention, fits=replace(ranker.abstention.fits, names=("other",)))
    )
    other.save(tmp_path)
    with pytest.raises(RankerError, match="train it again"):
        ToolRanker.load(tmp_path)


def test_fits_follows_the_best_similarity() -> None:
    retriever = ToolRetriever(bundled_toolbox(), EMBEDDER, ranker=tiny_ranker("meaning"))
    near, far = retriever.find("sends a new email to somebody"), retriever.find("plugh")
    assert near.fits is not None
    assert far.fits is not None
    assert 0 < far.fits < 0.05 < 0.5 < near.fits < 1
    assert near.needs_context == pytest.approx(1 / (1 + np.e**4))
    assert retriever.find("send it", filter=ToolFilter(servers=())).fits == 0


@pytest.mark.parametrize("method", ["bm25", "semantic", "hybrid"])
def test_plain_methods_have_no_probabilities(method: str) -> None:
    found = ToolRetriever(bundled_toolbox(), EMBEDDER, method=method).find("send an email")
    assert (found.fits, found.needs_context) == (None, None)


def test_no_probabilities_with_another_embedder() -> None:
    for retriever in (
        ToolRetriever(bundled_toolbox(), EMBEDDER),
        ToolRetriever(bundled_toolbox(), EMBEDDER, ranker=tiny_ranker("meaning", embedder="another")),
    ):
        for tool_filter in (None, ToolFilter(servers=())):
            found = retriever.find("send an email", filter=tool_filter)
            assert (found.fits, found.needs_context) == (None, None)


def test_bundled_ranker_was_trained_with_the_bundled_embedder() -> None:
    assert default_tool_ranker().about["embedder"] == default_embedder().name, "contextune train tools"


SERVED = [
    "Play a song by Mariza.",
    "Send Anna an email about the invoice.",
    "Search my notes for the recipe.",
]
UNSERVED = ["What is the square root of 81?", "Transfer 200 euros to my savings account.", "Mow the lawn."]


def test_unserved_requests_fit_less_than_served_ones() -> None:
    served, unserved = (
        [bundled_retriever().find(text).fits or 0.0 for text in texts] for texts in (SERVED, UNSERVED)
    )
    assert all(0 < fits < 1 for fits in [*served, *unserved])
    assert min(served) > 0.5 > max(unserved)


def test_obvious_tool_is_first() -> None:
    found = [bundled_retriever().search(text, 1)[0].tool.name for text in SERVED]
    assert found == ["play_song", "send_email", "search_notes"]


def test_request_fits_less_without_its_app() -> None:
    for text, app in zip(SERVED, ["Music", "Mail", "Notes"], strict=True):
        rest = ToolFilter(servers={tool.app for tool in bundled_toolbox()} - {app})
        whole, less = bundled_retriever().find(text).fits, bundled_retriever().find(text, filter=rest).fits
        assert whole is not None
        assert less is not None
        assert less < whole


def test_implicit_request_needs_context() -> None:
    implicit, explicit = (
        bundled_retriever().find(text).needs_context or 0.0
        for text in ("Read me what she wrote.", "Play Barco Negro by Mariza.")
    )
    assert 0 <= explicit < 0.5 < implicit <= 1


TRAINING = [
    Tool("join_training", "Joins a group in the morning.", app="sport"),
    Tool("show_plan", "Shows the plan.", app="sport"),
    Tool("log_training", "Notes down what was done.", app="sport"),
]


def test_reason_lists_words_without_punctuation() -> None:
    by_words = ToolRetriever(TRAINING, EMBEDDER, ranker=tiny_ranker("name said"))
    hit = by_words.search("Which training, if any, is there?", 1)[0]
    assert hit.reasons == ("shares the words: training",)


def test_wrong_past_call_is_not_a_reason() -> None:
    """Even if the ranker scores it positively."""
    text = "Put that down."
    wrong = PastCalls(np.array([2]), EMBEDDER.embed([text]), np.array([3.0]), np.array([False]))
    hits = (
        ToolRetriever(TRAINING, EMBEDDER, ranker=tiny_ranker("past wrong")).find(text, past_calls=wrong).hits
    )
    assert any(hit.tool.name == "log_training" for hit in hits)
    assert not any("was right" in reason for hit in hits for reason in hit.reasons)


def test_app_is_a_reason_only_with_app_probabilities() -> None:
    for text in ("remind me to buy milk", "turn the lights off", "order a pizza"):
        for hit in bundled_retriever().search(text):
            assert not any("sounds like" in reason for reason in hit.reasons)
    known = (
        bundled_retriever().find("What did she write?", app_probabilities={"Mail": 0.9, "Notes": 0.05}).hits
    )
    assert any("sounds like Mail" in reason for hit in known for reason in hit.reasons)
