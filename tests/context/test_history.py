"""Requests that lean on the talk before them are completed; those that stand alone are left alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.context.history import in_context, leans_on_history, vector_in_context
from contextune.embed import Embedder
from contextune.search import tokenize
from contextune.types import Request, Turn

CALLS = [("user", "Are there missed calls from Lola?"), ("assistant", "Yes, one missed call at 5:03 PM.")]
WEATHER = [
    ("user", "Will there be snow today at Maria's office?"),
    ("assistant", "No, it stays dry in Minneapolis."),
]
WHICH = [("user", "Video call Paul."), ("assistant", "Is that Paul Gross or Paul Thompson?")]


def asked(text: str, talk: list[tuple[str, str]]) -> Request:
    return Request(text, "ines", history=tuple(Turn(*turn) for turn in talk))


@pytest.mark.parametrize(
    ("text", "talk", "missing"),
    [
        ("Call her back please.", CALLS, "lola"),
        ("Did they leave a message?", CALLS, "lola"),
        ("Ok. Tell him I'm late.", WHICH, "paul"),
        ("How bad will it be?", WEATHER, "snow"),
        ("Read me that.", CALLS, "missed"),
        ("Play the second one.", [("assistant", "Candy by Mandy Moore, or Candy by Cameo.")], "candy"),
        ("Is the office open?", WEATHER, "maria"),
    ],
)
def test_anaphora(text: str, talk: list[tuple[str, str]], missing: str) -> None:
    assert missing in tokenize(in_context(asked(text, talk)))


@pytest.mark.parametrize(
    ("text", "talk", "missing"),
    [
        ("And tomorrow?", WEATHER, "snow"),
        ("What about next Friday?", WEATHER, "snow"),
        ("Thompson.", WHICH, "paul"),
        ("At home, if possible.", WHICH, "paul"),
        (
            "I meant by Adele",
            [("user", "Play Hello."), ("assistant", "Playing Hello by Evanescence.")],
            "evanescence",
        ),
        ("Yes.", [("assistant", "Shall I remove Stoddy?")], "stoddy"),
        ("Why?", WEATHER, "minneapolis"),
    ],
)
def test_ellipsis(text: str, talk: list[tuple[str, str]], missing: str) -> None:
    assert missing in tokenize(in_context(asked(text, talk)))


@pytest.mark.parametrize(
    "text",
    [
        "Remind me to buy two tickets for the matinee.",
        "Play some Miles Davis.",
        "Message my mom that I will call her later.",
        "Tell Frank I will get his cleats.",
        "What time is it?",
        "Is it going to rain in Porto this weekend?",
        "When does my flight leave this evening?",
        "By the way, is that bakery on Rua das Flores open?",
        "Call Mom.",
        "Thank you!",
    ],
)
@pytest.mark.parametrize("talk", [CALLS, WEATHER])
def test_what_stands_alone_stays_as_it_is(text: str, talk: list[tuple[str, str]]) -> None:
    assert in_context(asked(text, talk)) == text


@pytest.mark.parametrize("text", ["Call her back.", "And tomorrow?", "Thompson."])
def test_without_history_there_is_nothing_to_lean_on(text: str) -> None:
    assert in_context(asked(text, [])) == text


def test_a_named_person_outweighs_a_missing_one() -> None:
    assert not leans_on_history(asked("Call Anna and tell her that I'm late.", CALLS))
    assert leans_on_history(asked("Call her and tell Anna that I'm late.", CALLS))


def test_names_come_before_other_words_and_late_turns_before_early_ones() -> None:
    talk = [
        ("user", "Is Anna at the harbour?"),
        ("assistant", "nobody knows whether somebody somewhere went fishing, sailing, rowing, swimming"),
    ]
    assert in_context(asked("Call her.", talk)) == "Call her. Anna harbour nobody knows whether somebody"
    assert in_context(asked("Call her.", [*CALLS, ("assistant", "It was Rita Sá.")])).endswith("Rita Sá")


def test_what_the_request_says_is_not_said_again() -> None:
    assert (
        in_context(asked("Did Lola's sister call, or was it her?", [*CALLS, *CALLS])).casefold().count("lola")
        == 1
    )


def test_a_long_turn_gives_its_gist() -> None:
    turn = (
        f"Lisbon has many museums. {'Some are free on Sundays and others not. ' * 200}Which one do you want?"
    )
    completed = in_context(asked("The largest of them.", [("user", "Museums?"), ("assistant", turn)]))
    assert "museums" in tokenize(completed)
    assert "sundays" not in tokenize(completed)


def test_far_away_turns_are_forgotten() -> None:
    talk = [("user", "Zanzibar!"), *([("user", "Thanks."), ("assistant", "Sure.")] * 5)]
    assert in_context(asked("What about it?", talk)) == "What about it?"


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        ("Ruf bitte morgen früh meine Schwester in Hamburg an", "Soll ich den Wecker stellen?"),
        ("明天早上八点叫我起床去机场", "今天天气很好。"),
        ("ذكرني غدا صباحا بشراء الخبز والحليب", "الطقس جميل اليوم."),
        ("Lembra-me amanhã de comprar pão e leite", "Está bom tempo hoje."),
    ],
)
def test_whole_sentences_of_other_languages_stay_as_they_are(text: str, turn: str) -> None:
    assert in_context(asked(text, [("assistant", turn)])) == text


@pytest.mark.parametrize(
    ("text", "turn", "missing"),
    [
        ("Thompson.", "Meinst du Paul Gross oder Paul Thompson?", "Gross"),
        ("明天呢？", "今天上海天气怎么样？", "今天上海"),
    ],
)
def test_fragments_of_other_languages_are_completed(text: str, turn: str, missing: str) -> None:
    assert missing in in_context(asked(text, [("assistant", turn)]))


turns = st.lists(st.tuples(st.sampled_from(["user", "assistant", "?"]), st.text(max_size=200)), max_size=8)


@given(st.text(min_size=1).filter(str.strip), turns)
def test_the_request_is_always_there_in_full(text: str, talk: list[tuple[str, str]]) -> None:
    completed = in_context(asked(text, talk))
    assert completed.startswith(text)
    assert len(completed) <= len(text) + 8 * 33
    assert leans_on_history(asked(text, talk)) or completed == text


@given(st.sampled_from(["And her?", "Thompson.", "What about it?"]), turns)
def test_how_much_is_added_does_not_depend_on_how_much_was_said(
    text: str, talk: list[tuple[str, str]]
) -> None:
    longer = [(speaker, turn * 500) for speaker, turn in talk]
    assert len(in_context(asked(text, longer))) <= len(text) + 8 * 33


def test_the_vector_lies_midway(word_embedder: Embedder) -> None:
    request = asked("Call her back please.", CALLS)
    alone, completed = word_embedder.embed([request.text, in_context(request)])
    vector = vector_in_context(request, word_embedder)
    assert np.linalg.norm(vector) == pytest.approx(1)
    assert vector @ alone == pytest.approx(vector @ completed)
    assert vector @ alone > alone @ completed


def test_the_vector_of_what_stands_alone_is_its_own(word_embedder: Embedder) -> None:
    vector = vector_in_context(asked("Play some Miles Davis.", CALLS), word_embedder)
    np.testing.assert_array_equal(vector, word_embedder.embed(["Play some Miles Davis."])[0])
