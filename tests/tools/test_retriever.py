"""ToolRetriever: named tools, filters, context, past calls and examples."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import WordEmbedder
from tests.tools.tiny_ranker import bundled_retriever
from tests.tools.word_retrievers import FITTING, METHODS, PLAIN, TOOLBOX, ids, small_retriever, word_retriever

from contextune.embed import Matrix
from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.search import identifier_words
from contextune.tools import ToolFilter, ToolRetriever
from contextune.tools.query import PastCalls
from contextune.types import Annotations, Item, ItemHit, Tool

SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "camel": lambda name: name[0] + "".join(map(str.capitalize, name.split("_")))[1:],
    "shouted": str.upper,
    "quoted": lambda name: f"“{name}”",
    "asked": lambda name: f"{name}?",
    "as code": lambda name: f"`{name.replace('_', '-')}`",
    "called": lambda name: f"{name}(now)",
}


@pytest.mark.parametrize("method", ["hybrid", "learned"])
@settings(max_examples=80)
@given(
    tool=st.sampled_from(TOOLBOX),
    spelling=st.sampled_from(sorted(SPELLINGS)),
    before=st.text(max_size=60),
    after=st.text(max_size=60),
    k=st.integers(1, 5),
)
def test_named_tool_is_first(method: str, tool: Tool, spelling: str, before: str, after: str, k: int) -> None:
    first = word_retriever(method).search(f"{before} {SPELLINGS[spelling](tool.name)} {after}", k)[0]
    assert first.tool.id == tool.id
    assert first.reasons[0] == "the request names it"


@pytest.mark.parametrize("method", ["hybrid", "learned"])
def test_several_named_tools_come_first(method: str) -> None:
    text = "first search_notes, then send_email, then create_reminder about the weather in Porto"
    hits = word_retriever(method).search(text, 4)
    assert set(ids(hits)[:3]) == {"Notes/search_notes", "Mail/send_email", "Reminders/create_reminder"}
    assert len(hits) == 4


@pytest.mark.parametrize("method", ["hybrid", "learned"])
def test_name_on_two_servers_finds_both(method: str) -> None:
    tool = Tool("open_ticket", "Opens a ticket.", app="north", about="Helps the north.")
    others = [Tool(f"say_{n}", f"Says {n}.", app="x") for n in range(30)]
    found = small_retriever(*others, tool, replace(tool, app="south"), method=method).search(
        "say open_ticket twice", 3
    )
    assert ids(found)[:2] == ["north/open_ticket", "south/open_ticket"]


@pytest.mark.parametrize("method", ["hybrid", "learned"])
def test_ordinary_word_that_is_a_name_is_only_a_signal(method: str) -> None:
    text = "plan my run: a plan of morning training with the group"
    found = small_retriever(*FITTING, PLAIN, method=method).search(text, 6)
    assert ids(found)[0] == "sport/plan_training"
    assert "the request names it" not in found[ids(found).index("docker/run")].reasons[:1]
    # written as code or with its server, it is meant
    for named in (f"`run`: {text}", f"{text}, docker run"):
        assert ids(small_retriever(*FITTING, PLAIN, method=method).search(named, 2))[0] == "docker/run"


@pytest.mark.parametrize("method", METHODS)
def test_always_comes_first_and_only_once(method: str) -> None:
    search = partial(word_retriever(method).search, "send an email with send_email")
    always = ["get_weather", "Mail/send_email"]
    hits = search(5, always=always)
    assert ids(hits)[:2] == ["Google/get_weather", "Mail/send_email"]
    assert [tuple(hit.reasons) for hit in hits[:2]] == [("always offered",)] * 2
    assert len(set(ids(hits))) == len(hits)
    assert set(ids(search(5))) <= set(ids(hits))
    # by name and by id, it is one tool
    twice = search(5, always=["send_email", "Mail/send_email", "send_email"])
    assert ids(twice).count("Mail/send_email") == 1


def test_invalid_always_is_an_error() -> None:
    with pytest.raises(InvalidDataError, match="no tool 'fly'"):
        word_retriever("hybrid").search("send it", always=["send_email", "fly"])
    with pytest.raises(InvalidDataError, match="more than one tool is named 'run'"):
        small_retriever(PLAIN, replace(PLAIN, app="podman")).search("run it", always=["run"])


def test_always_ignores_the_filter() -> None:
    found = word_retriever("hybrid").search("send it", filter=ToolFilter(servers=()), always=["send_email"])
    assert ids(found) == ["Mail/send_email"]


READS = Tool("read_log", "Shows a log.", app="ops", annotations=Annotations(read_only=True))
ADDS = Tool("add_log", "Adds to a log.", app="ops", annotations=Annotations(destructive=False))
WIPES = Tool("wipe_log", "Wipes a log.", app="ops", annotations=Annotations(False, True))
UNDECLARED = Tool("log", "Does something with a log.", app="web")
ODD = Tool("peek_log", "Peeks.", app="web", annotations=Annotations(read_only=True, destructive=True))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("tool_filter", "tools"),
    [
        (ToolFilter(), {READS, ADDS, WIPES, UNDECLARED, ODD}),
        (ToolFilter(servers=["web"]), {UNDECLARED, ODD}),
        (ToolFilter(servers={"ops", "web"}), {READS, ADDS, WIPES, UNDECLARED, ODD}),
        (ToolFilter(read_only=True), {READS, ODD}),
        (ToolFilter(read_only=False), {ADDS, WIPES, UNDECLARED}),
        (ToolFilter(destructive=False), {READS, ADDS, ODD}),
        (ToolFilter(destructive=True), {WIPES, UNDECLARED}),
        (ToolFilter(servers=["web"], read_only=True), {ODD}),
        (ToolFilter(servers=["ops"], read_only=False, destructive=False), {ADDS}),
        (ToolFilter(servers=["nowhere"]), set[Tool]()),
        (ToolFilter(servers=[]), set[Tool]()),
        (ToolFilter(read_only=True, destructive=True), set[Tool]()),
    ],
)
def test_filter_restricts_the_tools(method: str, tool_filter: ToolFilter, tools: set[Tool]) -> None:
    retriever = small_retriever(READS, ADDS, WIPES, UNDECLARED, ODD, method=method)
    # whether the request names them or not
    for text in ("wipe_log, peek_log, add_log, log", "a log, a peek"):
        assert {hit.tool for hit in retriever.search(text, filter=tool_filter)} == tools


def test_servers_must_not_be_a_string() -> None:
    with pytest.raises(InvalidRequestError, match=r"list of names.*'ops'"):
        ToolFilter(servers="ops")


@pytest.mark.parametrize("method", METHODS)
def test_invalid_arguments_are_errors(method: str) -> None:
    retriever = word_retriever(method)
    for text in ("", "  \n"):
        with pytest.raises(InvalidRequestError, match="text is empty"):
            retriever.search(text)
    for k in (0, -1):
        with pytest.raises(InvalidRequestError, match=f"at least 1, not {k}"):
            retriever.search("send it", k)
    with pytest.raises(InvalidRequestError, match="'magic': use one of bm25, semantic, hybrid, learned"):
        ToolRetriever(TOOLBOX, WordEmbedder(), method="magic")


@pytest.mark.parametrize("method", METHODS)
def test_search_returns_k_distinct_tools(method: str) -> None:
    retriever = word_retriever(method)
    most = 59 if method != "bm25" else len(retriever.search("Who sang that song?", 59))
    assert most > 7
    for k in (1, 7, 59, 500):
        found = ids(retriever.search("Who sang that song?", k))
        assert len(found) == len(set(found)) == min(k, most)
    assert small_retriever(method=method).search("send it") == []


class FailingEmbedder:
    """An embedder that must not be used."""

    name = "failing"

    def embed(self, texts: Sequence[str]) -> Matrix:
        raise AssertionError(f"embedded {len(texts)} texts")


def test_bm25_embeds_nothing() -> None:
    retriever = ToolRetriever(TOOLBOX, FailingEmbedder(), method="bm25")
    hit = ItemHit(Item("d", "Notes", {"title": "The dog"}), 1.0)
    found = retriever.search("send an email", 3, context=[hit], filter=ToolFilter(), always=["get_weather"])
    assert "Mail/send_email" in ids(found)
    assert found == word_retriever("bm25").search("send an email", 3, always=["get_weather"])
    with pytest.raises(AssertionError, match="embedded 59 texts"):
        ToolRetriever(TOOLBOX, FailingEmbedder(), method="semantic")


def test_bm25_returns_only_tools_that_share_a_word() -> None:
    retriever = small_retriever(*FITTING, PLAIN, method="bm25")
    assert ids(retriever.search("container", 6)) == ["docker/run"]
    assert retriever.search("xyzzy plugh", 6) == []
    assert all(hit.score > 0 and hit.reasons for hit in retriever.search("the morning group", 6))


def test_retriever_is_thread_safe() -> None:
    texts = [f"{' '.join(identifier_words(tool.name))} please" for tool in TOOLBOX[:12]]
    fresh = ToolRetriever(TOOLBOX, WordEmbedder())
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fresh.search, texts)) == list(map(word_retriever("learned").search, texts))


CONTEXTS = [
    Item("m", "Mail", {"subject": "Quote for the kiln", "date": "2024-05-16T08:00"}),
    Item("n", "Notes", {"title": "Glaze recipe", "modified": "2024-05-16T08:00"}),
    Item("s", "Music", {"song_name": "Barco Negro", "artist": "Mariza", "played_time": "2024-05-16"}),
]


@pytest.mark.parametrize("item", CONTEXTS, ids=lambda item: item.app)
def test_context_ranks_tools_of_its_app_higher(item: Item) -> None:
    text = "Open the one from this morning."
    plain = ids(bundled_retriever().search(text, 59))
    moved = bundled_retriever().search(text, 59, context=[ItemHit(item, 1.0)])
    assert moved[0].tool.app == item.app
    app_tools = [tool.id for tool in TOOLBOX if tool.app == item.app]
    rank_with, rank_without = (
        np.mean([ranking.index(tool) for tool in app_tools]) for ranking in (ids(moved), plain)
    )
    assert rank_with < rank_without


def test_context_counts_by_meaning() -> None:
    retriever = small_retriever(*FITTING, Tool("wash_dog", "Washes a dog.", app="pets"), method="semantic")
    hit = ItemHit(Item("d", "Notes", {"title": "The dog rolled in mud, needs a wash"}), 1.0)
    assert ids(retriever.search("take care of that", 1, context=[hit])) == ["pets/wash_dog"]


def past_call(retriever: ToolRetriever, tool: str, text: str, *, ok: bool) -> PastCalls:
    positions = [position for position, other in enumerate(retriever.catalog) if other.name == tool]
    return PastCalls(np.array(positions), retriever.embedder.embed([text]), np.array([3.0]), np.array([ok]))


def test_right_past_call_ranks_higher_than_wrong_one() -> None:
    text = "Sort it out with her."
    retriever = bundled_retriever()
    plain = ids(retriever.find(text, 59).hits)
    for tool in (plain[1], plain[2], plain[8], plain[20]):
        name = tool.split("/")[1]
        right = retriever.find(text, 59, past_calls=past_call(retriever, name, text, ok=True)).hits
        wrong = retriever.find(text, 59, past_calls=past_call(retriever, name, text, ok=False)).hits
        assert ids(right).index(tool) < plain.index(tool)
        assert ids(wrong)[0] != tool
        assert ids(right).index(tool) < ids(wrong).index(tool)
        assert "was right for similar requests before" in right[ids(right).index(tool)].reasons
        assert not any("was right" in reason for hit in wrong for reason in hit.reasons)


def test_examples_find_tools_that_descriptions_do_not() -> None:
    wanted = {
        "Remind me to buy milk": "create_reminder",
        "remind me to unload the kiln": "create_reminder",
        "Schedule a meeting with Ola on Friday at two": "create_event",
        "Note down that the gate code is 4711": "create_note",
    }
    described = ToolRetriever([replace(tool, examples=()) for tool in TOOLBOX])
    missed = [text for text, name in wanted.items() if described.search(text, 1)[0].tool.name != name]
    assert len(missed) >= 2
    for text, name in wanted.items():
        assert bundled_retriever().search(text, 1)[0].tool.name == name
        # the vectors of examples do not count for the probability that any tool fits, their words do
        assert bundled_retriever().find(text, 1).fits == pytest.approx(described.find(text, 1).fits, abs=0.2)
