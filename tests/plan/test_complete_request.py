"""Requests that are completed before they are searched and planned."""

import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from contextune.plan.complete_request import complete_request
from contextune.plan.misspellings import respell
from contextune.search import tokenize
from contextune.types import Contact, Request, Turn, User

NOW = datetime(2026, 3, 5, 10, 5)  # a Thursday
LABELLED = Path(__file__).with_name("requests.jsonl").read_text(encoding="utf-8").splitlines()
ROWS = [row for line in LABELLED if (row := json.loads(line))["kind"] != "foreign"]
TEXTS = [row["text"] for row in ROWS if len(row["text"].split()) > 1]


def completed(text: str, *before: str, contacts: tuple[Contact, ...] = ()) -> str:
    turns = tuple(turn for said in before for turn in (Turn("user", said), Turn("assistant", "Two things.")))
    request = Request(text, user="ines", time=NOW, history=turns)
    return complete_request(request, lambda user: User(user, contacts=contacts)).text


def lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def contracted(text: str) -> str:
    """With "What's" for "What is" at the beginning, or the other way round."""
    short = re.sub(r"\A(what|who|when|where|how) is\b", r"\1's", text, flags=re.IGNORECASE)
    long = re.sub(r"\A(what|who|when|where|how)['’]s\b", r"\1 is", text, flags=re.IGNORECASE)
    return short if short != text else long


def with_please(text: str) -> str:
    stem = text.rstrip(".?!")
    return f"{stem}, please{text[len(stem) :]}"


WORDINGS: list[Callable[[str], str]] = [
    lambda text: f"Hey, {lowered(text)}",
    lambda text: f"Hi there, {lowered(text)}",
    lambda text: f"Please {lowered(text)}",
    lambda text: f"Hey, please {lowered(text)}",
    with_please,
    contracted,
    lambda text: f"Okay, {lowered(with_please(contracted(text)))}",
]


@pytest.mark.parametrize("wording", WORDINGS)
def test_courtesy_and_contractions_change_no_request_of_the_tests(wording: Callable[[str], str]) -> None:
    """They are planned as the plain request, so their calls are the same, whatever the models say."""
    plain = [text for text in TEXTS if text[0].isupper() and "please" not in text.casefold()]
    assert len(plain) > 250
    changed = [text for text in plain if completed(wording(text)) != completed(text)]
    assert not changed


def test_words_that_may_be_dictated_are_kept() -> None:
    for text in (
        "Tell Bruno yes please",
        "Text Ana: what is on?",
        "Play Hey Jude",
        "Hey Jude by the Beatles",
    ):
        assert completed(text) == text


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Move judo to wendsday", "Move judo to wednesday"),
        ("Wendsday at six: judo", "Wednesday at six: judo"),
        ("what do I have tomorow", "what do I have tomorrow"),
        ("remnd me on firday", "remind me on friday"),
        ("cancle judo", "cancel judo"),
        ("Put judo in the calender", "Put judo in the calendar"),
    ],
)
def test_days_and_orders_are_spelt_right(text: str, meant: str) -> None:
    assert respell(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "Rewind the song",
        "What's on Mondays?",
        "Cancela judo",
        "Call Mondal",
        "Call Sundaye",
        'Tell Bo "see you tomorow"',
        "Write to wensday@example.org",
        "Was I reminded of the remainder?",
    ],
)
def test_other_words_stay_as_they_are(text: str) -> None:
    assert respell(text) == text


def test_names_of_contacts_are_not_respelt() -> None:
    assert completed("call tonigh", contacts=(Contact("Ama Tonigh"),)) == "call tonigh"
    assert completed("what is on tonigh") == "what's on tonight"


@pytest.mark.parametrize(
    ("before", "text", "meant"),
    [
        (["What's on Friday?"], "And on Sunday?", "What's on Sunday?"),
        (["What's on Friday?", "And Saturday?"], "and next Monday", "What's on next Monday?"),
        (["Will it rain in Lugo tomorrow?"], "what about Sunday?", "Will it rain in Lugo Sunday?"),
        (["Who called me?"], "And yesterday?", "Who called me yesterday?"),
    ],
)
def test_question_is_asked_for_another_day(before: list[str], text: str, meant: str) -> None:
    assert completed(text, *before) == meant


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("Move judo to Friday", "and on Sunday?"),
        ("Cancel judo on Friday", "What about Monday?"),
        ("What's on Friday?", "And who is there?"),
        ("What's on Friday?", "Cancel it on Sunday"),
        ("Is judo on Friday or on Monday?", "and on Sunday?"),
    ],
)
def test_orders_and_other_questions_are_not_completed(before: str, text: str) -> None:
    assert completed(text, before) == text


