"""Reported speech as the recipient reads it."""

import pytest

from contextune.plan.pointer.text.direct_speech import (
    ask_directly,
    drop_coordinated_that,
    is_indirect,
    turn_pronouns,
)
from contextune.plan.pointer.text.speech import find_message


@pytest.mark.parametrize(
    ("clause", "question"),
    [
        ("you have the keys", "do you have the keys"),
        ("you have seen the keys", "have you seen the keys"),
        ("you still want anything from the shop", "do you still want anything from the shop"),
        ("you'd like to come", "would you like to come"),
        ("you're free", "are you free"),
        ("it rains there", "does it rain there"),
        ("the draft is done", "is the draft done"),
        ("my mother called", "did my mother call"),
        ("you went to the meeting", "did you go to the meeting"),
        ("when the train leaves", "when does the train leave"),
        ("when the next bus leaves for town", "when does the next bus leave for town"),
        ("when the shops close", "when do the shops close"),
        ("when dinner is", "when is dinner"),
        ("the interpreter's actually been confirmed", "has the interpreter actually been confirmed"),
        ("Ana's home", "is Ana home"),
        ("about Iida's boots", "about Iida's boots"),
        ("how many goats", "how many goats"),
        ("what time the film starts", "what time does the film start"),
        ("how much it costs", "how much does it cost"),
        ("how many people are coming", "how many people are coming"),
        ("who is coming", "who is coming"),
        ("where Rui lives", "where does Rui live"),
        ("where the cab is", "where is the cab"),
        ("when you can look at Biscuit", "when can you look at Biscuit"),
        ("why you haven't written", "why haven't you written"),
    ],
)
def test_indirect_question_becomes_direct(clause: str, question: str) -> None:
    assert ask_directly(clause) == question
    assert not is_indirect(f"{question}?")


NAMED = [
    ("Tell Oisín that he should bring his logbook", "You should bring your logbook."),
    ("Ask Eoin when he can look at Biscuit", "When can you look at Biscuit?"),
    ("Ask Suso whether he has the keys", "Do you have the keys?"),
    ("Ask Gráinne if she wants anything from the shop", "Do you want anything from the shop?"),
    ("Tell Suso that Rui is late and he is sorry", "Rui is late and he is sorry."),
    ("Tell Suso that my mother called and she is fine", "My mother called and she is fine."),
    ("Tell Suso that he knows what she said", "He knows what she said."),
    ("Email Suso that the draft is done and that I'll send it", "The draft is done and I'll send it."),
]


@pytest.mark.parametrize(("text", "message"), NAMED)
def test_pronoun_of_the_only_person_is_turned(text: str, message: str) -> None:
    start = text.index(" ") + 1
    person = (start, text.index(" ", start))
    assert find_message(text, [person], people=[person]) == message


def test_pronoun_is_kept_if_two_people_are_named() -> None:
    text = "Tell Ana and Rui that he should come"
    people = [(5, 8), (13, 16)]
    assert find_message(text, people, people=people) == "He should come."


def test_verb_after_an_adverb_agrees_with_you() -> None:
    assert turn_pronouns("she always watches it and tries", "she") == "you always watch it and tries"
    assert turn_pronouns("he's late, he doesn't care", "he") == "you're late, you don't care"


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        ("it is done and that I'll send it", "it is done and I'll send it"),
        ("it is done, and that the rest follows", "it is done, and the rest follows"),
        ("it is done and that was hard", "it is done and that was hard"),
    ],
)
def test_second_that_is_dropped(text: str, dropped: str) -> None:
    assert drop_coordinated_that(text) == dropped


def test_question_that_stays_indirect_is_told() -> None:
    assert is_indirect("When the boat with the flag?")
    assert is_indirect("He has the keys?")
    assert not is_indirect("He has the keys.")
