"""Toolsets in the uniform format: reading, and errors with line numbers."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lab.train.tiny_tools import Row, api, ask, lines, write

from contextune.errors import InvalidDataError
from contextune.tools import Catalog
from contextune_lab.public_data.toolset import read_toolset, tool_from_row

TOOLS: tuple[Row, ...] = (
    api(
        "Post",
        "send",
        tool_description="Letters and parcels",
        parameters=[
            {"name": "to", "type": "string", "description": "Who gets it", "required": True},
            {"name": "grams", "type": "number", "required": False},
            {"name": "note", "type": None, "description": None},
        ],
    ),
    api("Post", "track"),
    api("Clock", "Clock"),
)
QUERIES: tuple[Row, ...] = (
    ask("send it", "train", "Post.send"),
    ask("where is it, and how late is it", "test", "Post.track", "Clock.Clock"),
    ask("track it", "dev", "Post.track"),
)


def test_tools_and_requests_are_read(tmp_path: Path) -> None:
    toolset = read_toolset(write(tmp_path / "few", TOOLS, QUERIES))
    assert toolset.name == "few"
    assert [tool.id for tool in toolset.tools] == ["Post/send", "Post/track", "Clock"]
    send = toolset.tools[0]
    assert (send.app, send.name, send.about) == ("Post", "send", "Letters and parcels")
    assert send.parameters["required"] == ["to"]
    assert send.parameters["properties"] == {
        "to": {"type": "string", "description": "Who gets it"},
        "grams": {"type": "number", "description": ""},
        "note": {"type": "string", "description": ""},
    }
    assert [(query.text, query.relevant) for query in toolset.queries] == [
        ("send it", {0}),
        ("where is it, and how late is it", {1, 2}),
        ("track it", {1}),
    ]
    assert read_toolset(tmp_path / "few", "another").name == "another"


def test_split_selects_requests(tmp_path: Path) -> None:
    toolset = read_toolset(write(tmp_path, TOOLS, QUERIES))
    assert [query.text for query in toolset.split("train")] == ["send it"]
    assert [query.text for query in toolset.split("dev", "train")] == ["send it", "track it"]
    assert toolset.split("tests") == []


def test_server_named_like_its_tool_has_no_app() -> None:
    tool = tool_from_row(api(" Clock ", "Clock"))
    assert (tool.app, tool.name, tool.id) == ("", "Clock", "Clock")
    assert tool_from_row(api("Clock", " ")).name == "Clock"


def test_compressed_file_is_read(tmp_path: Path) -> None:
    write(tmp_path, TOOLS, QUERIES)
    plain = read_toolset(tmp_path)
    content = (tmp_path / "tools.jsonl").read_bytes()
    (tmp_path / "tools.jsonl.gz").write_bytes(gzip.compress(content))
    (tmp_path / "tools.jsonl").unlink()
    assert read_toolset(tmp_path).tools == plain.tools


def test_duplicate_tool_names_are_numbered(tmp_path: Path) -> None:
    rows = [api("Post", "send", "a"), api("Mail", "send", "b"), api("Post", "send", "c")]
    rows += [api("Post", "send", "d")]
    toolset = read_toolset(write(tmp_path, rows, [ask("send", "train", "c", "d")]))
    assert [tool.id for tool in toolset.tools] == ["Post/send", "Mail/send", "Post/send 2", "Post/send 3"]
    assert toolset.queries[0].relevant == {2, 3}
    assert [tool.description for tool in toolset.tools] == ["does a", "does b", "does c", "does d"]


@given(st.lists(st.sampled_from(["send", "send 2", "send 3", "send 2 2"]), max_size=7))
def test_tool_ids_are_unique(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    rows = [api("Post", name, str(number)) for number, name in enumerate(names)]
    tools = read_toolset(write(tmp_path_factory.mktemp("tools"), rows, [])).tools
    assert len(Catalog(tools)) == len(names)
    assert [tool.description for tool in tools] == [row["description"] for row in rows]


def test_unicode_line_separators_do_not_split_lines(tmp_path: Path) -> None:
    """JSON may contain them unescaped."""
    text_ = "one\u2028two\x85three"
    toolset = read_toolset(write(tmp_path, TOOLS, [ask(text_, "train", "Post.send")]))
    assert toolset.queries[0].text == text_


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("tools.jsonl", b"{"),
        ("queries.jsonl", b""),
        ("tools.jsonl", b'["id", "name"]'),
        ("tools.jsonl", b'{"id": "x", "tool": "Post"}'),
        ("tools.jsonl", b'{"tool": "Post", "name": "x"}'),
        ("tools.jsonl", b'{"id": "x", "tool": "", "name": ""}'),
        ("tools.jsonl", b'{"id": "x", "tool": "Post", "name": "x", "parameters": [{"type": "string"}]}'),
        ("queries.jsonl", b'{"id": "q", "query": "x", "split": "train"}'),
        ("queries.jsonl", b'{"id": "q", "split": "train", "relevant": ["Post.send"]}'),
        ("queries.jsonl", b'{"id": "q", "query": "x", "relevant": ["Post.send"]}'),
        ("queries.jsonl", b'{"id": "q", "query": "x", "split": "train", "relevant": null}'),
        ("queries.jsonl", '{"query": "Zürich"}'.encode("latin-1")),
    ],
)
def test_malformed_line_is_reported_with_number(tmp_path: Path, file: str, line: bytes) -> None:
    write(tmp_path, TOOLS, QUERIES)
    (tmp_path / file).write_bytes((tmp_path / file).read_bytes() + line + b"\n")
    with pytest.raises(InvalidDataError) as caught:
        read_toolset(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / file}: line 4")


def test_unknown_tool_is_reported_with_its_request(tmp_path: Path) -> None:
    write(tmp_path, TOOLS, [ask("fly", "train", "Post.fly")])
    with pytest.raises(InvalidDataError, match=r"'fly'.*'Post\.fly'"):
        read_toolset(tmp_path)


@pytest.mark.parametrize("kept", [0, 3, -8])
def test_unreadable_file_is_reported(tmp_path: Path, kept: int) -> None:
    """Missing file, no gzip data, truncated gzip data."""
    with pytest.raises(InvalidDataError, match=r"tools\.jsonl: cannot be read"):
        read_toolset(tmp_path)
    packed = gzip.compress(lines(TOOLS).encode())
    (tmp_path / "tools.jsonl.gz").write_bytes(packed[:kept] if kept else b"plain text")
    with pytest.raises(InvalidDataError, match=r"tools\.jsonl: cannot be read"):
        read_toolset(tmp_path)
