"""Which words of a request a call accounts for."""

import pytest
from tests.plan.calls.tiny_ranker import MAIL, TOOLS, inputs_for

from contextune.plan import PointerPlanner, default_scorer
from contextune.plan.calls.coverage import CallCoverage, WeightedWords, count_missing, stem
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.planner import FilledCall


def filled(inputs: PlanningInput, tool: str) -> FilledCall:
    call = PointerPlanner().fill_tool(inputs, TOOLS[tool])
    assert call is not None
    return call


def words_of(inputs: PlanningInput) -> WeightedWords:
    return WeightedWords(inputs, default_scorer().statistics.common)


@pytest.mark.parametrize(("word", "other"), [("playing", "plays"), ("played", "play"), ("notes", "note")])
def test_forms_of_a_word_share_a_stem(word: str, other: str) -> None:
    assert stem(word) == stem(other)


def test_contact_named_in_full_is_covered_by_its_name() -> None:
    inputs = inputs_for("Call Marta Reis.")
    call = filled(inputs, "call_contact")
    assert call.plan.args == {"contact": "Marta Reis"}
    words, coverage = words_of(inputs), CallCoverage.build(inputs, call)
    assert words.share(coverage.said) > 0.95
    assert count_missing(words.names, coverage.said) == 0


def test_address_covers_the_name_of_its_owner() -> None:
    inputs = inputs_for("Forward the kiln slots mail to Marta Reis", MAIL)
    coverage = CallCoverage.build(inputs, filled(inputs, "forward_email"))
    assert {"marta", stem("reis")} <= coverage.values


def test_words_that_no_argument_uses_are_left_over() -> None:
    inputs = inputs_for("Switch the dehumidifier on in Nadir's cellar")
    coverage = CallCoverage.build(inputs, filled(inputs, "pause_playback"))  # has no arguments
    words = words_of(inputs)
    assert words.share(coverage.everything) < 0.1
    assert count_missing(words.names, coverage.everything) == 1


def test_rare_words_weigh_more_than_common_ones() -> None:
    words = words_of(inputs_for("please call the dehumidifier"))
    assert words.weights[stem("dehumidifier")] > 5 * words.weights[stem("the")]


def test_quoted_texts_and_numbers_are_found() -> None:
    words = words_of(inputs_for("Add 'four centimetres' to \"Poppana, kitchen\" and dial 555-0777"))
    assert [sorted(quote) for quote in words.quotes] == [
        sorted(map(stem, ["four", "centimetres"])),
        sorted(map(stem, ["poppana", "kitchen"])),
    ]
    assert words.numbers
