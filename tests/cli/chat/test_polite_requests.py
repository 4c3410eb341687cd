"""Small words change nothing: "Hey,", "please" and "what's" lead to the same call."""

from datetime import datetime

import pytest

from contextune import Tuner
from contextune.datasets import demo_personas, load_persona
from contextune.store import SQLiteStore
from contextune.tools import bundled_toolbox
from contextune.types import Request

NOW = datetime(2024, 5, 15, 18)
REQUESTS = ["What is on tomorrow?", "List my reminders."]


@pytest.fixture(scope="module")
def tuner(tmp_path_factory: pytest.TempPathFactory) -> Tuner:
    store = SQLiteStore(tmp_path_factory.mktemp("polite") / "store.db")
    load_persona(store, demo_personas()[0])
    return Tuner(store, tools=bundled_toolbox())


@pytest.mark.parametrize("text", REQUESTS)
@pytest.mark.parametrize("change", ["Hey, {0}", "Please {0}", "{1}, please.", "{2}"])
def test_small_words_change_nothing(tuner: Tuner, text: str, change: str) -> None:
    user = demo_personas()[0].id
    lowered = text[0].lower() + text[1:]
    changed = change.format(lowered, text.rstrip(".?"), text.replace("What is", "What's"))
    plain, polite = (tuner.answer(Request(said, user, NOW)).plan for said in (text, changed))
    assert plain is not None
    assert polite is not None
    assert (polite.tool, polite.args) == (plain.tool, plain.args)
