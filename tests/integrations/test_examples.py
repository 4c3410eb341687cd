"""Every example runs and prints what it should, with the bundled embedder."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
ASSISTANT = [
    "the model sees send_email, translate, search_mailbox",
    "Sent to marta@example.org: Thursday is fine.",
    "learned: right: send_email, kiln, wrong: nothing\n",
    "learned: right: send_email, kiln, wrong: nothing; right: nothing, wrong: taxi\n",
]
"""Context (the address), tools, feedback on the call, and a correction."""
OUTPUT = {
    "mcp_gateway": ["found: helpdesk/reset_password"],
    "tools_for_a_turn": ["    Google/get_weather"],
    "with_anthropic": ["it calls Music/"],
    "with_claude_agent": ["the model sees mcp__desk__send_email", *ASSISTANT[1:]],
    "with_fastmcp": ["listed: find_context, search_tools, call_tool", *ASSISTANT],
    "with_langchain": ASSISTANT,
    "with_langgraph": ASSISTANT,
    "with_llama_index": ASSISTANT,
    "with_openai": ["it calls Music/"],
    "with_openai_agents": ASSISTANT,
    "with_pydantic_ai": ASSISTANT,
}

NEEDS_WORLDS = {"compare_tool_search"}
"""Examples over a folder of worlds, which a checkout may not have."""


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")  # LlamaIndex's
@pytest.mark.parametrize("name", OUTPUT)
@pytest.mark.usefixtures("claude_sdk")
def test_example(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    output = capsys.readouterr().out
    assert [line for line in OUTPUT[name] if line not in output] == []


def test_all_examples_are_run() -> None:
    shared = {"desk", "desk_user", "scripted_chat", "scripted_claude", "scripted_model"}
    examples = {file.stem for file in EXAMPLES.glob("*.py")} - NEEDS_WORLDS
    assert examples == OUTPUT.keys() | shared
