"""Without its framework, an integration names the extra to install; the others work."""

import importlib
import subprocess
import sys

import pytest

from contextune.errors import MissingExtraError

LIBRARIES = {
    "claude_agent": ("claude_agent_sdk", "claude-agent"),
    "fastmcp": ("fastmcp", "fastmcp"),
    "langchain": ("langchain_core", "langchain"),
    "langchain_agents": ("langchain", "langchain"),
    "langgraph": ("langgraph_bigtool", "langgraph"),
    "llama_index": ("llama_index", "llama-index"),
    "openai_agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
}


@pytest.mark.parametrize(
    ("module", "library", "extra"), [(module, *wants) for module, wants in LIBRARIES.items()]
)
def test_missing_library_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, module: str, library: str, extra: str
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"contextune.integrations.{module}", raising=False)
    with pytest.raises(MissingExtraError, match=rf"contextune\[{extra}\]"):
        importlib.import_module(f"contextune.integrations.{module}")


def test_other_modules_work_without_the_libraries() -> None:
    libraries = ["anthropic", "openai", *(library for library, _ in LIBRARIES.values())]
    code = f"""
import sys
sys.modules.update(dict.fromkeys({libraries!r}))
from contextune.integrations import ToolsForTurn
from contextune.integrations.anthropic import deferred_tools
from contextune.integrations.openai import search_tools
from contextune.types import Tool
assert [tool["name"] for tool in deferred_tools([Tool("look", "")])] == ["search_tools", "look"]
assert search_tools([Tool("look", "")])[0]["type"] == "tool_search"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
