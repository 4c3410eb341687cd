"""`contextune tools`, driven as a person would."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.paths import MCP_SERVERS

from contextune.cli.tools import source_name

PROGRAM = Path(sys.executable).with_name("contextune")
SERVER = MCP_SERVERS / "plain.py"


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "input_schema": schema}


def entry(mode: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(SERVER), mode]}


class Tools:
    """The program, on a catalogue in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.catalog = folder / "tools.db"

    def write(self, name: str, content: Any) -> Path:
        file = self.folder / name
        file.write_text(json.dumps(content))
        return file

    def __call__(self, *words: str | Path, fails: bool = False) -> subprocess.CompletedProcess[str]:
        command = [PROGRAM, "tools", *map(str, words)]
        env = {"COLUMNS": "160", "CONTEXTUNE_CATALOG": str(self.catalog)}
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        assert done.returncode == (2 if fails else 0), done.stderr
        assert "Traceback" not in done.stderr
        return done


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


KILN = tool("fire_kiln", "Heats up a kiln to the temperature of a firing.", cone={"type": "integer"})
GLAZE = tool("find_glaze", "Looks up the recipe of a glaze.")


def test_adding_again_embeds_only_what_changed(tools: Tools) -> None:
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


def test_servers_twins_and_refusals(tools: Tools) -> None:
    servers = {"mcpServers": {"north": entry("good"), "south": entry("good"), "odd": entry("broken")}}
    file = tools.write("mcp.json", {"mcpServers": {**servers["mcpServers"], "dead": entry("dead")}})
    added = tools("add", file, tools.folder / "none.json", "--no-embed")
    assert "mcp.json: 6 added." in added.stdout
    assert "refused dead: ended before it had answered" in added.stderr
    assert "refused odd/an_array: the type of its parameters is 'array'" in added.stderr
    assert "none.json: cannot be read" in added.stderr
    listed = tools("list", "--server", "north").stdout
    assert [line.split()[-2] for line in listed.splitlines() if "north/" in line] == ["south", "south"]
    assert "also on: south" in tools("show", "north/one").stdout
    # a server that fails later keeps what it had; one that is gone from the file does not
    tools.write("mcp.json", {"mcpServers": {"north": entry("dead"), "south": entry("good")}})
    assert "2 unchanged, 2 removed." in tools("add", file, "--no-embed").stdout
    assert "2 removed, 2 left." in tools("remove", "--server", "north").stdout


def test_what_is_listed_can_be_added(tools: Tools) -> None:
    tools("add", "--bundled", "--no-embed")
    listed = tools("list", "--json").stdout
    copy = tools.write("copy.json", json.loads(listed))
    assert "59 unchanged." in tools("add", copy, "--no-embed").stdout


def test_searching(tools: Tools) -> None:
    tools("add", "--bundled", tools.write("studio.json", [KILN, GLAZE]))
    found = tools("search", "heat up the kiln for my pots", "-k", "2").stdout
    rows = [line for line in found.splitlines() if line.startswith("│")]
    assert len(rows) == 2
    assert "fire_kiln" in rows[0]
    only = tools("search", "heat up the kiln for my pots", "-k", "3", "--server", "Music").stdout
    assert only.count("Music/") == 3
    assert "no server 'Fax'" in tools("search", "Hello", "--server", "Fax", fails=True).stderr


def test_showing_everything(tools: Tools) -> None:
    loud = {**KILN, "description": "Heats [bold]up[/]\x1b[2J a kiln.", "title": "Fire"}
    tools("add", tools.write("studio.json", [loud]), "--app", "studio", "--no-embed")
    shown = tools("show", "fire_kiln").stdout
    assert (
        "Heats [bold]up[/] [2J a kiln." in shown
    )  # neither rich nor a terminal takes it for more than words
    for line in ("studio/fire_kiln", "title: Fire", "studio.json", "cone", "integer", "required"):
        assert line in shown
    assert "\x1b" not in tools("list").stdout
    assert "no tool 'nothing'" in tools("show", "nothing", fails=True).stderr


def test_nothing_that_could_be_loaded(tools: Tools) -> None:
    broken = tools.write("broken.json", [{"name": "x", "input_schema": {"type": "array"}}])
    done = tools("add", broken, fails=True)
    assert "refused x: the type of its parameters is 'array'" in done.stderr
    assert "no tool could be loaded" in done.stderr
    assert "nothing to add" in tools("add", fails=True).stderr


def test_a_catalogue_that_is_not_there_is_not_made_by_looking(tools: Tools) -> None:
    for words in (["list"], ["search", "a"]):
        assert "there is no catalogue" in tools(*words, fails=True).stderr
    assert not tools.catalog.exists()


def test_secrets_in_an_address_are_not_kept(tools: Tools) -> None:
    address = "http://me:S3CRET@127.0.0.1:9/mcp?key=S3CRET"
    done = tools("add", address, fails=True)
    assert "refused 127.0.0.1: cannot be reached" in done.stderr
    assert "S3CRET" not in f"{done.stdout}{done.stderr}{source_name(address)}"
    assert source_name(address) != source_name(address.replace("key=", "key=other"))
    assert source_name(address).startswith("http://127.0.0.1:9/mcp")
