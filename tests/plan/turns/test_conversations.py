"""Conversations with the tuner, over bundled and own tools, with and without a state."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import pytest
from tests.plan.turns.test_reading import OWN

from contextune import Tuner
from contextune.store import SQLiteStore
from contextune.tools import bundled_toolbox
from contextune.types import Answer, Contact, Item, Request, Turn, TurnState, User

NOW = datetime(2024, 5, 15, 18)
READING = {"type": "object", "properties": {"title": {"type": "string", "description": "Title of the event"}}}
EVENT = "Gets an event of the calendar: when and where it is"
RING = {"type": "object", "properties": {"contact": {"type": "string", "description": "Whom to ring"}}}
TOOLS = {
    "bundled": bundled_toolbox(),
    "own": [
        *OWN,
        replace(OWN[0], name="calendar_get", description=EVENT, app="calendar",
                parameters={**READING, "required": ["title"]}),
        replace(OWN[0], name="ring", description="Places a phone call", app="phone",
                parameters={**RING, "required": ["contact"]}),
    ],
}  # fmt: skip
DUE = {"bundled": "due_time", "own": "due"}
ASKED = {"bundled": "Remind me to buy clay tomorrow at 9", "own": "todo_add buy clay tomorrow at 9"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path_factory.mktemp("conversations") / "store.db") as store:
        contacts = (
            Contact("Marta Reis", email="marta@example.org", phone="5550150"),
            Contact("Mike Donahue", phone="5550101"),
            Contact("Mike Sforza", phone="5550102"),
        )
        store.put_user(User("me", {"name": "Ines Duarte", "email": "ines@example.com"}, contacts=contacts))
        mail = Item.mail(
            id="m1", author="marta@example.org", subject="Kiln slots", content="Thursday evening is yours.",
            date="2024-05-13T09:00",
        )  # fmt: skip
        dentist = Item.event(
            id="c1", name="Dentist", location="Rua Nova 4", start="2024-05-21T09:00", end="2024-05-21T09:45"
        )
        glaze = Item.event(id="c2", name="Glaze night", start="2024-05-16T19:00")
        store.put_items("me", [mail, dentist, glaze])
        yield store


@pytest.fixture(scope="module", params=["bundled", "own"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def tuner(store: SQLiteStore, kind: str) -> Tuner:
    return Tuner(store, tools=TOOLS[kind])


def talk(tuner: Tuner, *texts: str) -> Answer:
    """The last answer of a conversation, in which each request has what the last answer left."""
    answers: list[Answer] = []
    state = TurnState()
    for text in texts:
        answers.append(tuner.answer(Request(text, "me", NOW, state=state)))
        state = answers[-1].state
    return answers[-1]


def args(answer: Answer) -> dict[str, object]:
    assert answer.plan is not None
    return answer.plan.args


def test_corrections_change_the_last_call(tuner: Tuner, kind: str) -> None:
    assert args(talk(tuner, ASKED[kind], "make it 10"))[DUE[kind]] == "2024-05-16T10:00"
    moved = talk(tuner, ASKED[kind], "make it 10", "no, Sunday")
    assert args(moved)[DUE[kind]] == "2024-05-19T10:00"
    assert args(moved).keys() == args(talk(tuner, ASKED[kind])).keys()


def test_correction_needs_no_more_than_the_history(tuner: Tuner, kind: str) -> None:
    history = (Turn("user", ASKED[kind]), Turn("user", "make it 10"))
    answer = tuner.answer(Request("no, Sunday", "me", NOW, history=history))
    assert args(answer)[DUE[kind]] == "2024-05-19T10:00"


def test_namesake_is_chosen_by_number(tuner: Tuner) -> None:
    first = talk(tuner, "Call Mike")
    assert first.plan is not None
    assert first.plan.question is not None
    labels = [option.label for option in first.plan.question.options]
    chosen = talk(tuner, "Call Mike", "the second one")
    assert args(chosen) == {"contact": labels[1]}
    assert chosen.plan is not None
    assert chosen.plan.ready


def test_thanks_gets_a_line_and_no_items(tuner: Tuner) -> None:
    answer = talk(tuner, "Call Mike", "thanks")
    assert (answer.context, answer.tools, answer.plan) == ((), (), None)
    assert answer.reply is not None
    assert answer.reply.text == "You're welcome."
    assert args(talk(tuner, "Call Mike", "thanks", "Mike Sforza")) == {"contact": "Mike Sforza"}


def test_no_leaves_the_question(tuner: Tuner) -> None:
    answer = talk(tuner, "Call Mike", "no")
    assert answer.plan is None
    assert answer.state.pending is None


def test_call_her_is_the_person_of_the_last_item(tuner: Tuner) -> None:
    assert args(talk(tuner, "Any mail about the kiln slots?", "call her")) == {"contact": "Marta Reis"}


@pytest.mark.parametrize("text", ["until when?", "and where?"])
def test_question_is_about_the_event_last_spoken_of(tuner: Tuner, text: str) -> None:
    answer = talk(tuner, "When is the dentist?", text)
    assert [hit.item.id for hit in answer.context] == ["c1"]
    assert "Dentist" in args(answer).values()


def test_reminder_before_the_event_last_spoken_of(store: SQLiteStore) -> None:
    tuner = Tuner(store, tools=TOOLS["bundled"])
    answer = talk(tuner, "When is the dentist?", "remind me half an hour before")
    assert args(answer)["due_time"] == "2024-05-21T08:30"


def test_context_has_the_item_that_is_meant(tuner: Tuner) -> None:
    state = talk(tuner, "When is the dentist?").state.showing(["c2", "c1"])
    hits = tuner.context(Request("open the second one", "me", NOW, state=state))
    assert [hit.item.id for hit in hits] == ["c1"]
