"""Dividing a request that asks for several things."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.tools.subqueries import MAX_SUBQUERIES, split_subqueries

DIVIDED = [
    (
        "Find a flight to Oslo, book a table for two and tell Ana that I am coming",
        ("Find a flight to Oslo", "book a table for two", "tell Ana that I am coming"),
    ),
    (
        "I'm planning a party. Can you suggest some cocktails? Also, find me a DJ in Porto.",
        ("Can you suggest some cocktails?", "find me a DJ in Porto."),
    ),
    (
        "Could you help? First, convert 5000 euros to dollars. Then I need the weather in Rome.",
        ("convert 5000 euros to dollars.", "I need the weather in Rome."),
    ),
    (
        "Locate all supermarkets in Lima and find the most popular museum in Quito.",
        ("Locate all supermarkets in Lima", "find the most popular museum in Quito."),
    ),
    (
        "1. Get the news on rugby\n2. Check the price of gold",
        ("Get the news on rugby", "Check the price of gold"),
    ),
]
UNDIVIDED = [
    "Call mum and dad",
    "Find and replace the word in the note",
    "What's the weather in Oslo and Bergen?",
    "If it rains tomorrow, move the picnic to Sunday",
    "I haven't met with Raj in a while. Can you schedule a meeting on Friday?",
    'Play "Search the sky, find the moon and tell me why" by the Owls',
    "Book a table at Dr. Reis and Sons",
    "Toca a música que ouvi ontem",
    "Send it.",
    "",
]


@pytest.mark.parametrize(("text", "parts"), DIVIDED)
def test_parts_are_sentences_and_clauses_that_ask(text: str, parts: tuple[str, ...]) -> None:
    assert split_subqueries(text) == parts


@pytest.mark.parametrize("text", UNDIVIDED)
def test_request_for_one_thing_has_no_parts(text: str) -> None:
    assert split_subqueries(text) == ()


def test_long_list_is_searched_as_a_whole() -> None:
    wishes = [f"find the song number {number}" for number in range(MAX_SUBQUERIES + 1)]
    assert len(split_subqueries(". ".join(wishes[:-1]))) == MAX_SUBQUERIES
    assert split_subqueries(". ".join(wishes)) == ()
    assert split_subqueries("Find a song. " + "Play it loud " * 500) == ()


def test_repeated_part_counts_once() -> None:
    assert split_subqueries("Find a cheap flight. Find a cheap flight. Book a good hotel.") == (
        "Find a cheap flight.",
        "Book a good hotel.",
    )


@given(st.text(st.sampled_from("ab .,;?!\n\"'`()and1find you"), max_size=200))
def test_parts_are_substrings_of_the_request(text: str) -> None:
    parts = split_subqueries(text)
    assert len(parts) != 1
    assert all(part and part in text for part in parts)
