"""What a model is told when probably no tool fits."""

from contextune.serve.mcp.tool import ToolSearchResult
from contextune.tools import ToolMatches
from contextune.types import Tool, ToolHit

HITS = (ToolHit(Tool("light_on", "Turn on a light.", "home"), 1.0),)


def note(matches: ToolMatches) -> str:
    return ToolSearchResult.from_matches(matches).note or ""


def test_the_note_names_words_that_no_tool_has() -> None:
    words = ("dehumidifier", "cellar")
    assert "No tool mentions: dehumidifier, cellar. Search" in note(
        ToolMatches(HITS, 0.2, unknown_words=words)
    )
    assert "mentions" not in note(ToolMatches(HITS, 0.2))
    assert not note(ToolMatches(HITS, 0.7, unknown_words=words))


def test_the_threshold_and_a_named_tool_decide() -> None:
    assert note(ToolMatches(HITS, 0.2))
    assert not note(ToolMatches(HITS, 0.2, min_fit=0.1))
    assert note(ToolMatches(HITS, 0.7, min_fit=0.8))
    assert not note(ToolMatches(HITS, 0.2, named=("home/light_on",)))
    assert not note(ToolMatches(HITS))
