"""`contextune llm use` and `llm check` for a local model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.program import run

from contextune.cli import llm
from contextune.llm.gguf import chat
from contextune.llm.smollm2 import weights


def test_unknown_file_is_refused_and_any_accepts_it(tmp_path: Path) -> None:
    model = tmp_path / "tiny.gguf"
    model.write_bytes(b"GGUF weights")
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path), "CONTEXTUNE_LLM_MODEL": ""}
    refused = run("llm", "use", model, env=env)
    assert refused.returncode == 2
    assert "no known model" in refused.stderr
    assert "--any" in refused.stderr
    accepted = run("llm", "use", model, "--any", env=env)
    assert accepted.returncode == 0, accepted.stderr
    assert "not a known file" in accepted.stdout
    model.unlink()
    gone = run("llm", "check", env=env)
    assert gone.returncode == 2
    assert "is gone" in gone.stderr


def test_check_without_any_model_says_in_one_line_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "find_weights", lambda _: None)  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path), "CONTEXTUNE_LLM_MODEL": ""}
    done = run("llm", "check", env=env)
    assert done.returncode == 2
    assert "contextune llm use" in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_check_without_configuration_asks_the_chosen_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Runtime:
        def handle_chat_completions(self, body: Mapping[str, Any]) -> Any:
            text = '{"fruit": "pear", "count": 2}' if "response_format" in body else "pear, plum, fig"
            choice = {"message": {"content": text}, "finish_reason": "stop"}
            return {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}

    monkeypatch.setattr(chat, "open_runtime", lambda *_: Runtime())  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    monkeypatch.setattr(llm, "_has_runtime", lambda: True)
    model = tmp_path / "tiny.gguf"
    model.write_bytes(b"GGUF weights")
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path), "CONTEXTUNE_LLM_MODEL": ""}
    assert run("llm", "use", model, "--any", env=env).returncode == 0
    done = run("llm", "check", env=env)
    assert done.returncode == 0, done.stderr
    assert "local#tiny@" in done.stdout
    assert "pear, plum, fig" in done.stdout
    assert "JSON by schema: yes" in done.stdout