@pytest.mark.parametrize(
    ("before", "text", "meant"),
    [
        ("When is the van MOT?", "Move it to four", "Move the van MOT to four"),
        ("what time is judo on Friday", "please push that back an hour", "push judo back an hour"),
        ("When does our tram tour start?", "cancel it", "cancel our tram tour"),
        ("when's Nala's jab again", "Add Bo to it", "Add Bo to Nala's jab"),
        ("How much is the gas bill?", "Remind me at 6 pm to pay it", "Remind me at 6 pm to pay the gas bill"),
        ("Did Bo write about the kayak?", "Remind me to pay for that", "Remind me to pay for the kayak"),
        ("When's the tram tour?", "Remind me an hour before it", "Remind me an hour before the tram tour"),
        ("Where is the tram tour?", "How do I get there?", "How do I get to the tram tour?"),
        ("where's Café Moka", "take me there by bus", "take me to Café Moka by bus"),
    ],
)
def test_pronoun_means_the_thing_of_the_last_question(before: str, text: str, meant: str) -> None:
    assert completed(text, before, contacts=(Contact("Bo Lind"),)) == meant


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("What's on Friday?", "Cancel it"),
        ("When is it?", "Cancel it"),
        ("Where is Bo?", "How do I get there?"),
        ("Did Bo write about the kayak?", "Delete it"),
        ("When is judo?", "Tell Bo that it is late"),
        ("When is judo?", "Move that meeting to four"),
        ("When is judo?", "Is there anything else?"),
    ],
)
def test_other_pronouns_are_left(before: str, text: str) -> None:
    assert completed(text, before, contacts=(Contact("Bo Lind"),)) == text


OWN_WORDS = frozenset(word for text in TEXTS for word in tokenize(text))


def swapped(word: str, at: int) -> str:
    while at + 2 < len(word) and word[at] == word[at + 1]:
        at += 1
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


TYPOS: dict[str, Callable[[str, int], str]] = {
    "swapped": swapped,
    "missing": lambda word, at: word[:at] + word[at + 1 :],
    "doubled": lambda word, at: word[:at] + word[at] + word[at:],
    "wrong": lambda word, at: word[:at] + ("x" if word[at] != "x" else "z") + word[at + 1 :],
}


def with_typo(text: str, place: int, typo: Callable[[str, int], str]) -> str:
    """A typing error in one word of six letters or more, not in the first letter."""
    words = list(re.finditer(r"\b[a-z]{6,}\b", text))
    if not words:
        return text
    start, end = words[place % len(words)].span()
    return text[:start] + typo(text[start:end], 1 + place % 3) + text[end:]


def test_words_that_nobody_knows_are_spelt_right() -> None:
    assert respell("when is teh christmsa concert", (), lambda _: False) == "when is the christmas concert"
    assert respell("call Ruairi about the gansey", (), lambda _: False) == "call Ruairi about the gansey"
    assert respell('read "teh chrismas"', (), lambda _: False) == 'read "teh chrismas"'
    assert respell("open the nordkja file", (), {"nordkaj"}.__contains__) == "open the nordkaj file"
    assert respell("restart pod kubeltx-3 on qlx", (), lambda _: False) == "restart pod kubeltx-3 on qlx"


@pytest.mark.parametrize("kind", TYPOS)
def test_one_typo_changes_few_requests(kind: str) -> None:
    typed = [(text, with_typo(text, number, TYPOS[kind])) for number, text in enumerate(TEXTS)]
    changed = [(text, wrong) for text, wrong in typed if text != wrong]
    mended = [text == respell(wrong, (), OWN_WORDS.__contains__) for text, wrong in changed]
    assert len(mended) > 100
    # what is left without a letter may be a word, too
    assert sum(mended) >= (0.8 if kind == "missing" else 0.9) * len(mended)


def test_requests_spelt_right_are_not_changed() -> None:
    changed = [text for text in TEXTS if respell(text, (), lambda _: False) != text]
    assert len(changed) <= 0.02 * len(TEXTS), changed


@pytest.mark.parametrize("text", ["Wann ist mein Termn beim Zahnarzt, bitte?", "Quand est le rendz-vous ?"])
def test_requests_in_other_languages_stay_as_they_are(text: str) -> None:
    assert completed(text) == text
