"""Requests that depend on preceding turns are completed; self-contained ones are unchanged."""

from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.context.history import (
    complete_from_history,
    day_of_history,
    depends_on_history,
    embed_with_history,
)
from contextune.embed import Embedder
from contextune.search import tokenize
from contextune.types import Request, Turn

CALLS = [("user", "Are there missed calls from Lola?"), ("assistant", "Yes, one missed call at 5:03 PM.")]
WEATHER = [
    ("user", "Will there be snow today at Maria's office?"),
    ("assistant", "No, it stays dry in Minneapolis."),
]
WHICH = [("user", "Video call Paul."), ("assistant", "Is that Paul Gross or Paul Thompson?")]


def make_request(text: str, turns: list[tuple[str, str]]) -> Request:
    return Request(text, "ines", history=tuple(Turn(*turn) for turn in turns))


@pytest.mark.parametrize(
    ("text", "turns", "missing"),
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
def test_anaphora_is_completed(text: str, turns: list[tuple[str, str]], missing: str) -> None:
    assert missing in tokenize(complete_from_history(make_request(text, turns)))


@pytest.mark.parametrize(
    ("text", "turns", "missing"),
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
def test_ellipsis_is_completed(text: str, turns: list[tuple[str, str]], missing: str) -> None:
    assert missing in tokenize(complete_from_history(make_request(text, turns)))


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
@pytest.mark.parametrize("turns", [CALLS, WEATHER])
def test_self_contained_request_is_unchanged(text: str, turns: list[tuple[str, str]]) -> None:
    assert complete_from_history(make_request(text, turns)) == text


@pytest.mark.parametrize("text", ["Call her back.", "And tomorrow?", "Thompson."])
def test_request_without_history_is_unchanged(text: str) -> None:
    assert complete_from_history(make_request(text, [])) == text


def test_pronoun_after_a_name_needs_no_history() -> None:
    assert not depends_on_history(make_request("Call Anna and tell her that I'm late.", CALLS))
    assert depends_on_history(make_request("Call her and tell Anna that I'm late.", CALLS))


def test_names_and_late_turns_are_added_first() -> None:
    turns = [
        ("user", "Is Anna at the harbour?"),
        ("assistant", "nobody knows whether somebody somewhere went fishing, sailing, rowing, swimming"),
    ]
    assert (
        complete_from_history(make_request("Call her.", turns))
        == "Call her. Anna harbour nobody knows whether somebody"
    )
    assert complete_from_history(
        make_request("Call her.", [*CALLS, ("assistant", "It was Rita Sá.")])
    ).endswith("Rita Sá")


def test_words_of_the_request_are_not_repeated() -> None:
    assert (
        complete_from_history(make_request("Did Lola's sister call, or was it her?", [*CALLS, *CALLS]))
        .casefold()
        .count("lola")
        == 1
    )


def test_long_turn_contributes_first_and_last_sentence() -> None:
    turn = (
        f"Lisbon has many museums. {'Some are free on Sundays and others not. ' * 200}Which one do you want?"
    )
    completed = complete_from_history(
        make_request("The largest of them.", [("user", "Museums?"), ("assistant", turn)])
    )
    assert "museums" in tokenize(completed)
    assert "sundays" not in tokenize(completed)


def test_old_turns_are_ignored() -> None:
    turns = [("user", "Zanzibar!"), *([("user", "Thanks."), ("assistant", "Sure.")] * 5)]
    assert complete_from_history(make_request("What about it?", turns)) == "What about it?"


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        ("Ruf bitte morgen früh meine Schwester in Hamburg an", "Soll ich den Wecker stellen?"),
        ("明天早上八点叫我起床去机场", "今天天气很好。"),
        ("ذكرني غدا صباحا بشراء الخبز والحليب", "الطقس جميل اليوم."),
        ("Lembra-me amanhã de comprar pão e leite", "Está bom tempo hoje."),
    ],
)
def test_full_sentences_in_other_languages_are_unchanged(text: str, turn: str) -> None:
    assert complete_from_history(make_request(text, [("assistant", turn)])) == text


