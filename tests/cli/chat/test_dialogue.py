"""Lines of a chat that are no requests: small talk, replies to the open question, corrections, verdicts."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest
from tests.program import run

from contextune.plan import PlanningInput, ReadingPlanner, Readings
from contextune.plan.turns.choices import is_assent, is_refusal, small_talk
from contextune.store import SQLiteStore
from contextune.types import (
    Argument,
    Contact,
    Item,
    Plan,
    Source,
    ToolHit,
    User,
)

NOW = datetime(2024, 5, 15, 18)
LATER = datetime(2024, 5, 15, 19)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with SQLiteStore(path) as store:
        contacts = (Contact("Mike Donahue", phone="5550101"), Contact("Mike Sforza", phone="5550102"))
        store.put_user(User("me", {"name": "Ines Duarte"}, contacts=contacts))
        store.put_items(
            "me",
            [
                Item.event(id="e1", name="Deposition rehearsal", start="2024-05-17T16:00"),
                Item.event(id="e2", name="Deposition Hargrove", start="2024-05-19T10:00"),
                Item.note(id="n1", title="Boat list", content="Oars, rope.", modified="2024-05-11T20:30"),
            ],
        )
    return path


def chat(path: Path, *lines: str, time: datetime = NOW) -> list[str]:
    done = run("chat", "--time", time.isoformat(), "--store", path, stdin="\n".join(lines) + "\n")
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "line", ["hi", "Hello there!", "thanks", "Thank you so much.", "ok", "good morning", "what can you do?"]
)
def test_small_talk_gets_one_line_and_no_items(path: Path, line: str) -> None:
    (reply,) = chat(path, line)
    assert reply == small_talk(line)


@pytest.mark.parametrize("line", ["call", "hey call Ana", "now", "thanks for the fish", "good morning alarm",
                                  "stop", "Hello by Adele", "play Thank You"])  # fmt: skip
def test_request_is_no_small_talk(line: str) -> None:
    assert small_talk(line) is None
    assert not is_assent(line)
    assert not is_refusal(line)


@pytest.mark.parametrize("line", ["yes", "no", "Never mind.", "yes please", "no thanks"])
def test_yes_and_no_without_a_question_ask_nothing(path: Path, line: str) -> None:
    (reply,) = chat(path, line)
    assert reply.startswith("No question is open.")


def readings_of_mikes(
    planner: ReadingPlanner, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
) -> Readings:
    """Both Mikes are as probable; every other request skips the song."""
    del planner, tools, fits
    if inputs.request.text != "Call Mike":
        return Readings((Plan("Music/skip_track", confidence=0.99, name="skip_track"),), 0.0)
    names = (("Mike Donahue", 0.46), ("Mike Sforza", 0.45))
    plans = [
        Plan(
            "PhoneCall/call_contact",
            {"contact": Argument(name, (Source("contact", name),), share)},
            share,
            name="call_contact",
        )
        for name, share in names
    ]
    return Readings(tuple(plans), 0.0)


def test_question_stays_open_until_it_is_answered(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReadingPlanner, "readings", readings_of_mikes)
    lines = chat(path, "Call Mike", "thanks", "Skip this song", "yes", "the second one", "yes")
    still_open = "Still open: Call Mike Donahue or Mike Sforza? (“no” leaves it)"
    thanked = lines.index("You're welcome.")
    assert lines[thanked + 1] == still_open
    assert lines.count(still_open) == 2
    assert lines[-4] == "Which one? Say its number or its name, or “no” to leave it."
    assert lines[-3] == 'call_contact(contact="Mike Sforza") (make this call, as you chose)'
    assert lines[-1].startswith("No question is open.")


def test_question_that_is_answered_by_what_is_shown_is_not_repeated(path: Path) -> None:
    words = ("chat", "--time", NOW.isoformat(), "--policy", "act.read=2,none=2", "--store", path)
    asked = "When is the deposition rehearsal?\n"
    done = run(*words, stdin=f"{asked}thanks\nyes\n")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Fri 17 May, 16:00")
    assert not [line for line in lines if line.endswith("(“no” leaves it)")]
    assert any(line.startswith("get_event(") and "(confirm first, " in line for line in lines)
    assert lines[-1].startswith("get_event(") or "as you chose" in done.stdout


def test_question_is_left_with_no(path: Path) -> None:
    lines = chat(path, "Call Mike", "no", "thanks")
    assert lines[-2:] == ["Left. Nothing was done.", "You're welcome."]


def test_correction_changes_the_call(path: Path) -> None:
    lines = chat(path, "Remind me to call the vet tomorrow at 9", "make it 10", "no, Friday")
    calls = [line for line in lines if "create_reminder(" in line]
    assert [call.partition("due_time=")[2][1:17] for call in calls] == [
        "2024-05-16T09:00",
        "2024-05-16T10:00",
        "2024-05-17T10:00",
    ]


QUESTION = "When is the deposition?"


def call_for(path: Path, time: datetime) -> str:
    done = run("ask", QUESTION, "--time", time.isoformat(), "--store", path)
    assert done.returncode == 0, done.stderr
    return next(line for line in done.stdout.splitlines() if "get_event(" in line)


def shown_number(path: Path, title: str) -> int:
    done = run("ask", QUESTION, "--time", NOW.isoformat(), "--store", path)
    rows = [line.split() for line in done.stdout.splitlines() if line[:1].isdigit()]
    return next(int(words[0]) for words in rows if title in " ".join(words))


@pytest.mark.parametrize("command", ["chat", "feedback"])
def test_it_was_another_item_changes_the_call_next_time(path: Path, command: str) -> None:
    first = call_for(path, NOW)
    other = "Deposition Hargrove" if "rehearsal" in first else "Deposition rehearsal"
    verdict = f"it was {shown_number(path, other)}"
    if command == "chat":
        assert chat(path, "hello", QUESTION, verdict)[-1] == f"Remembered: it was “{other}”."
    else:
        words = ("feedback", QUESTION, verdict, "--time", NOW.isoformat(), "--store", path)
        assert run(*words).stdout == f"Remembered: it was “{other}”.\n"
    assert f'get_event(event_name="{other}")' in call_for(path, LATER)


def test_wrong_call_without_an_item_is_not_made_again(path: Path) -> None:
    ask = ("ask", "Skip this song", "--store", path, "--time")
    assert "skip_track() (make this call" in run(*ask, NOW.isoformat()).stdout
    words = ("feedback", "Skip this song", "wrong", "--time", NOW.isoformat(), "--store", path)
    assert run(*words).stdout == "Remembered as wrong.\n"
    assert "skip_track(" not in run(*ask, LATER.isoformat()).stdout
    polite = ("ask", "Hey, skip this song, please", "--store", path, "--time", LATER.isoformat())
    assert "skip_track(" not in run(*polite).stdout


def test_unknown_verdict_is_an_error(path: Path) -> None:
    done = run("feedback", QUESTION, "it was 99", "--time", NOW.isoformat(), "--store", path)
    assert done.returncode == 2
    assert "not a verdict: 'it was 99' (write right, wrong, or “it was 2”" in done.stderr


@pytest.mark.parametrize(
    ("text", "language"), [("Wann ist die Deposition?", "German"), ("Когда встреча?", "Cyrillic script")]
)
def test_request_in_a_language_that_plans_do_not_read_gets_what_was_found(
    path: Path, text: str, language: str
) -> None:
    done = run("ask", text, "--time", NOW.isoformat(), "--store", path)
    assert done.returncode == 0, done.stderr
    assert f"This looks like {language}, and calls are planned for English." in done.stdout
    assert "make this call" not in done.stdout
    assert "Nothing here can do that" not in done.stdout
    assert all(title in done.stdout for title in ("Deposition rehearsal", "Deposition Hargrove", "Boat list"))
