"""The first searches of a large catalogue do not wait for its vectors."""

# pyright: basic

from collections.abc import Sequence
from threading import Event

import pytest
from tests.conftest import WordEmbedder

from contextune.embed import Matrix
from contextune.integrations._finder import ToolFinder
from contextune.tools import ToolRetriever
from contextune.tools.retriever import FEW_TOOLS
from contextune.types import Tool

ANIMALS = [Tool(f"feed_{number}", f"Feed animal number {number}.", "zoo") for number in range(FEW_TOOLS)]
TOOLS = [*ANIMALS, Tool("open_gate", "Open the gate of the garden.", "zoo")]


class HeldEmbedder(WordEmbedder):
    """Embeds when it is let go."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.go, self._error = Event(), error

    def embed(self, texts: Sequence[str]) -> Matrix:
        assert self.go.wait(30)
        if self._error:
            raise self._error
        return super().embed(texts)


@pytest.mark.parametrize("bounded", [False, True])
def test_first_search_is_by_words(*, bounded: bool) -> None:
    held = HeldEmbedder()
    retriever = ToolRetriever(TOOLS, held, method="hybrid", bounded=bounded, wait=False)
    matches = retriever.find("Open the gate of the garden, please", 3)
    assert not retriever.ready
    assert matches.hits[0].tool.name == "open_gate"
    assert matches.fits is None
    held.go.set()
    retriever.join(30)
    assert retriever.ready
    waited = ToolRetriever(TOOLS, WordEmbedder(), method="hybrid", bounded=bounded)
    found, expected = (each.search("unlock a garden", 5) for each in (retriever, waited))
    assert [hit.tool for hit in found] == [hit.tool for hit in expected]


def test_few_tools_are_embedded_at_once() -> None:
    assert ToolRetriever(TOOLS[:FEW_TOOLS], WordEmbedder(), wait=False).ready
    assert ToolRetriever(TOOLS, WordEmbedder()).ready


def test_next_search_raises_what_stopped_the_embedding() -> None:
    held = HeldEmbedder(OSError("disk full"))
    retriever = ToolRetriever(TOOLS, held, wait=False)
    held.go.set()
    retriever.join(30)
    with pytest.raises(OSError, match="disk full"):
        retriever.search("Open the gate")


def test_a_model_that_searches_does_not_wait() -> None:
    held = HeldEmbedder()
    assert ToolFinder(embedder=held, wait=False).names(TOOLS, ["open the gate"], 1) == ["open_gate"]
    held.go.set()
