"""The installed program with a language model behind it: one that a server on this machine plays."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.openai_server import OpenAIServer, Reply

from contextune._internal.assets import asset
from contextune.plan.language_model.planner import call_text

PROGRAM = Path(sys.executable).with_name("contextune")


class Friend(OpenAIServer):
    """Says one thing, whatever it is asked."""

    def __init__(self, says: str) -> None:
        super().__init__()
        self.says = says

    def reply(self, body: dict[str, Any]) -> Reply:
        said = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": self.says}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        about = {"id": "1", "object": "chat.completion", "created": 1, "model": body["model"]}
        return 200, {**about, "choices": [said], "usage": usage}


def run(url: str, folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    env = {
        "COLUMNS": "160",
        "CONTEXTUNE_LLM_MODEL": "friend",
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": "none",
        "CONTEXTUNE_CATALOG": str(folder / "tools.db"),
    }
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, env=env)


def test_the_model_writes_the_call(tmp_path: Path) -> None:
    people = tmp_path / "people"
    people.mkdir()
    (people / "b05.json").write_bytes(asset("personas/b05.json").read_bytes())
    store = tmp_path / "store.db"
    where = ("--user", "b05", "--time", "2023-07-18T21:45", "--place", "home", "--store", store)
    with Friend(call_text("search_web", {"query": "umbrella"})) as server:
        assert run(server.url, tmp_path, "load", "personas", people, "--store", store).returncode == 0
        plain = run(server.url, tmp_path, "ask", "Do I pack an umbrella for Thursday?", *where)
        assert not server.asked
        server.says = call_text("get_weather", {"date": "2023-07-20"})
        done = run(server.url, tmp_path, "ask", "Do I pack an umbrella for Thursday?", "--llm", *where)
    assert done.returncode == 0, done.stderr
    assert "get_weather" in done.stdout
    assert len(server.asked) >= 1
    assert "get_weather" in plain.stdout


def test_the_model_writes_what_is_searched_for(tmp_path: Path) -> None:
    with Friend("1. Tells the weather of a place\n2. Plays a song") as server:
        assert run(server.url, tmp_path, "tools", "add", "--bundled").returncode == 0
        done = run(server.url, tmp_path, "tools", "search", "Hello there", "--querygen", "-k", "5")
    assert done.returncode == 0, done.stderr
    assert "searched for: Tells the weather of a place" in done.stdout
    assert "get_weather" in done.stdout
    assert "play_song" in done.stdout


def test_without_a_model_it_says_what_to_set(tmp_path: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "ask", "Hello", "--llm", "--user", "x", "--store", tmp_path / "s.db"],
        capture_output=True,
        text=True,
        env={"COLUMNS": "160"},
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
