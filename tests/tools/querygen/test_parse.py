"""Parsing real and random answers of language models into queries."""

import json
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.tools.querygen.parse import combine_queries, parse_queries
from contextune.tools.querygen.prompts import DESCRIBE_PROMPT, INTENT_PROMPT

REQUEST = "Plan a small party for me"
TWO = ("Sends invitations to guests", "Orders food for delivery")
FOOD, GUESTS = TWO[1], TWO[0]


@pytest.mark.parametrize(
    "answer",
    [
        f"{GUESTS}\n{FOOD}",
        f"\n\n  {GUESTS}  \r\n\r\n{FOOD}\n",
        f"1. {GUESTS}\n2. {FOOD}",
        f"1.{GUESTS}\n2.{FOOD}",
        f"1) {GUESTS}\n2) {FOOD}",
        f"(1) {GUESTS}\n(2) {FOOD}",
        f"1: {GUESTS}\n2: {FOOD}",
        f"1 - {GUESTS}\n2 - {FOOD}",
        f"#1 : {GUESTS}\n#2 : {FOOD}",
        f"1. {GUESTS} 2. {FOOD}",
        f"Query 1: {GUESTS}\nQuery 2: {FOOD}",
        f"**API 1:** {GUESTS}\n**API 2:** {FOOD}",
        f"Step 1. {GUESTS}\nStep 2. {FOOD}",
        f"Description: {GUESTS}\nDescription: {FOOD}",
        f"Answer: {GUESTS}\n{FOOD}",
        f"- {GUESTS}\n- {FOOD}",
        f"-{GUESTS}\n-{FOOD}",
        f"* {GUESTS}\n* {FOOD}",
        f"• {GUESTS}\n– {FOOD}",
        f"### {GUESTS}\n> {FOOD}",
        f"  1. - **{GUESTS}**\n  2. - **{FOOD}**",
        f'"{GUESTS}"\n“{FOOD}”',
        f"1. '{GUESTS}',\n2. `{FOOD}`;",
        f"_{GUESTS}_\n*{FOOD}*",
        f"Sure, here are the descriptions:\n\n1. {GUESTS}\n2. {FOOD}",
        f"Sure! I can help with that.\n{GUESTS}\n{FOOD}",
        f"Sure, I can help: {GUESTS}\n{FOOD}",
        f"Sure: {GUESTS}\n{FOOD}",
        f"Here’s what would help:\n{GUESTS}\n{FOOD}",
        f"Certainly.\n{GUESTS}\n{FOOD}",
        f"The following tools\n{GUESTS}\n{FOOD}",
        f"To plan a party, you could use:\n{GUESTS}\n{FOOD}",
        f"Planning a party is fun and takes some tools.\n\n- {GUESTS}\n- {FOOD}\n\nThat covers all of it.",
        f"{GUESTS}\n{FOOD}\n\nLet me know if you need more.\nBook a clown",
        f"{GUESTS}\n{FOOD}\nI hope this helps!",
        f"{GUESTS}\n{FOOD}\nThese APIs can be used together.",
        f"{GUESTS}\n{FOOD}\nThese two tools cover the request.",
        f"{GUESTS}\n{FOOD}\nNote that I'm an AI.",
        f"{GUESTS}\n{FOOD}\n{GUESTS}.\n{FOOD.upper()}",
        f"{GUESTS}\n{REQUEST}!\n{FOOD}",
        f"<request> {REQUEST} </request>\n{GUESTS}\n{FOOD}",
        f"{GUESTS}\n{FOOD}<|im_end|>\n<|im_start|>user\nBook a clown",
        f"<|im_start|>assistant\n{GUESTS}\n{FOOD}<|endoftext|>Book a clown",
        f"<|start_header_id|>assistant<|end_header_id|>\n\n{GUESTS}\n{FOOD}<|eot_id|>",
        f"{GUESTS}\n{FOOD}</s> Book a clown",
        f"{GUESTS}\n{FOOD} [INST] Book a clown",
        f"{GUESTS}\n{FOOD}\n\n**Human:** thanks\nBook a clown",
        f"<think>A party!\nBook a clown</think>\n{GUESTS}\n{FOOD}",
        f"<ul>\n<li>{GUESTS}</li>\n<li>{FOOD}</li>\n</ul>",
        f"```\n{GUESTS}\n{FOOD}\n```",
        json.dumps(TWO),
        json.dumps(TWO, indent=2),
        f"Sure:\n```json\n{json.dumps(TWO)}\n```\nLet me know!",
        json.dumps({"descriptions": TWO}),
        json.dumps([{"description": GUESTS}, {"description": FOOD}]),
        json.dumps(TWO, indent=2)[:-2],  # cut off
        "\n".join(DESCRIBE_PROMPT.split(". ")) + f"\n{GUESTS}\n{FOOD}",
        "\n".join(INTENT_PROMPT.split(". ")) + f"\n{GUESTS}\n{FOOD}",
    ],
)
def test_only_the_queries_remain(answer: str) -> None:
    assert parse_queries(answer, REQUEST) == TWO


