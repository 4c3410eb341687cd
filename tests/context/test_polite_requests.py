"""Greetings, "please" and "what's" do not change which items a request finds."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contextune import Tuner
from contextune.datasets import demo_personas, load_persona
from contextune.store import SQLiteStore
from contextune.types import Request

CHANGES = ("Hey, {0}", "Please {0}", "Hello, please {0}", "{1}, please.")
QUESTIONS = (
    ("What is on tomorrow?", "What's on tomorrow?"),
    ("What is the last mail from them about?", "What's the last mail from them about?"),
    ("What is still on my list?", "What's still on my list?"),
)
REQUESTS_OF_EACH = 3


@pytest.fixture(scope="module")
def tuner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tuner]:
    folder: Path = tmp_path_factory.mktemp("polite")
    with SQLiteStore(folder / "store.db") as store:
        for persona in demo_personas():
            load_persona(store, persona)
        yield Tuner(store)


def requests() -> list[Request]:
    """Thirty requests of ten people."""
    return [
        persona.request(query) for persona in demo_personas() for query in persona.queries[:REQUESTS_OF_EACH]
    ]


def lowered(text: str) -> str:
    return text if text.startswith(("I ", "I'")) else text[0].lower() + text[1:]


def found(tuner: Tuner, request: Request, text: str) -> list[str]:
    return [hit.item.id for hit in tuner.context(replace(request, text=text), 3)]


def test_greeting_and_please_change_no_item(tuner: Tuner) -> None:
    assert len(requests()) == 30
    for request in requests():
        plain = found(tuner, request, lowered(request.text))
        for change in CHANGES:
            bare = request.text.rstrip(".?!")
            changed = change.format(lowered(request.text), bare)
            expected = plain if "{0}" in change else found(tuner, request, f"{bare}.")
            assert found(tuner, request, changed) == expected, changed


def test_short_form_of_is_changes_no_first_item(tuner: Tuner) -> None:
    for persona in demo_personas():
        request = persona.request(persona.queries[0])
        for long, short in QUESTIONS:
            assert found(tuner, request, long)[:1] == found(tuner, request, short)[:1], (persona.id, long)
