"""A tool that the request names comes first, also after the learned parts have reordered the list."""

# pyright: basic

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextune import SQLiteStore, Tuner, User
from contextune.tools import Catalog, ToolMatches, ToolQueries, ToolRetriever, search_all
from contextune.tools.index import ToolIndex
from contextune.tools.naming import find_telling_names
from contextune.tools.reading import ReadTools, ToolReadingRankers, reorder
from contextune.tools.tool_text import name_spans
from contextune.types import Request, Tool, ToolHit

NAMES = {
    "forecast": "Tell the weather of the next days.",
    "post_note": "Write a note.",
    "search": "Search the web.",
    "bookTable": "Reserve a table in a restaurant.",
    "mail.send": "Send a mail to a person.",
    "call_person": "Ring somebody up.",
    "play_song": "Play a song.",
    "set_alarm": "Set an alarm.",
}
TOOLS = [Tool(name, text, "desk") for name, text in NAMES.items()]
REQUESTS = {
    "use post_note to play a song about the weather": "post_note",
    "send her a mail with `search`": "search",
    "Reserve a table in a restaurant, with the tool `forecast`": "forecast",
    "ring somebody up with bookTable": "bookTable",
    "search the web for weather with mail.send": "mail.send",
    "Play a song of the weather, set an alarm: desk/call_person": "call_person",
    "set alarm": "set_alarm",
    "search": "search",
}


@pytest.fixture(scope="module")
def tuner(tmp_path_factory: pytest.TempPathFactory) -> Tuner:
    store = SQLiteStore(tmp_path_factory.mktemp("named") / "me.db")
    store.put_user(User("ines"))
    return Tuner(store, tools=TOOLS)


@pytest.mark.parametrize(("text", "name"), REQUESTS.items())
def test_named_tool_is_first_in_a_search(text: str, name: str) -> None:
    for method in ("learned", "hybrid"):
        assert ToolRetriever(TOOLS, method=method).search(text)[0].tool.name == name


@pytest.mark.parametrize(("text", "name"), REQUESTS.items())
def test_named_tool_is_first_after_reading(tuner: Tuner, text: str, name: str) -> None:
    request = Request(text, "ines", datetime(2026, 11, 12, 9))
    hits = tuner.tools(request, context=[]).hits
    assert hits[0].tool.name == name
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


class Against:
    """A ranker that puts the last row first."""

    def score(self, matrix: np.ndarray) -> np.ndarray:
        return np.arange(len(matrix), dtype=np.float32)


def test_the_order_of_a_model_cannot_displace_a_named_tool() -> None:
    hits = [ToolHit(tool, 1.0) for tool in TOOLS]
    read = ReadTools(hits, np.zeros((len(hits), 1), np.float32), np.zeros((1, 1), np.float32))
    rankers = ToolReadingRankers(Against(), Against())  # pyright: ignore[reportArgumentType]
    plain = reorder(ToolMatches(tuple(hits)), read, rankers)
    assert plain.hits[0].tool == TOOLS[-1]
    named = replace(ToolMatches(tuple(hits)), named=(TOOLS[1].id,), unknown_words=("drone",))
    ordered = reorder(named, read, rankers)
    assert [hit.tool for hit in ordered.hits[:2]] == [TOOLS[1], TOOLS[-1]]
    assert (ordered.named, ordered.unknown_words) == (named.named, named.unknown_words)


def test_named_tools_come_before_those_of_written_queries() -> None:
    text = "with post_note and set_alarm"
    queries = ToolQueries(text, ("play a song",), ("play a song", text))
    names = [hit.tool.name for hit in search_all(ToolRetriever(TOOLS), queries).hits]
    assert set(names[:2]) == {"post_note", "set_alarm"}


@pytest.mark.parametrize("text", ['play "Search" by Neu', "don't search's results", "the 'forecasts' song"])
def test_other_quotations_name_no_tool(text: str) -> None:
    assert ToolRetriever(TOOLS).find(text).named == ()


WORDS = st.sampled_from(["get", "list", "send", "time", "room", "mail", "v2", "a", "search", "book", "user"])
SPELLINGS: dict[str, Callable[[list[str]], str]] = {
    "snake": "_".join,
    "dotted": ".".join,
    "path": lambda words: "/" + "/".join(words),
    "hyphens": "-".join,
    "camel": lambda words: words[0] + "".join(map(str.capitalize, words[1:])),
}
NAME = st.builds(
    lambda words, spelling: SPELLINGS[spelling](words),
    st.lists(WORDS, min_size=2, max_size=4),
    st.sampled_from([*SPELLINGS]),
)
CATALOGUE = st.lists(NAME, min_size=2, max_size=6, unique_by=str.casefold)
AROUND = st.sampled_from(
    ["{}", "call {} now", "List my mail, then use {}", "Send a mail with {}, please.", "{}: book a room"]
)


@settings(max_examples=150, deadline=None)
@given(CATALOGUE, st.data(), AROUND, st.booleans())
def test_a_name_written_as_an_identifier_leads(
    names: list[str], data: st.DataObject, around: str, quoted: bool
) -> None:
    """Whatever the other tools are called; what leads comes first in every result, see above."""
    name = data.draw(st.sampled_from(names))
    text = around.format(f"`{name}`" if quoted else name)
    tools = [Tool(each, "Sends mail, lists users and books a room in time.", "desk") for each in names]
    index = ToolIndex.lexical(Catalog(tools))
    leading = find_telling_names(index, text, index.find_named(name_spans(text)))
    assert [index.catalog[position].name for position in leading][:1] == [name]
