"""A conversation: history completes requests, "the one before" is found by time, numbers choose."""

from datetime import datetime
from pathlib import Path

import pytest
from tests.program import run

from contextune import Tuner
from contextune.plan.turns.people import PeopleNames
from contextune.store import SQLiteStore
from contextune.tools import bundled_toolbox
from contextune.types import Answer, Contact, Item, Request, TurnState, User

NOW = datetime(2024, 5, 15, 18)
ITEMS = [
    Item.mail(
        id=f"m{number}", author=author, recipients=["ines@example.com"], subject=subject, content=content,
        date=date,
    )
    for number, (author, subject, content, date) in enumerate(
        [
            ("marta@example.org", "Welcome", "Nice to have you here.", "2024-04-02T09:00"),
            ("marta@example.org", "Clay order", "The clay has arrived.", "2024-05-06T09:00"),
            ("rui@example.org", "Rowing on Sunday", "The boat leaves at eight.", "2024-05-10T09:00"),
            ("marta@example.org", "Kiln slots", "Thursday evening is yours.", "2024-05-13T09:00"),
        ]
    )
] + [
    Item.event(id="c1", name="Glaze night", location="Barro Studio", start="2024-05-16T19:00"),
    Item.event(id="c2", name="Dentist", start="2024-05-21T09:00"),
    Item.event(id="c0", name="Dentist", start="2024-01-21T09:00"),
]  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chat") / "store.db"
    with SQLiteStore(path) as store:
        store.put_user(User("me", {"email": "ines@example.com"}))
        store.put_items("me", ITEMS)
    return path


@pytest.fixture(scope="module")
def tuner(path: Path) -> Tuner:
    return Tuner(SQLiteStore(path), tools=bundled_toolbox())


class Talk:
    """Asks one request after the other, each after what the last answer left."""

    def __init__(self, tuner: Tuner) -> None:
        self.tuner = tuner
        self.state = TurnState()

    def ask(self, text: str) -> Answer:
        answer = self.tuner.answer(Request(text, "me", NOW, state=self.state), 8)
        self.state = answer.state
        return answer

    def first(self, text: str) -> str:
        return self.ask(text).context[0].item.id


@pytest.fixture
def talk(tuner: Tuner) -> Talk:
    return Talk(tuner)


def test_the_one_before_is_the_previous_mail_of_the_same_person(talk: Talk) -> None:
    assert talk.first("Read me the last mail from Marta.") == "m3"
    answer = talk.ask("And the one before?")
    assert answer.plan is not None
    assert answer.plan.args == {"email_subject": "Clay order"}
    assert answer.context[0].reasons == ("the one before “Kiln slots”",)
    assert talk.first("and the one before that?") == "m0"
    none = talk.ask("the previous one")
    assert (none.plan, none.context) == (None, ())
    assert none.reply is not None
    assert none.reply.text == "There is nothing in Mail before “Welcome”."
    assert talk.first("And the next one?") == "m1"


def test_the_one_before_is_the_previous_event_of_the_same_name(talk: Talk) -> None:
    assert talk.first("When is my dentist appointment?") == "c2"
    assert talk.first("and the one before?") == "c0"


def test_follow_up_is_completed_from_the_last_request(talk: Talk) -> None:
    talk.first("When is my dentist appointment?")
    answer = talk.ask("and the glaze night?")
    assert answer.plan is not None
    assert (answer.plan.name, answer.plan.args) == ("get_event", {"event_name": "Glaze night"})


@pytest.mark.parametrize("follow_up", ["and the one from Rui?", "And Rui?", "what about rui"])
def test_follow_up_about_another_person_repeats_the_request(talk: Talk, follow_up: str) -> None:
    assert talk.first("When did Marta last write?") == "m3"
    assert talk.first(follow_up) == "m2"
    assert talk.first("And from Marta?") == "m3"


@pytest.mark.parametrize(
    ("last", "follow_up", "text"),
    [
        ("Did Marta write to Rui?", "and to Ana Sousa?", "Did Marta write to Ana Sousa?"),
        ("Read Marta's last mail.", "and the last one from Rui", "Read Rui's last mail."),
        ("when did ana sousa write?", "And Marta?", "when did Marta write?"),
        ("Read me the news", "and from Rui?", None),
        ("When did Marta last write?", "and the glaze night?", None),
        ("When did Marta last write?", "and from Lisbon?", None),
        ("When is the glaze night?", "and from Rui?", None),
        ("Call Marta", "when does rui land?", None),
        ("Call Marta", "When does Rui land?", None),
    ],
)
def test_person_of_a_request_is_replaced(last: str, follow_up: str, text: str | None) -> None:
    user = User("me", {"name": "Ines Duarte", "email": "ines@example.com"}, contacts=(Contact("Ana Sousa"),))
    news = Item.mail(id="n", author="news@example.org", subject="News", content="", date="2024-05-13T09:00")
    assert PeopleNames(user, [*ITEMS, news]).replace_person(last, follow_up) == text


def test_the_one_before_without_a_conversation_is_an_ordinary_request(talk: Talk) -> None:
    assert talk.ask("And the one before?").reply is None


def test_chat_reads_lines_explains_and_takes_a_choice(path: Path) -> None:
    lines = "Read me the last mail from Marta.\n\n/why\nand the one before?\nyes\n/quit\nnever read\n"
    words = ("chat", "--time", NOW.isoformat(), "--policy", "act.read=2,none=2", "--store", path)
    done = run(*words, stdin=lines)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Thursday evening is yours.\nfrom the email “Kiln slots”, Mon 13 May")
    assert "Read the email “Kiln slots”? (confirm first, " in done.stdout
    assert "email_subject: subject of “Kiln slots”" in done.stdout
    assert done.stdout.rstrip().endswith("email_subject: subject of “Clay order”")
    assert 'read_email(email_subject="Clay order") (make this call, ' in done.stdout


def test_verdicts_on_the_last_answer_are_feedback(path: Path) -> None:
    lines = "When did Marta write about the kiln?\nright\nwrong\nit was 2\nit was 99\n"
    words = ("chat", "--time", NOW.isoformat(), "--store", path)
    done = run(*words, stdin=lines)
    assert done.returncode == 0, done.stderr
    assert "Remembered as right.\nRemembered as wrong.\nRemembered: it was “" in done.stdout
    with SQLiteStore(path) as store:
        right, wrong, other = store.feedback("me")[-3:]
    assert (right.used, right.ok) == (("m3",), True)
    assert (wrong.rejected, wrong.ok) == (("m3",), False)
    assert other.used
    assert other.used != ("m3",)


def test_mistake_does_not_end_the_chat(path: Path) -> None:
    words = ("chat", "--time", NOW.isoformat(), "--place", "moon", "--store", path)
    done = run(*words, stdin="Dentist\nDentist\n")
    assert done.returncode == 0
    assert done.stderr.count("error: ") == 2
