"""Nothing connects to a network while requests are answered and tools are searched with the defaults."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GUARD = """
import sys

def refuse(event, arguments):
    network = ("connect", "sendto", "sendmsg", "getaddrinfo", "gethostbyname", "bind")
    others = ("urllib.Request", "http.client.connect", "subprocess.Popen", "os.system")
    if event in others or event in [f"socket.{name}" for name in network]:
        print("NETWORK", event, file=sys.stderr, flush=True)
        raise RuntimeError(f"{event} during a request")

sys.addaudithook(refuse)
"""
WORK = """
from pathlib import Path
from contextune import Feedback, Request, ToolRetriever, Tuner, bundled_toolbox

head = "From: Marta <marta@example.org>\\nSubject: Kiln slot\\nDate: Mon, 13 May 2024 09:00:00 +0000"
Path("mail.eml").write_text(head + "\\n\\nIt is at nine.\\n")
tuner = Tuner.from_files(["mail.eml"], tools=bundled_toolbox())
for text in ("When is the kiln slot?", "Reply to Marta that I'm late", "Play some jazz, and then call Marta"):
    request = Request(text, "me")
    assert tuner.context(request)
    assert tuner.tools(request).hits
    answer = tuner.answer(request)
tuner.prepare("me")
tuner.feedback(request, tool=answer.tools[0].tool.id, ok=True)
assert ToolRetriever(bundled_toolbox()).search("write a mail")
tuner.forget("me")
print("done")
"""
KEYS = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN"), "sk-test")
"""Keys in the environment are no permission to use them."""


def run_guarded(code: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, **KEYS}
    return subprocess.run(
        [sys.executable, "-c", GUARD + code], cwd=folder, env=environment, capture_output=True, text=True
    )


def test_requests_and_searches_connect_to_nothing(tmp_path: Path) -> None:
    result = run_guarded(WORK, tmp_path)
    assert "NETWORK" not in result.stderr
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr


def test_ask_connects_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "kiln.md").write_text("---\ntitle: Kiln\n---\nIt fires on Monday at nine.")
    commands = (
        ["import", "kiln.md", "--store", "me.db"],
        ["ask", "When does the kiln fire?", "--store", "me.db"],
    )
    for command in commands:
        code = f"from contextune.__main__ import main; sys.argv = ['contextune', *{command!r}]; main()"
        result = run_guarded(code, tmp_path)
        assert "NETWORK" not in result.stderr, command
        assert result.returncode == 0, (command, result.stderr, result.stdout)


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.create_connection(('127.0.0.1', 9), timeout=1)",
        "import socket; socket.getaddrinfo('example.org', 443)",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9/')",
        "import subprocess; subprocess.run(['true'])",
    ],
)
def test_a_connection_would_be_noticed(code: str, tmp_path: Path) -> None:
    result = run_guarded(code, tmp_path)
    assert "NETWORK" in result.stderr
    assert result.returncode != 0
