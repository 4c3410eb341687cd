"""Finding tools: what is named is not missed, what may not be found is not, and the rest is in order."""

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import WordEmbedder
from tests.tools.tiny_ranker import shipped, tiny_ranker

from contextune.embed import Matrix
from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.search import identifier_words
from contextune.tools import ToolFilter, ToolRetriever, bundled_toolbox
from contextune.tools.query import PastCalls
from contextune.types import Annotations, Item, ItemHit, Tool, ToolHit

METHODS = ("bm25", "semantic", "hybrid", "learned")
TOOLBOX = bundled_toolbox()
MIXED = random.Random(4).sample(TOOLBOX, len(TOOLBOX))


@cache
def words_only(method: str) -> ToolRetriever:
    """Over the bundled toolbox, by words in common; the learned ranking is the one that ships."""
    return ToolRetriever(TOOLBOX, WordEmbedder(), method=method)


def ids(hits: Sequence[ToolHit]) -> list[str]:
    return [hit.tool.id for hit in hits]


def small(*tools: Tool, method: str = "hybrid") -> ToolRetriever:
    ranker = tiny_ranker("meaning") if method == "learned" else None
    return ToolRetriever(tools, WordEmbedder(), method=method, ranker=ranker)


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "kebab": lambda name: name.replace("_", "-"),
    "camel": lambda name: name[0] + "".join(map(str.capitalize, name.split("_")))[1:],
    "in words": lambda name: name.replace("_", " "),
    "shouted": str.upper,
    "quoted": lambda name: f"“{name}”",
    "asked": lambda name: f"{name}?",
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
def test_a_tool_that_is_named_is_never_missed(
    method: str, tool: Tool, spelling: str, before: str, after: str, k: int
) -> None:
    first = words_only(method).search(f"{before} {SPELLINGS[spelling](tool.name)} {after}", k)[0]
    assert first.tool.id == tool.id
    assert first.reasons[0] == "the request names it"


@pytest.mark.parametrize("method", ["hybrid", "learned"])
def test_several_that_are_named_all_lead(method: str) -> None:
    text = "first search_notes, then send_email, then create_reminder about the weather in Porto"
    hits = words_only(method).search(text, 4)
    assert set(ids(hits)[:3]) == {"Notes/search_notes", "Mail/send_email", "Reminders/create_reminder"}
    assert len(hits) == 4


@pytest.mark.parametrize("method", ["hybrid", "learned"])
def test_a_name_that_two_servers_have_finds_both(method: str) -> None:
    tool = Tool("open_ticket", "Opens a ticket.", app="north", about="Helps the north.")
    others = [Tool(f"say_{n}", f"Says {n}.", app="x") for n in range(30)]
    found = small(*others, tool, replace(tool, app="south"), method=method).search("say open_ticket twice", 3)
    assert ids(found)[:2] == ["north/open_ticket", "south/open_ticket"]


PLAIN = Tool("run", "Starts a container.", app="docker")
FITTING = [
    Tool("plan_training", "Makes a plan of morning training with the group.", app="sport"),
    Tool("join_training", "Joins a group for morning training.", app="sport"),
    Tool("show_plan", "Shows the plan of the morning.", app="sport"),
    Tool("invite_group", "Invites the group.", app="sport"),
    Tool("log_training", "Notes down a training.", app="sport"),
]


@pytest.mark.parametrize("method", ["hybrid", "learned"])
@pytest.mark.parametrize("k", [2, 3])
def test_a_tool_called_by_one_plain_word_is_kept_in_sight_and_does_not_take_over(method: str, k: int) -> None:
    text = "plan my run: a plan of morning training with the group"
    found = ids(small(*FITTING, PLAIN, method=method).search(text, k))
    assert found[0] == "sport/plan_training"
    assert found[-1] == "docker/run"
    assert len(found) == k
    # under another name it would not be there
    other = replace(PLAIN, name="start_container")
    assert other.id not in ids(small(*FITTING, other, method=method).search(text, k))


@pytest.mark.parametrize("method", METHODS)
def test_always_comes_first_and_not_twice(method: str) -> None:
    search = partial(words_only(method).search, "send an email with send_email")
    always = ["get_weather", "Mail/send_email"]
    hits = search(5, always=always)
    assert ids(hits)[:2] == ["Google/get_weather", "Mail/send_email"]
    assert [tuple(hit.reasons) for hit in hits[:2]] == [("always offered",)] * 2
    assert len(set(ids(hits))) == len(hits)
    assert set(ids(search(5))) <= set(ids(hits))
    # one tool said by its name and by its id is one tool
    twice = search(5, always=["send_email", "Mail/send_email", "send_email"])
    assert ids(twice).count("Mail/send_email") == 1


