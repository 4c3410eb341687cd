"""`contextune mcp install` writes the entry that clients start the server with."""

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from contextune.cli import app
from contextune.cli.mcp.install import CLIENTS, client
from contextune.errors import ContextuneError
from contextune.store import SQLiteStore
from contextune.types import User


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder with a store of user ines."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CONTEXTUNE_STORE", "CONTEXTUNE_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    with SQLiteStore(tmp_path / "me.db") as store:
        store.put_user(User("ines"))
    return tmp_path


def install(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["mcp", "install", *arguments])
    if done.exception:
        raise done.exception
    return done.stdout


@pytest.mark.parametrize(
    ("name", "file", "key", "typed"),
    [
        ("claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers", False),
        ("claude-code", ".claude.json", "mcpServers", True),
        ("cursor", ".cursor/mcp.json", "mcpServers", False),
        ("vscode", ".config/Code/User/mcp.json", "servers", True),
        ("zed", ".config/zed/settings.json", "context_servers", False),
    ],
)
def test_entry_of_each_client(home: Path, name: str, file: str, key: str, typed: bool) -> None:
    path = home / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{\n  // mine\n  "other": {"x": 1}\n}\n')
    install(name, "--store", "me.db", "--policy", "trust=notes")
    text = path.read_text()
    assert "// mine" in text
    data = json.loads(text.replace("// mine", ""))
    entry = data[key]["contextune"]
    arguments = ["mcp", "--user", "ines", "--store", str(home / "me.db"), "--policy", "trust=notes"]
    assert [*Path(entry["command"]).parts[-1:], *entry["args"]][-len(arguments) :] == arguments
    assert Path(entry["command"]).is_absolute()
    assert entry.get("type") == ("stdio" if typed else None)
    assert data["other"] == {"x": 1}
    assert path.with_name(path.name + ".contextune-backup").read_text().startswith('{\n  // mine\n  "other"')
    install(name, "--remove")
    assert "contextune" not in path.read_text()


def test_paths_on_macos_and_windows(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def files() -> dict[str, str]:
        return {name: each.path().relative_to(home).as_posix() for name, each in CLIENTS.items()}

    monkeypatch.setattr(sys, "platform", "darwin")
    support = "Library/Application Support"
    assert files() == {
        "claude-desktop": f"{support}/Claude/claude_desktop_config.json",
        "claude-code": ".claude.json",
        "cursor": ".cursor/mcp.json",
        "vscode": f"{support}/Code/User/mcp.json",
        "zed": ".config/zed/settings.json",
    }
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("APPDATA", str(home / "Roaming"))
    assert files() == {
        "claude-desktop": "Roaming/Claude/claude_desktop_config.json",
        "claude-code": ".claude.json",
        "cursor": ".cursor/mcp.json",
        "vscode": "Roaming/Code/User/mcp.json",
        "zed": "Roaming/Zed/settings.json",
    }
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "claude"))
    assert client("claude-code").path() == home / "claude" / ".claude.json"


def test_print_writes_nothing(home: Path) -> None:
    printed = install("claude-code", "--store", "me.db", "--print")
    assert json.loads(printed)["mcpServers"]["contextune"]["type"] == "stdio"
    assert not (home / ".claude.json").exists()


def test_installing_again_changes_nothing(home: Path) -> None:
    install("claude-code", "--store", "me.db")
    first = (home / ".claude.json").stat()
    install("claude-code", "--store", "me.db")
    assert (home / ".claude.json").stat().st_mtime_ns == first.st_mtime_ns


def test_permissions_and_links_stay(home: Path) -> None:
    (home / "dotfiles").mkdir()
    target = home / "dotfiles" / "claude.json"
    target.write_text("{}")
    target.chmod(0o600)
    (home / ".claude.json").symlink_to(target)
    install("claude-code", "--store", "me.db")
    assert (home / ".claude.json").is_symlink()
    assert "contextune" in target.read_text()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    files = {path.name for path in (home / "dotfiles").iterdir()}
    assert files == {"claude.json", "claude.json.contextune-backup"}


def test_gateway_without_user(home: Path) -> None:
    (home / "servers.json").write_text("{}")
    data: Any = json.loads(install("claude-code", "--catalog", "servers.json", "--entry", "tools", "--print"))
    assert data["mcpServers"]["tools"]["args"][-3:] == ["mcp", "--catalog", str(home / "servers.json")]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("emacs",), "unknown client 'emacs': choose one of claude-desktop"),
        (("zed",), "no Zed here: there is no folder"),
        (("claude-code", "--store", "none.db"), "no such store"),
        (("claude-code", "--store", "me.db", "--user", "bea"), "bea"),
        (("claude-code", "--store", "me.db", "--tools", "none.db"), "there is no file 'none.db' for --tools"),
        (("claude-code", "--store", "me.db", "--config", "broken.json"), r"broken.json: line 1.*nothing was"),
        (("claude-code", "--remove"), r"\.claude\.json: .*there is no 'mcpServers\.contextune'"),
    ],
)
def test_errors_change_nothing(home: Path, arguments: tuple[str, ...], reason: str) -> None:
    (home / "broken.json").write_text("{,}")
    (home / ".claude.json").write_text("{}")
    with pytest.raises(ContextuneError, match=reason):
        install(*arguments)
    assert (home / "broken.json").read_text() == "{,}"
    assert (home / ".claude.json").read_text() == "{}"
