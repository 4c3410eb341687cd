"""Words that no tool mentions, and thresholds below which a search finds nothing."""

# pyright: basic

import pytest

from contextune.errors import InvalidRequestError
from contextune.tools import ToolFilter, ToolRetriever
from contextune.tools.index import ToolIndex
from contextune.tools.unknown_words import MAX_WORDS, unknown_words
from contextune.types import Tool

LAMP = Tool("light_turn_on", "Turn on lamps in a room.", "home")
FAN = Tool("fan_set", "Set the speed of a fan.", "home")
MAIL = Tool("send", "Send a message to somebody.", "mail")
TOOLS = [LAMP, FAN, MAIL]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Turn on the dehumidifier, please", ("dehumidifier",)),
        ("turn on a lamp", ()),  # only "lamps" is in a text
        ("Lights!", ()),
        ("messages sending to rooms", ()),
        ("Set 25 degrees", ("degrees",)),
        ("Dehumidifier? dehumidifier!", ("Dehumidifier",)),
        ("what is it", ()),
    ],
)
def test_words_that_no_tool_has(text: str, words: tuple[str, ...]) -> None:
    assert unknown_words(text, ToolIndex.lexical(TOOLS)) == words  # pyright: ignore[reportArgumentType]


def test_words_of_hidden_tools_are_unknown() -> None:
    index = ToolIndex.lexical(TOOLS)  # pyright: ignore[reportArgumentType]
    visible = index.visible(ToolFilter(servers=["home"]))
    assert unknown_words("message the fan", index, visible) == ("message",)


def test_the_longest_words_are_named() -> None:
    words = [f"{'x' * length}y" for length in range(4, 14)]
    assert unknown_words(" ".join(words), ToolIndex.lexical(TOOLS)) == tuple(words[-MAX_WORDS:])  # pyright: ignore[reportArgumentType]


def test_search_finds_nothing_below_the_threshold() -> None:
    text = "Descale the espresso machine"
    retriever = ToolRetriever(TOOLS)
    matches = retriever.find(text)
    assert matches.fits is not None
    strict = ToolRetriever(TOOLS, min_fit=min(1.0, matches.fits + 0.01))
    assert strict.find(text).none_fits
    assert strict.find(text).unknown_words == ("Descale", "espresso", "machine")
    assert strict.search(text) == []
    assert [hit.tool for hit in strict.search(text, always=["home/fan_set"])] == [FAN]
    lax = ToolRetriever(TOOLS, min_fit=matches.fits - 0.01)
    assert not lax.find(text).none_fits
    assert len(lax.search(text)) == len(retriever.search(text)) == 3


def test_a_named_tool_is_never_refused() -> None:
    hits = ToolRetriever(TOOLS, min_fit=1.0).search("Descale the espresso machine with light_turn_on")
    assert hits[0].tool == LAMP


def test_threshold_must_be_a_probability() -> None:
    with pytest.raises(InvalidRequestError, match="min_fit must be from 0 to 1, not 45"):
        ToolRetriever(TOOLS, min_fit=45)
