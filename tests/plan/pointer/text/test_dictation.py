"""Free text that a request dictates."""

import pytest

from contextune.plan.pointer.text.dictation import line_to_add, note_content, search_words


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Add yeast to the Mercado note", "yeast"),
        ("Add thick socks to the Delft box", "thick socks"),
        ("Add no shoes on the couch to the house rules", "no shoes on the couch"),
        ("Add to the baby quilt note that the batting is bought", "the batting is bought"),
        ("Add to my packing list: a towel", "a towel"),
    ],
)
def test_line_is_what_stands_before_the_note(text: str, line: str) -> None:
    assert line_to_add(text) == line


def test_search_has_no_topic_if_only_a_time_is_said() -> None:
    for text in (
        "What did I look up recently?",
        "What did I search for lately?",
        "What did I google last night?",
    ):
        assert search_words(text, frozenset()) is None
    assert search_words("What did I search for about Lisbon?", frozenset()) == "Lisbon"


@pytest.mark.parametrize(
    "text",
    [
        "What's the latest on the port strike?",
        "any updates on the port strike",
        "Any news about the port strike",
    ],
)
def test_news_are_searched_by_their_subject(text: str) -> None:
    assert search_words(text, frozenset()) == "port strike"


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Take a note that the boiler code is F28", "the boiler code is F28"),
        ("Note down parking level 3", "parking level 3"),
        ("Please jot down that Jan is away", "Jan is away"),
        ("Note that Jan is away", "Jan is away"),
        ("Write down that", None),
        ("Take a note", None),
    ],
)
def test_content_of_a_note_is_what_is_said(text: str, content: str | None) -> None:
    assert note_content(text) == content
