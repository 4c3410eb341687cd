"""ToolRetriever: the parts of a long request are searched one by one."""

from collections.abc import Sequence

import pytest
from tests.conftest import WordEmbedder
from tests.tools.tiny_ranker import tiny_ranker

from contextune.embed import Matrix
from contextune.tools import ToolRetriever
from contextune.tools.subqueries import split_subqueries
from contextune.types import Tool

WISHES = [
    Tool("find_flight", "Finds a flight to a city.", app="air"),
    Tool("flight_status", "Tells whether a flight is late.", app="air"),
    Tool("flight_seats", "Lists the seats of a flight.", app="air"),
    Tool("book_table", "Books a table in a restaurant.", app="food"),
    Tool("send_message", "Sends a message to somebody.", app="chat"),
    Tool("list_songs", "Lists songs.", app="music"),
]
LONG = "Find a flight to Oslo and check the flight. Also, book a restaurant table. Send Ana a message."


@pytest.mark.parametrize("method", ["hybrid", "learned"])
def test_every_part_of_a_long_request_finds_its_tool(method: str) -> None:
    tools = [*WISHES, *(Tool(f"flight_{n}", "Finds a flight to Oslo.", app=f"air{n}") for n in range(90))]
    ranker = tiny_ranker("part meaning", "part meaning behind best")
    divided, whole = (
        ToolRetriever(tools, WordEmbedder(), method=method, ranker=ranker, split_requests=split)
        for split in (True, False)
    )
    wanted = {"book_table", "send_message"}
    assert wanted <= {hit.tool.name for hit in divided.search(LONG, 20)}
    first, *_ = whole.search(LONG, 1) if method == "hybrid" else divided.search(LONG, 1)
    assert divided.search(LONG, 1)[0].tool == first.tool  # the whole request comes first
    for k in (1, 5, 12):
        assert divided.search(LONG, k) == divided.search(LONG, 20)[:k]


@pytest.mark.parametrize("method", ["bm25", "semantic"])
def test_plain_methods_search_the_whole_request(method: str) -> None:
    divided, whole = (
        ToolRetriever(WISHES, WordEmbedder(), method=method, split_requests=split).search(LONG)
        for split in (True, False)
    )
    assert divided == whole


@pytest.mark.parametrize("method", ["hybrid", "learned"])
def test_short_request_is_not_divided(method: str) -> None:
    divided, whole = (
        ToolRetriever(
            WISHES, WordEmbedder(), method=method, ranker=tiny_ranker("meaning"), split_requests=split
        ).find("Book a table for Ana and Raj")
        for split in (True, False)
    )
    assert divided == whole


def test_parts_are_embedded_in_one_batch() -> None:
    batches: list[int] = []

    class Counting(WordEmbedder):
        def embed(self, texts: Sequence[str]) -> Matrix:
            batches.append(len(texts))
            return super().embed(texts)

    retriever = ToolRetriever(WISHES, Counting(), ranker=tiny_ranker("meaning"))
    batches.clear()
    retriever.find(LONG)
    assert batches == [1 + len(split_subqueries(LONG))]
