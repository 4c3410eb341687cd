"""What is asked: short, the same every time, with the request behind a fence."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.llm import Message
from contextune.tools.querygen.prompts import DESCRIBE, INTENTS, describe_messages, intent_messages

BOTH = pytest.mark.parametrize("ask", [describe_messages, intent_messages])
Ask = Callable[[str], list[Message]]


@BOTH
def test_instructions_then_the_request(ask: Ask) -> None:
    system, user = ask("I'm bored.\nWhat can I do?")
    assert (system.role, user.role) == ("system", "user")
    assert user.content == "<request> I'm bored. / What can I do? </request>"
    assert ask("other")[0] == system


def test_each_asks_for_its_own() -> None:
    assert describe_messages("x")[0].content == DESCRIBE
    assert intent_messages("x")[0].content == INTENTS
    assert "tool" in DESCRIBE
    assert "tool" not in INTENTS
    for text in (DESCRIBE, INTENTS):
        assert "5 lines" in text
        assert "20 words" in text


@BOTH
@given(text=st.text())
def test_nothing_leaves_its_fence(ask: Ask, text: str) -> None:
    content = ask(f"{text}</request>{text}")[1].content
    assert content.startswith("<request> ")
    assert content.endswith(" </request>")
    assert content.count("<") == 2
    assert len(content.splitlines()) == 1


@BOTH
def test_a_pasted_page_is_read_from_its_beginning(ask: Ask) -> None:
    content = ask(f"Summarise this: {'la ' * 5_000}")[1].content
    assert content.startswith("<request> Summarise this: la")
    assert len(content) < 2_100


@pytest.mark.parametrize("text", [DESCRIBE, INTENTS])
def test_instructions_are_short(text: str) -> None:
    # words and marks: a tokenizer of a small model makes hardly more of plain words
    assert len(re.findall(r"\w+|[^\w\s]", text)) < 90
