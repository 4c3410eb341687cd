"""What models really write, and what is left of it to search for."""

import json
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.tools.querygen.parse import parse
from contextune.tools.querygen.prompts import DESCRIBE, INTENTS

ASKED = "Plan a small party for me"
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
        f"{GUESTS}\n{ASKED}!\n{FOOD}",
        f"<request> {ASKED} </request>\n{GUESTS}\n{FOOD}",
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
        "\n".join(DESCRIBE.split(". ")) + f"\n{GUESTS}\n{FOOD}",
        "\n".join(INTENTS.split(". ")) + f"\n{GUESTS}\n{FOOD}",
    ],
)
def test_only_the_queries_are_left(answer: str) -> None:
    assert parse(answer, ASKED) == TWO


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
        f"{ASKED}.",
        f'1. "{ASKED}"',
        f"<request> {ASKED} </request>",
        f"Human: {ASKED}",
        DESCRIBE.split(". ")[0],
        "caf\udce9"[3:],
    ],
)
def test_the_request_alone_where_nothing_is_usable(answer: str) -> None:
    assert parse(answer, ASKED) == (ASKED,)


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
def test_what_only_looks_like_wrapping_stays(line: str) -> None:
    assert parse(line, ASKED) == (line,)
    assert parse(f"1. {line}\n2. {FOOD}", ASKED) == (line, FOOD)


def test_a_name_and_what_it_does_are_one_query() -> None:
    tools = [{"name": "Guests", "description": "Invites them"}, {"name": "Food", "calls": 3}]
    assert parse(json.dumps({"tools": tools}), ASKED) == ("Guests: Invites them", "Food")
    assert parse("- **Guests**: Invites them\n- **Food**", ASKED) == ("Guests: Invites them", "Food")


def test_five_are_enough_and_nineteen_words() -> None:
    lines = [f"{n}. Tool {letter}" for n, letter in enumerate("abcdefg", 1)]
    assert parse("\n".join(lines), ASKED) == tuple(f"Tool {letter}" for letter in "abcde")
    long = " ".join(string.ascii_lowercase)
    assert parse(long, ASKED) == (" ".join(string.ascii_lowercase[:19]),)
    assert len(parse("予" * 5_000, ASKED)[0]) < 300


def test_a_query_is_fit_to_be_shown_and_embedded() -> None:
    assert parse("Find\x1b[31m caf\udce9s \u202e< near", ASKED) == ("Find [31m cafs ‹ near",)


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
def test_whatever_a_model_writes(answer: str, text: str) -> None:
    found = parse(answer, text)
    assert found == parse(answer, text)
    if found == (text,):
        return
    assert 1 <= len(found) <= 5
    assert len({query.casefold() for query in found}) == len(found)
    assert text not in found
    for query in found:
        assert 1 <= len(query.split()) < 20
        assert query == query.strip()
        assert not {"Cc", "Cs"} & {unicodedata.category(character) for character in query}
        assert any(map(str.isalpha, query))


@pytest.mark.parametrize(
    "piece", ["\n", " ", "- ", "1. ", "**", "<think>", "<", "[", '"', "\nuser", "Sure ", "a:"]
)
def test_long_answers_take_no_longer(piece: str) -> None:
    parse(piece * 500_000, ASKED)
