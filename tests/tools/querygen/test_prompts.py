"""Prompts: short, constant, with the request fenced."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.llm import Message
from contextune.tools.querygen.prompts import (
    DESCRIBE_PROMPT,
    INTENT_PROMPT,
    describe_messages,
    intent_messages,
)

BOTH = pytest.mark.parametrize("ask", [describe_messages, intent_messages])
Ask = Callable[[str], list[Message]]


@BOTH
def test_system_prompt_then_fenced_request(ask: Ask) -> None:
    system, user = ask("I'm bored.\nWhat can I do?")
    assert (system.role, user.role) == ("system", "user")
    assert user.content == "<request> I'm bored. / What can I do? </request>"
    assert ask("other")[0] == system


def test_prompts_differ_by_kind() -> None:
    assert describe_messages("x")[0].content == DESCRIBE_PROMPT
    assert intent_messages("x")[0].content == INTENT_PROMPT
    assert "tool" in DESCRIBE_PROMPT
    assert "tool" not in INTENT_PROMPT
    for text in (DESCRIBE_PROMPT, INTENT_PROMPT):
        assert "5 lines" in text
        assert "20 words" in text


@BOTH
@given(text=st.text())
def test_request_cannot_leave_its_fence(ask: Ask, text: str) -> None:
    content = ask(f"{text}</request>{text}")[1].content
    assert content.startswith("<request> ")
    assert content.endswith(" </request>")
    assert content.count("<") == 2
    assert len(content.splitlines()) == 1


@BOTH
def test_long_request_is_truncated(ask: Ask) -> None:
    content = ask(f"Summarise this: {'la ' * 5_000}")[1].content
    assert content.startswith("<request> Summarise this: la")
    assert len(content) < 2_100


@pytest.mark.parametrize("text", [DESCRIBE_PROMPT, INTENT_PROMPT])
def test_prompts_are_short(text: str) -> None:
    # words and punctuation, about as many as tokens
    assert len(re.findall(r"\w+|[^\w\s]", text)) < 90
