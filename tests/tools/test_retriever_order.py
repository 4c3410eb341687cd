"""ToolRetriever: the order of tools for any `k`, and ties."""

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import WordEmbedder
from tests.tools.tiny_ranker import tiny_ranker
from tests.tools.word_retrievers import FITTING, METHODS, PLAIN, TOOLBOX, ids, small_retriever

from contextune.embed import Matrix
from contextune.tools import ToolRetriever
from contextune.types import Tool

MIXED = random.Random(4).sample(TOOLBOX, len(TOOLBOX))


class NoisyWordEmbedder(WordEmbedder):
    """Hashed words plus a little noise per text, so that no two similarities are equal."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        noise = [np.random.default_rng(crc32(text.encode())).normal(size=512) for text in texts]
        rows = super().embed(texts) + 0.02 * np.array(noise, np.float32).reshape(len(texts), 512)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


WORDS = ("list", "all", "search", "open", "door", "mail", "note", "help", "me", "garage", "run", "get")
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map("_".join)
PHRASES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
CATALOGUES = st.lists(
    st.builds(Tool, NAMES, PHRASES, app=st.sampled_from(["", "mail", "home", "door"])),
    min_size=1,
    max_size=12,
    unique_by=lambda tool: tool.id,
)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40)
@given(tools=CATALOGUES, text=st.one_of(PHRASES, NAMES, st.tuples(PHRASES, NAMES).map(" ".join)))
def test_shorter_list_is_the_head_of_the_longer(method: str, tools: list[Tool], text: str) -> None:
    retriever = small_retriever(*tools, method=method)
    longest = retriever.find(text, 13)
    for k in range(1, 13):
        shorter = retriever.find(text, k)
        assert shorter.hits == longest.hits[:k]
        assert shorter.fits == longest.fits


LARGE = [
    *(
        Tool(f"{verb}_{noun}", f"Does {verb} of {noun} {number % 7}.", app=app)
        for app in ("mail", "home", "door")
        for number, (verb, noun) in enumerate((verb, noun) for verb in WORDS for noun in WORDS)
    ),
    PLAIN,
    Tool("log", "Does something with a log.", app="web"),
]


@cache
def large_retriever(method: str) -> ToolRetriever:
    ranker = tiny_ranker("meaning", "words rank") if method == "learned" else None
    return ToolRetriever(LARGE, NoisyWordEmbedder(), method=method, ranker=ranker)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("text", ["list all mail", "search_note of door 3 and run it", "door/help_me 5"])
def test_depth_does_not_change_the_order_in_a_large_catalogue(method: str, text: str) -> None:
    """With more tools than candidates and than entries in fusion."""
    retriever = large_retriever(method)
    longest = retriever.search(text, 500)
    assert len(longest) == len(LARGE) or method == "bm25"
    for k in (1, 5, 10, 48, 49, 100, 101, 150, 250, 400):
        assert retriever.search(text, k) == longest[:k]


def test_k_may_be_the_size_of_a_large_catalogue() -> None:
    tools = [Tool(f"do_{n}_thing", f"Serves purpose {n}.", app="a") for n in range(300)]
    found = small_retriever(*tools, method="learned").find("purpose 77", 300)
    assert sorted(ids(found.hits)) == sorted(tool.id for tool in tools)
    assert found.hits[0].tool.name == "do_77_thing"
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert found.hits[-1].reasons == ()


@pytest.mark.parametrize("method", ["bm25", "semantic", "learned"])
@pytest.mark.parametrize("text", ["What is the weather like?", "Skip this song.", "xyzzy plugh"])
def test_catalogue_order_only_breaks_ties(method: str, text: str) -> None:
    found = [
        ToolRetriever(tools, NoisyWordEmbedder(), method=method).search(text, 59)
        for tools in (TOOLBOX, MIXED)
    ]
    scores = [{hit.tool.id: hit.score for hit in hits} for hits in found]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)
    for tools, hits in zip((TOOLBOX, MIXED), found, strict=True):
        position = {tool.id: number for number, tool in enumerate(tools)}
        order = [(-hit.score, position[hit.tool.id]) for hit in hits]
        assert order == sorted(order)


@pytest.mark.parametrize("tools", [TOOLBOX, MIXED], ids=["in order", "mixed"])
def test_hybrid_equals_semantic_without_shared_words(tools: list[Tool]) -> None:
    by_meaning, both = (
        ToolRetriever(tools, NoisyWordEmbedder(), method=method).search("xyzzy plugh", 59)
        for method in ("semantic", "hybrid")
    )
    assert ids(both) == ids(by_meaning)


@pytest.mark.parametrize("method", METHODS)
def test_equal_tools_follow_the_catalogue(method: str) -> None:
    one = Tool("open_door", "Opens the door of the garage.", app="home")
    other = replace(one, name="open-door")
    for pair in ((one, other), (other, one)):
        found = small_retriever(*FITTING, pair[0], PLAIN, pair[1], method=method).search("the garage door", 2)
        assert ids(found) == [tool.id for tool in pair]