def test_always_that_cannot_be() -> None:
    with pytest.raises(InvalidDataError, match="no tool 'fly'"):
        words_only("hybrid").search("send it", always=["send_email", "fly"])
    with pytest.raises(InvalidDataError, match="more than one tool is called 'run'"):
        small(PLAIN, replace(PLAIN, app="podman")).search("run it", always=["run"])


def test_always_is_offered_though_nothing_else_may_be_found() -> None:
    found = words_only("hybrid").search("send it", only=ToolFilter(servers=()), always=["send_email"])
    assert ids(found) == ["Mail/send_email"]


READS = Tool("read_log", "Shows a log.", app="ops", annotations=Annotations(read_only=True))
SURE = Tool("add_log", "Adds to a log.", app="ops", annotations=Annotations(destructive=False))
WIPES = Tool("wipe_log", "Wipes a log.", app="ops", annotations=Annotations(False, True))
SILENT = Tool("log", "Does something with a log.", app="web")
ODD = Tool("peek_log", "Peeks.", app="web", annotations=Annotations(read_only=True, destructive=True))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("only", "found"),
    [
        (ToolFilter(), {READS, SURE, WIPES, SILENT, ODD}),
        (ToolFilter(servers=["web"]), {SILENT, ODD}),
        (ToolFilter(servers={"ops", "web"}), {READS, SURE, WIPES, SILENT, ODD}),
        (ToolFilter(read_only=True), {READS, ODD}),
        (ToolFilter(read_only=False), {SURE, WIPES, SILENT}),
        (ToolFilter(destructive=False), {READS, SURE, ODD}),
        (ToolFilter(destructive=True), {WIPES, SILENT}),
        (ToolFilter(servers=["web"], read_only=True), {ODD}),
        (ToolFilter(servers=["ops"], read_only=False, destructive=False), {SURE}),
        (ToolFilter(servers=["nowhere"]), set[Tool]()),
        (ToolFilter(servers=[]), set[Tool]()),
        (ToolFilter(read_only=True, destructive=True), set[Tool]()),
    ],
)
def test_only_some_may_be_found(method: str, only: ToolFilter, found: set[Tool]) -> None:
    retriever = small(READS, SURE, WIPES, SILENT, ODD, method=method)
    # named or not, what may not be found is not found
    for text in ("wipe_log, peek_log, add_log, log", "anything"):
        assert {hit.tool for hit in retriever.search(text, only=only)} == found


def test_one_server_is_not_taken_for_its_letters() -> None:
    with pytest.raises(InvalidRequestError, match=r"'ops'.*list"):
        ToolFilter(servers="ops")


@pytest.mark.parametrize("method", METHODS)
def test_what_is_refused(method: str) -> None:
    retriever = words_only(method)
    for text in ("", "  \n"):
        with pytest.raises(InvalidRequestError, match="no text"):
            retriever.search(text)
    for k in (0, -1):
        with pytest.raises(InvalidRequestError, match=f"k={k}"):
            retriever.search("send it", k)
    with pytest.raises(InvalidRequestError, match="'magic': choose among bm25, semantic, hybrid, learned"):
        ToolRetriever(TOOLBOX, WordEmbedder(), method="magic")


@pytest.mark.parametrize("method", METHODS)
def test_as_many_as_asked_for_each_once(method: str) -> None:
    retriever = words_only(method)
    for k in (1, 7, 59, 500):
        found = ids(retriever.search("Who sang that song?", k))
        assert len(found) == len(set(found)) == min(k, 59)
    assert (
        ids(retriever.search("Who sang that song?", 7))
        == ids(retriever.search("Who sang that song?", 59))[:7]
    )
    assert small(method=method).search("send it") == []


def test_all_of_a_large_catalogue_can_be_had() -> None:
    tools = [Tool(f"do_{n}_thing", f"Serves purpose {n}.", app="a") for n in range(300)]
    found = small(*tools, method="learned").find("purpose 77", 300)
    assert sorted(ids(found.hits)) == sorted(tool.id for tool in tools)
    assert found.hits[0].tool.name == "do_77_thing"
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert found.hits[-1].reasons == ()


