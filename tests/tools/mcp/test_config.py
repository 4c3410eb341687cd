"""Names of servers in an `mcp.json`."""

import pytest

from contextune.tools.mcp.config import read_mcp_config


@pytest.mark.parametrize("name", ["gіthub", "Gοogle drive", "paypal ԁev", "ｇithub"])
def test_server_name_of_mixed_scripts_is_refused(name: str) -> None:
    servers, refused = read_mcp_config({"mcpServers": {name: {"command": "server"}}})
    assert servers == []
    assert "mixes scripts" in refused[0].reason
    assert refused[0].reason.isascii()


@pytest.mark.parametrize(
    "name", ["github", "почта", "Mail почта", "Googleカレンダー", "メールbox 2", "naïve", "メモ帳"]
)
def test_other_server_names_are_kept(name: str) -> None:
    servers, refused = read_mcp_config({"mcpServers": {name: {"command": "server"}}})
    assert ([server.name for server in servers], refused) == ([name], [])
