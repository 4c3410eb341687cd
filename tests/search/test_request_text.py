"""Requests in one spelling: without greetings and "please", with "what's" for "what is"."""

import pytest

from contextune.search.request_text import asks_question, canonical_request, without_courtesy


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Hey, call Ana please.", "call Ana."),
        ("hi there, when does the flour come?", "when does the flour come?"),
        ("Please call Ana", "call Ana"),
        ("Hello, please, call Ana", "call Ana"),
        ("call Ana, please!", "call Ana!"),
        ("Ruf bitte Ana an", "Ruf bitte Ana an"),
        ("bitte ruf Ana an", "ruf Ana an"),
        ("Llama a Ana, por favor", "Llama a Ana"),
        ("S'il te plaît, appelle Ana", "appelle Ana"),
        ("play hey jude", "play hey jude"),
        ("Hey Jude by the Beatles", "Hey Jude by the Beatles"),
        ("Please Please Me", "Please Me"),
        ("Please-rated films", "Please-rated films"),
        ("hey, please", "hey, please"),
        ("Okay, thanks", "Okay, thanks"),
        ("please", "please"),
        ("", ""),
    ],
)
def test_greeting_and_please_around_a_request_are_left_out(text: str, plain: str) -> None:
    assert without_courtesy(text) == plain


@pytest.mark.parametrize(
    "text", ["Hey, what is on tomorrow?", "what's on tomorrow?", "Please what’s on tomorrow?"]
)
def test_long_and_short_questions_are_the_same(text: str) -> None:
    assert canonical_request(text) == "what's on tomorrow?"


def test_words_that_only_look_like_a_question_are_kept() -> None:
    assert canonical_request("whatever is new") == "whatever is new"
    assert canonical_request("show what isotopes are") == "show what isotopes are"


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("whats the gate code", True),
        ("and until when is it open", True),
        ("I searched for a cake. What did I type", True),
        ("too late to ask Priya?", True),
        ("didn't somebody offer to help", True),
        ("Could you move it to Friday?", False),
        ("Will you call Ana?", False),
        ("Remind me of what Ana said", False),
        ("Isolde called", False),
    ],
)
def test_questions_are_told_from_orders(text: str, asks: bool) -> None:
    assert asks_question(text) == asks
