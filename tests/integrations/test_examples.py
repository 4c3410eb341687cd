"""Every example runs and prints what it should, with the bundled embedder."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
OUTPUT = {
    "mcp_gateway": "found: helpdesk/reset_password",
    "tools_for_a_turn": "    Google/get_weather",
    "with_anthropic": "it calls Music/",
    "with_fastmcp": "found: reset_password",
    "with_langchain": "Soup is on its way",
    "with_langgraph": "The blue room is free again",
    "with_llama_index": "Good morning (Portuguese)",
    "with_openai": "it calls Music/",
    "with_pydantic_ai": "the model sees file_expense, ",
}


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")  # LlamaIndex's
@pytest.mark.parametrize("name", OUTPUT)
def test_example(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert OUTPUT[name] in capsys.readouterr().out


def test_all_examples_are_run() -> None:
    shared = {"desk", "scripted_chat"}
    assert {file.stem for file in EXAMPLES.glob("*.py")} == OUTPUT.keys() | shared