class Distinct(WordEmbedder):
    """Words in common, and a little that is every text's own, so that no two likenesses are equal."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        own = [np.random.default_rng(crc32(text.encode())).normal(size=512) for text in texts]
        rows = super().embed(texts) + 0.02 * np.array(own, np.float32).reshape(len(texts), 512)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("method", ["bm25", "semantic", "learned"])
@pytest.mark.parametrize("text", ["What is the weather like?", "Skip this song.", "xyzzy plugh"])
def test_the_order_of_the_catalogue_decides_between_equals_and_nothing_else(method: str, text: str) -> None:
    found = [ToolRetriever(tools, Distinct(), method=method).search(text, 59) for tools in (TOOLBOX, MIXED)]
    scores = [{hit.tool.id: hit.score for hit in hits} for hits in found]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)
    for tools, hits in zip((TOOLBOX, MIXED), found, strict=True):
        place = {tool.id: number for number, tool in enumerate(tools)}
        order = [(-hit.score, place[hit.tool.id]) for hit in hits]
        assert order == sorted(order)


@pytest.mark.parametrize("tools", [TOOLBOX, MIXED], ids=["in order", "mixed"])
def test_without_a_word_in_common_hybrid_goes_by_meaning(tools: list[Tool]) -> None:
    by_meaning, both = (
        ToolRetriever(tools, Distinct(), method=method).search("xyzzy plugh", 59)
        for method in ("semantic", "hybrid")
    )
    assert ids(both) == ids(by_meaning)


@pytest.mark.parametrize("method", METHODS)
def test_equals_come_in_the_order_of_the_catalogue(method: str) -> None:
    one = Tool("open_door", "Opens the door of the garage.", app="home")
    other = replace(one, name="open-door")
    for pair in ((one, other), (other, one)):
        found = small(*FITTING, pair[0], PLAIN, pair[1], method=method).search("the garage door", 2)
        assert ids(found) == [tool.id for tool in pair]


def test_threads_get_the_same_answers() -> None:
    texts = [f"{' '.join(identifier_words(tool.name))} please" for tool in TOOLBOX[:12]]
    fresh = ToolRetriever(TOOLBOX, WordEmbedder())
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fresh.search, texts)) == list(map(words_only("learned").search, texts))


CONTEXTS = [
    Item("m", "Mail", {"subject": "Quote for the kiln", "date": "2024-05-16T08:00"}),
    Item("n", "Notes", {"title": "Glaze recipe", "modified": "2024-05-16T08:00"}),
    Item("s", "Music", {"song_name": "Barco Negro", "artist": "Mariza", "played_time": "2024-05-16"}),
]


@pytest.mark.parametrize("item", CONTEXTS, ids=lambda item: item.app)
def test_the_context_moves_the_tools_of_its_application_up(item: Item) -> None:
    text = "Open the one from this morning."
    plain = ids(shipped().search(text, 59))
    moved = shipped().search(text, 59, context=[ItemHit(item, 1.0)])
    assert moved[0].tool.app == item.app
    own = [tool.id for tool in TOOLBOX if tool.app == item.app]
    assert np.mean([ids(moved).index(one) for one in own]) < np.mean([plain.index(one) for one in own])


def test_the_context_counts_by_meaning_too() -> None:
    retriever = small(*FITTING, Tool("wash_dog", "Washes a dog.", app="pets"), method="semantic")
    hit = ItemHit(Item("d", "Notes", {"title": "The dog rolled in mud, needs a wash"}), 1.0)
    assert ids(retriever.search("take care of that", 1, context=[hit])) == ["pets/wash_dog"]


def past(retriever: ToolRetriever, tool: str, text: str, *, ok: bool) -> PastCalls:
    places = [place for place, one in enumerate(retriever.catalog) if one.name == tool]
    return PastCalls(np.array(places), retriever.embedder.embed([text]), np.array([3.0]), np.array([ok]))


def test_a_tool_that_was_right_for_such_a_request_moves_up_and_one_that_was_wrong_does_not() -> None:
    text = "Sort it out with her."
    retriever = shipped()
    plain = ids(retriever.find(text, 59).hits)
    for tool in (plain[1], plain[2], plain[8], plain[20]):
        name = tool.split("/")[1]
        right = retriever.find(text, 59, past=past(retriever, name, text, ok=True)).hits
        wrong = retriever.find(text, 59, past=past(retriever, name, text, ok=False)).hits
        assert ids(right).index(tool) < plain.index(tool)
        assert ids(wrong)[0] != tool
        assert ids(right).index(tool) < ids(wrong).index(tool)
        assert "was right for requests like this before" in right[ids(right).index(tool)].reasons
        assert not any("was right" in said for hit in wrong for said in hit.reasons)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Remind me to buy milk", "create_reminder"),
        ("remind me to unload the kiln", "create_reminder"),
        ("Schedule a meeting with Ola on Friday at two", "create_event"),
        ("Note down that the gate code is 4711", "create_note"),
    ],
)
def test_what_people_say_finds_what_descriptions_do_not(text: str, tool: str) -> None:
    assert shipped().search(text, 1)[0].tool.name == tool
    described = ToolRetriever([replace(one, examples=()) for one in TOOLBOX])
    assert described.search(text, 1)[0].tool.name != tool
    # an example says which tool, not whether there is one
    assert shipped().find(text, 1).fits == pytest.approx(described.find(text, 1).fits, abs=0.05)
