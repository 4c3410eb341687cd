"""Tools of a small office: two servers that share a tool name; the Claude Agent SDK, or a stand-in for it."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType

import pytest
from tests.integrations.claude_sdk import as_module

import contextune.integrations
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


CLAUDE = "contextune.integrations.claude_agent"


@pytest.fixture
def claude_sdk(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType | None]:
    """Makes the SDK importable: the stand-in where it is not installed; yields the stand-in."""
    if find_spec("claude_agent_sdk"):
        yield None
        return
    module = as_module()
    for name in (CLAUDE, "scripted_claude"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", module)
    yield module
    for name in (CLAUDE, "scripted_claude"):  # bound to the stand-in
        sys.modules.pop(name, None)
    if hasattr(contextune.integrations, "claude_agent"):
        delattr(contextune.integrations, "claude_agent")
