"""Commands that use a language model, played by a local server."""

from pathlib import Path
from typing import Any

from tests.openai_server import OpenAIServer, Reply
from tests.program import Completed, run

from contextune._internal.assets import asset
from contextune.datasets import load_persona, read_persona
from contextune.plan.language_model.planner import call_json
from contextune.store import SQLiteStore
from contextune.types import User


class FixedAnswer(OpenAIServer):
    """A model that always gives the same answer."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def reply(self, body: dict[str, Any]) -> Reply:
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": self.text}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        about = {"id": "1", "object": "chat.completion", "created": 1, "model": body["model"]}
        return 200, {**about, "choices": [choice], "usage": usage}


def run_with(server: OpenAIServer, folder: Path, *words: str | Path) -> Completed:
    env = {
        "CONTEXTUNE_LLM_MODEL": "model",
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "none",
    }
    if words[0] == "tools":
        env["CONTEXTUNE_CATALOG"] = str(folder / "tools.db")
    return run(*words, env=env)


def test_model_writes_the_call(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with SQLiteStore(store) as opened:
        load_persona(opened, read_persona(asset("personas/b05.json")))
    moment = ("--user", "b05", "--time", "2023-07-18T21:45", "--place", "home", "--store", store)
    with FixedAnswer(call_json("search_web", {"query": "umbrella"})) as server:
        without = run_with(server, tmp_path, "ask", "Do I pack an umbrella for Thursday?", *moment)
        assert not server.asked
        server.text = call_json("get_weather", {"date": "2023-07-20"})
        done = run_with(server, tmp_path, "ask", "Do I pack an umbrella for Thursday?", "--llm", *moment)
    assert done.returncode == 0, done.stderr
    assert "get_weather" in done.stdout
    assert len(server.asked) >= 1
    assert "search_web" not in without.stdout


def test_model_writes_the_search_queries(tmp_path: Path) -> None:
    with FixedAnswer("1. Tells the weather of a place\n2. Plays a song") as server:
        assert run_with(server, tmp_path, "tools", "add", "--bundled").returncode == 0
        done = run_with(server, tmp_path, "tools", "search", "Hello there", "--querygen", "-k", "5")
    assert done.returncode == 0, done.stderr
    assert "searched for: Tells the weather of a place" in done.stdout
    assert "get_weather" in done.stdout
    assert "play_song" in done.stdout


def test_missing_model_is_an_error(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "s.db") as store:
        store.put_user(User("x"))
    done = run("ask", "Hello", "--llm", "--user", "x", "--store", tmp_path / "s.db")
    assert done.returncode == 2
    assert "CONTEXTUNE_LLM_MODEL" in done.stderr
