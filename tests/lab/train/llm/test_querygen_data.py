"""Data of query generation: no training request may need a held-out server."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.lab.train.tiny_tools import api, ask, lines, world
from tests.paths import SHARED_DATA
from tests.samples import ALL

from contextune.search.tokenize import alnum_key
from contextune_lab.public_data.toolset import Toolset, read_toolset
from contextune_lab.train.llm import querygen_data as querygen_data_module
from contextune_lab.train.llm.querygen_data import querygen_data


def trained_servers(toolsets: Mapping[str, Toolset], sets: Mapping[str, Any]) -> dict[str, set[str]]:
    """The servers that each set's training requests need, by the ids of the data itself."""
    servers: dict[str, set[str]] = {}
    for name, toolset in toolsets.items():
        trained = {row["id"] for row in sets[name]["queries"] if row["split"] in ("train", "dev")}
        tools = [
            toolset.tools[place]
            for query in toolset.queries
            if query.id in trained
            for place in query.relevant
        ]
        servers[name] = {alnum_key(tool.app or tool.name) for tool in tools}
    return servers


def read_all(folder: Path, read: Callable[..., Toolset] = read_toolset) -> dict[str, Toolset]:
    whole = read(folder / "toolbench")
    filtered = read(folder / "toolbench" / "filter")
    others = {name: read(folder / name) for name in ("toollens", "metatool")}
    return {"toolbench": filtered, "more": whole, **others}


def held_out_servers(filtered: Toolset) -> set[str]:
    places = {place for query in filtered.split("ood") for place in query.relevant}
    return {alnum_key(filtered.tools[place].app or filtered.tools[place].name) for place in places}


def test_requests_of_held_out_servers_are_dropped_from_training_only(tmp_path: Path) -> None:
    folder = world(tmp_path)
    lens = folder / "toollens"
    with (lens / "tools.jsonl").open("a") as file:
        file.write(lines([api("KEPT-0", "other name")]))
    with (lens / "queries.jsonl").open("a") as file:
        file.write(
            lines(
                [
                    ask("train on a held-out server", "train", "KEPT-0.other-name"),
                    ask("test of a held-out server", "test", "KEPT-0.other-name"),
                ]
            )
        )
    data = querygen_data(folder)
    requests = {row["id"]: row["split"] for row in data["sets"]["toollens"]["queries"]}
    assert "train-on-a-held-out-server" not in requests
    assert requests["test-of-a-held-out-server"] == "test"
    toolsets = read_all(folder)
    held_out = held_out_servers(toolsets["toolbench"])
    assert held_out == {"kept0", "kept1"}
    assert all(not servers & held_out for servers in trained_servers(toolsets, data["sets"]).values())
    assert json.loads(json.dumps(data)) == data


@pytest.mark.skipif(not ALL, reason="reads all public data; tests/lab/public_data checks the same requests")
@pytest.mark.skipif(not (SHARED_DATA / "toolbench" / "filter").exists(), reason="the public data is not here")
def test_no_training_request_needs_a_held_out_server(monkeypatch: pytest.MonkeyPatch) -> None:
    read_once = cache(read_toolset)
    monkeypatch.setattr(querygen_data_module, "read_toolset", read_once)
    toolsets = read_all(SHARED_DATA, read_once)
    held_out = held_out_servers(toolsets["toolbench"])
    assert len(held_out) == 66
    for name, servers in trained_servers(toolsets, querygen_data(SHARED_DATA)["sets"]).items():
        assert servers, name
        assert not servers & held_out, name
