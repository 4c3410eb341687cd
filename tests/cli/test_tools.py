"""`contextune tools`: add, list, show, search and remove tools."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.paths import MCP_SERVERS
from tests.program import Completed, run

from contextune.cli.tools import source_name

SERVER = MCP_SERVERS / "plain.py"


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "input_schema": schema}


def entry(mode: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(SERVER), mode]}


class ToolsCommand:
    """`contextune tools` on a catalogue in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.catalog = folder / "tools.db"

    def write(self, name: str, content: Any) -> Path:
        file = self.folder / name
        file.write_text(json.dumps(content))
        return file

    def __call__(self, *words: str | Path, fails: bool = False) -> Completed:
        done = run("tools", *words, env={"CONTEXTUNE_CATALOG": str(self.catalog)})
        assert done.returncode == (2 if fails else 0), done.stderr
        return done


@pytest.fixture
def tools(tmp_path: Path) -> ToolsCommand:
    return ToolsCommand(tmp_path)


KILN = tool("fire_kiln", "Heats up a kiln to the temperature of a firing.", cone={"type": "integer"})
GLAZE = tool("find_glaze", "Looks up the recipe of a glaze.")


def test_adding_again_embeds_only_changes(tools: ToolsCommand) -> None:
    file = tools.write("studio.json", [KILN, GLAZE, tool("book", "Books an evening.")])
    first = tools("add", file, "--app", "studio").stdout
    assert "studio.json: 3 added." in first
    assert "3 embedded." in first
    again = tools("add", file, "--app", "studio").stdout
    assert "3 unchanged." in again
    assert "0 embedded." in again
    tools.write("studio.json", [KILN, {**GLAZE, "description": "Finds a glaze by its colour."}])
    third = tools("add", file, "--app", "studio").stdout
    assert "1 changed, 1 unchanged, 1 removed." in third
    assert "1 embedded." in third
    assert [row["id"] for row in json.loads(tools("list", "--json").stdout)] == [
        "studio/fire_kiln",
        "studio/find_glaze",
    ]


def test_mcp_servers_with_duplicates_and_refused_tools(tools: ToolsCommand) -> None:
    servers = {"mcpServers": {"north": entry("good"), "south": entry("good"), "odd": entry("broken")}}
    file = tools.write("mcp.json", {"mcpServers": {**servers["mcpServers"], "dead": entry("dead")}})
    added = tools("add", file, tools.folder / "none.json", "--no-embed")
    assert "mcp.json: 6 added." in added.stdout
    assert "refused dead: " in added.stderr
    assert "refused odd/an_array: the type of its parameters" in added.stderr
    assert "none.json: cannot be read" in added.stderr
    listed = tools("list", "--server", "north").stdout
    assert [line.split()[-2] for line in listed.splitlines() if "north/" in line] == ["south", "south"]
    assert "also on: south" in tools("show", "north/one").stdout
    # a server that fails later keeps its tools; one that is removed from the file does not
    tools.write("mcp.json", {"mcpServers": {"north": entry("dead"), "south": entry("good")}})
    assert "2 unchanged, 2 removed." in tools("add", file, "--no-embed").stdout
    assert "2 removed, 2 left." in tools("remove", "--server", "north").stdout


def test_listed_json_can_be_added(tools: ToolsCommand) -> None:
    tools("add", "--bundled", "--no-embed")
    listed = tools("list", "--json").stdout
    copy = tools.write("copy.json", json.loads(listed))
    assert "59 unchanged." in tools("add", copy, "--no-embed").stdout


def test_search_ranks_tools_and_filters_by_server(tools: ToolsCommand) -> None:
    tools("add", "--bundled", tools.write("studio.json", [KILN, GLAZE]))
    found = tools("search", "heat up the kiln for my pots", "-k", "2").stdout
    rows = [line for line in found.splitlines() if line.startswith("│")]
    assert len(rows) == 2
    assert "fire_kiln" in rows[0]
    only = tools("search", "heat up the kiln for my pots", "-k", "3", "--server", "Music").stdout
    assert only.count("Music/") == 3
    assert "no server 'Fax'" in tools("search", "Hello", "--server", "Fax", fails=True).stderr


def test_index_on_disk_is_built_updated_and_searched(tools: ToolsCommand) -> None:
    assert "no index" in _info(tools, "add", "--bundled", fails=True)
    assert "59 tools indexed" in tools("index", "build").stdout
    added = tools("add", tools.write("studio.json", [KILN]), "--app", "studio").stdout
    assert "1 written to the index, 0 removed from it" in added
    assert "studio/fire_kiln" in tools("search", "heat up the kiln for my pots", "-k", "1").stdout
    tools("remove", "studio/fire_kiln")
    assert "not yet indexed: 1 changes" in tools("index", "info", "--verify").stdout
    assert "fire_kiln" not in tools("search", "heat up the kiln for my pots", "-k", "3").stdout
    assert "0 written, 0 removed, 59 tools" in tools("index", "update").stdout


def _info(tools: ToolsCommand, *before: str, fails: bool = False) -> str:
    tools(*before)
    done = tools("index", "info", fails=fails)
    return done.stdout + done.stderr


def test_show_prints_everything_without_control_characters(tools: ToolsCommand) -> None:
    loud = {**KILN, "description": "Heats [bold]up[/]\x1b[2J a kiln.", "title": "Fire"}
    tools("add", tools.write("studio.json", [loud]), "--app", "studio", "--no-embed")
    shown = tools("show", "fire_kiln").stdout
    assert "Heats [bold]up[/] [2J a kiln." in shown  # no markup, no escape sequence
    for line in ("studio/fire_kiln", "title: Fire", "studio.json", "cone", "integer", "required"):
        assert line in shown
    assert "\x1b" not in tools("list").stdout
    assert "no tool 'nothing'" in tools("show", "nothing", fails=True).stderr


def test_nothing_to_add_is_an_error(tools: ToolsCommand) -> None:
    broken = tools.write("broken.json", [{"name": "x", "input_schema": {"type": "array"}}])
    done = tools("add", broken, fails=True)
    assert "refused x: the type of its parameters" in done.stderr
    assert "no tool could be loaded" in done.stderr
    assert "nothing to add" in tools("add", fails=True).stderr


def test_reading_creates_no_catalogue(tools: ToolsCommand) -> None:
    for words in (["list"], ["search", "a"]):
        assert "there is no catalogue" in tools(*words, fails=True).stderr
    assert not tools.catalog.exists()


def test_secrets_in_urls_are_not_stored(tools: ToolsCommand) -> None:
    address = "http://me:S3CRET@127.0.0.1:9/mcp?key=S3CRET"
    done = tools("add", address, fails=True)
    assert "refused 127.0.0.1: cannot be reached" in done.stderr
    assert "S3CRET" not in f"{done.stdout}{done.stderr}{source_name(address)}"
    assert source_name(address) != source_name(address.replace("key=", "key=other"))
    assert source_name(address).startswith("http://127.0.0.1:9/mcp")