@pytest.mark.parametrize(
    "answer",
    [
        "",
        " \n\t\n",
        "...\n---\n***",
        "Sure!",
        "Sure, I can help you with that.",
        "I'm sorry, but I cannot help with that.",
        "I’m sorry.",
        "As an AI language model, I have no house.",
        "I'm glad to hear that. I'm glad to hear that. I'm glad",
        "I'm here to help.\nI'd love to hear about your party.\nCan you tell me your budget?",
        "Here are some ideas:",
        "None.",
        "N/A",
        "[]",
        "{}",
        "[1, 2]",
        "[" * 15_000,
        '{"a":' * 3_000,
        "<think>Let me see. The user",
        "<|im_end|>Book a clown",
        f"{REQUEST}.",
        f'1. "{REQUEST}"',
        f"<request> {REQUEST} </request>",
        f"Human: {REQUEST}",
        DESCRIBE_PROMPT.split(". ")[0],
        "caf\udce9"[3:],
    ],
)
def test_request_alone_if_nothing_is_usable(answer: str) -> None:
    assert parse_queries(answer, REQUEST) == (REQUEST,)


@pytest.mark.parametrize(
    "line",
    [
        "10:30 alarms and timers",
        "24/7 roadside assistance",
        "3D printing of models",
        "7-day weather forecast",
        "2.5D maps of a city",
        "Great-circle distance between two airports",
        "Thank you notes for guests",
        "Surely the nearest pharmacy",
        'Plays the film "Dune"',
        "Coffee Tips: Offers a list of tips for making coffee",
        "I don't want to wake up late",
        "This tool looks up trains",
        "Notes: makes one",
        "List all of the user's meetings [today]",
        "Find tools for a workshop",
        "予約できるレストランを探す",
    ],
)
def test_text_that_looks_like_markup_is_kept(line: str) -> None:
    assert parse_queries(line, REQUEST) == (line,)
    assert parse_queries(f"1. {line}\n2. {FOOD}", REQUEST) == (line, FOOD)


def test_name_and_description_are_one_query() -> None:
    tools = [{"name": "Guests", "description": "Invites them"}, {"name": "Food", "calls": 3}]
    assert parse_queries(json.dumps({"tools": tools}), REQUEST) == ("Guests: Invites them", "Food")
    assert parse_queries("- **Guests**: Invites them\n- **Food**", REQUEST) == (
        "Guests: Invites them",
        "Food",
    )


def test_at_most_five_queries_of_nineteen_words() -> None:
    lines = [f"{n}. Tool {letter}" for n, letter in enumerate("abcdefg", 1)]
    assert parse_queries("\n".join(lines), REQUEST) == tuple(f"Tool {letter}" for letter in "abcde")
    long = " ".join(string.ascii_lowercase)
    assert parse_queries(long, REQUEST) == (" ".join(string.ascii_lowercase[:19]),)
    assert len(parse_queries("予" * 5_000, REQUEST)[0]) < 300


def test_control_characters_are_removed() -> None:
    assert parse_queries("Find\x1b[31m caf\udce9s \u202e< near", REQUEST) == ("Find [31m cafs ‹ near",)


PIECES = st.sampled_from(
    [
        *(
            "1. ",
            "2) ",
            "- ",
            "**",
            '"',
            "Query 3: ",
            "Sure, ",
            "Here are:",
            "Let me know",
            "\n",
            "\n\n",
            "```",
        ),
        *(
            "<|im_end|>",
            "<think>",
            "</think>",
            "<request>",
            "[",
            "]",
            "{",
            "}",
            '"a"',
            ",",
            ":",
            "Human:",
            "\\",
        ),
        *("a tool that finds parks", "word " * 25, "\ud800", "\x00", "\u2028", "予", "  ", "’"),
    ]
)


@given(answer=st.one_of(st.text(), st.lists(PIECES).map("".join)), text=st.text())
def test_any_answer_gives_valid_queries(answer: str, text: str) -> None:
    queries = parse_queries(answer, text)
    assert queries == parse_queries(answer, text)
    if queries == (text,):
        return
    assert 1 <= len(queries) <= 5
    assert len({query.casefold() for query in queries}) == len(queries)
    assert text not in queries
    for query in queries:
        assert 1 <= len(query.split()) < 20
        assert query == query.strip()
        assert not {"Cc", "Cs"} & {unicodedata.category(character) for character in query}
        assert any(map(str.isalpha, query))


@pytest.mark.parametrize(
    "piece", ["\n", " ", "- ", "1. ", "**", "<think>", "<", "[", '"', "\nuser", "Sure ", "a:"]
)
def test_very_long_answers_are_parsed_in_bounded_time(piece: str) -> None:
    parse_queries(piece * 500_000, REQUEST)


def test_two_answers_are_combined_in_turn() -> None:
    assert combine_queries((FOOD, GUESTS), ("Eat",)) == (FOOD, "Eat", GUESTS)
    assert combine_queries((FOOD,), (FOOD.upper(), GUESTS)) == (FOOD, GUESTS)
    assert combine_queries((), (FOOD,)) == (FOOD,)
    assert combine_queries("abcd", "efgh") == ("a", "e", "b", "f", "c")
