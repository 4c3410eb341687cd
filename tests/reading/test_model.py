"""The bundled reading model."""

import numpy as np
import pytest

from contextune.errors import EmbedderError
from contextune.reading.model import OMITTED, SPAN, ArgumentInput, ReadingModel, default_reading_model

pytestmark = pytest.mark.usefixtures("models_run_each_time")
REQUEST = "now: Thu 17 Sep 2026 11:30 | request: what did finance make of the Nordkai credit"
CREDIT = "email: Re: Gutschrift Nordkai credit note | 2 days ago, Tue 15 Sep 10:02 | from Ola, finance"
LUNCH = "calendar event: Lunch with Mirko | in 1 hours, today 12:30"


def test_the_item_that_is_asked_about_scores_higher() -> None:
    credit, lunch = default_reading_model().score_items(REQUEST, [CREDIT, LUNCH])
    assert credit > lunch


def test_a_score_does_not_depend_on_the_texts_beside_it() -> None:
    model = default_reading_model()
    alone = model.score_items(REQUEST, [CREDIT])
    together = model.score_items(REQUEST, [LUNCH, CREDIT, CREDIT])
    assert together[1] == together[2] == alone[0]


def test_nothing_to_read_gives_no_scores() -> None:
    assert default_reading_model().score_items(REQUEST, []).shape == (0,)


def test_values_that_an_argument_does_not_admit_are_impossible() -> None:
    arguments = [ArgumentInput("subject: of the message", [0]), ArgumentInput("count: integer", [1])]
    values = ["Re: Gutschrift Nordkai (subject of email 1, Ola)", "3 (number said)"]
    [reading] = default_reading_model().read_calls(REQUEST, [("mail: read message", arguments, values)])
    assert reading.scores.shape == (2, 4)
    assert np.isneginf(reading.scores[0, 3])
    assert np.isneginf(reading.scores[1, 2])
    assert np.isfinite(reading.scores[:, [OMITTED, SPAN]]).all()
    assert reading.probabilities.sum(1) == pytest.approx(1, abs=1e-5)


def test_a_call_longer_than_the_model_reads_is_cut() -> None:
    values = [f"A long subject line number {n} about something (subject of email {n})" for n in range(80)]
    arguments = [ArgumentInput("subject: of the message", list(range(80)))]
    [reading] = default_reading_model().read_calls(REQUEST, [("mail: read message", arguments, values)])
    assert np.isfinite(reading.scores[0, :10]).all()
    assert np.isneginf(reading.scores[0, -1])


def test_a_damaged_folder_says_what_to_do(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(EmbedderError, match="cannot load the reading model"):
        ReadingModel(tmp_path_factory.mktemp("empty"))
