"""Tools of a small office: two servers that share a tool name."""

import pytest

from contextune.embed import Embedder
from contextune.tools import ToolRetriever
from contextune.types import Annotations, Tool

TOOLS = [
    Tool("send_email", "Send an email to somebody.", "mail", {"properties": {"to": {"type": "string"}}}),
    Tool("search", "Search the mailbox for an email.", "mail", annotations=Annotations(read_only=True)),
    Tool("archive_email", "Put an email into the archive.", "mail"),
    Tool("book_room", "Book a meeting room.", "rooms", {"properties": {"hour": {"type": "integer"}}}),
    Tool("search", "Search for a free meeting room.", "rooms", annotations=Annotations(read_only=True)),
    Tool("cancel_booking", "Cancel the booking of a meeting room.", "rooms"),
    Tool("order_lunch", "Order lunch for the office.", ""),
    Tool("water plants", "Water the plants of the office.", ""),
]


@pytest.fixture
def tools() -> list[Tool]:
    return TOOLS


@pytest.fixture
def retriever(tools: list[Tool], word_embedder: Embedder) -> ToolRetriever:
    return ToolRetriever(tools, word_embedder)
