"""Retrievers over the bundled toolbox and small catalogues, with hashed words as vectors."""

from collections.abc import Sequence
from functools import cache

from tests.conftest import WordEmbedder
from tests.tools.tiny_ranker import tiny_ranker

from contextune.tools import ToolRetriever, bundled_toolbox
from contextune.types import Tool, ToolHit

METHODS = ("bm25", "semantic", "hybrid", "learned")
TOOLBOX = bundled_toolbox()
PLAIN = Tool("run", "Starts a container.", app="docker")
FITTING = [
    Tool("plan_training", "Makes a plan of morning training with the group.", app="sport"),
    Tool("join_training", "Joins a group for morning training.", app="sport"),
    Tool("show_plan", "Shows the plan of the morning.", app="sport"),
    Tool("invite_group", "Invites the group.", app="sport"),
    Tool("log_training", "Notes down a training.", app="sport"),
]


@cache
def word_retriever(method: str) -> ToolRetriever:
    """Over the bundled toolbox with hashed words as vectors, and the bundled ranker."""
    return ToolRetriever(TOOLBOX, WordEmbedder(), method=method)


def ids(hits: Sequence[ToolHit]) -> list[str]:
    return [hit.tool.id for hit in hits]


def small_retriever(*tools: Tool, method: str = "hybrid") -> ToolRetriever:
    ranker = tiny_ranker("meaning") if method == "learned" else None
    return ToolRetriever(tools, WordEmbedder(), method=method, ranker=ranker)