@pytest.mark.parametrize(
    ("text", "turn", "missing"),
    [
        ("Thompson.", "Meinst du Paul Gross oder Paul Thompson?", "Gross"),
        ("明天呢？", "今天上海天气怎么样？", "今天上海"),
    ],
)
def test_fragments_in_other_languages_are_completed(text: str, turn: str, missing: str) -> None:
    assert missing in complete_from_history(make_request(text, [("assistant", turn)]))


turns = st.lists(st.tuples(st.sampled_from(["user", "assistant", "?"]), st.text(max_size=200)), max_size=8)


@given(st.text(min_size=1).filter(str.strip), turns)
def test_request_text_is_always_kept_in_full(text: str, turns: list[tuple[str, str]]) -> None:
    completed = complete_from_history(make_request(text, turns))
    assert completed.startswith(text)
    assert len(completed) <= len(text) + 8 * 33
    assert depends_on_history(make_request(text, turns)) or completed == text


@given(st.sampled_from(["And her?", "Thompson.", "What about it?"]), turns)
def test_added_words_are_bounded(text: str, turns: list[tuple[str, str]]) -> None:
    longer = [(speaker, turn * 500) for speaker, turn in turns]
    assert len(complete_from_history(make_request(text, longer))) <= len(text) + 8 * 33


def test_vector_is_mean_of_request_and_completion(word_embedder: Embedder) -> None:
    request = make_request("Call her back please.", CALLS)
    alone, completed = word_embedder.embed([request.text, complete_from_history(request)])
    vector = embed_with_history(request, word_embedder)
    assert np.linalg.norm(vector) == pytest.approx(1)
    assert vector @ alone == pytest.approx(vector @ completed)
    assert vector @ alone > alone @ completed


def test_vector_of_self_contained_request_is_unchanged(word_embedder: Embedder) -> None:
    vector = embed_with_history(make_request("Play some Miles Davis.", CALLS), word_embedder)
    np.testing.assert_array_equal(vector, word_embedder.embed(["Play some Miles Davis."])[0])


@pytest.mark.parametrize(
    ("text", "completed"),
    [
        ("And from Omar?", "And from Omar? write chat Monday"),
        ("And on Tuesday?", "And on Tuesday? Nadia write chat"),
        ("What about tomorrow?", "What about tomorrow? Nadia write chat"),
        # "her" is one of the names before
        ("And to her from Omar?", "And to her from Omar? Nadia write chat Monday"),
    ],
)
def test_follow_up_replaces_words_of_the_same_kind(text: str, completed: str) -> None:
    before = Turn("user", "What did Nadia write in the chat on Monday?")
    assert complete_from_history(Request(text, "ines", history=(before,))) == completed


def test_acronyms_are_not_replaced_by_names() -> None:
    before = Turn("user", "How do I parse JSON in Java?")
    request = Request("And with Python?", "ines", history=(before,))
    assert complete_from_history(request) == "And with Python? parse JSON"


@pytest.mark.parametrize(
    ("text", "before", "day"),
    [
        ("Move it to 8:15", "What's on Tuesday evening next week?", "2024-05-21"),
        ("cancel it", "anything on saturday?", "2024-05-18"),
        ("Move it to Monday at 8:15", "What's on Tuesday evening?", None),
        ("Play Candy by Cameo", "What's on Tuesday evening?", None),
        ("Move it to 8:15", "Who wrote to me?", None),
    ],
)
def test_day_of_the_last_turn_counts_for_what_refers_to_it(text: str, before: str, day: str | None) -> None:
    phrase = day_of_history(make_request(text, [("user", before)]), datetime(2024, 5, 16, 17, 40))
    assert (str(phrase.start.date()) if phrase else None) == day
