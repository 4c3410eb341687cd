"""Edits of JSON with comments change nothing but the entry."""

import json

import pytest

from contextune.cli.mcp.jsonc import load_jsonc, remove_member, set_member
from contextune.errors import InvalidDataError

SETTINGS = """\
// Zed settings
{
\t"theme": "One, {Dark} // no comment",
\t/* servers,
\t   mine */
\t"context_servers": {
\t\t"files": { "command": "npx", "args": ["-y", "x"], }, // keep
\t},
\t"vim": true, // last
}
"""
ENTRY = {"command": "contextune", "args": ["mcp", "--user", "Inês"]}
PATH = ("context_servers", "contextune")


def test_comments_order_and_indentation_stay() -> None:
    edited = set_member(SETTINGS, PATH, ENTRY)
    added = """\
\t\t"contextune": {
\t\t\t"command": "contextune",
\t\t\t"args": [
\t\t\t\t"mcp",
\t\t\t\t"--user",
\t\t\t\t"Inês"
\t\t\t]
\t\t}
"""
    marker = "// keep\n"
    assert edited == SETTINGS.replace(marker, marker + added)
    assert load_jsonc(edited)["context_servers"]["contextune"] == ENTRY


def test_removing_the_entry_restores_all_but_a_trailing_comma() -> None:
    removed = remove_member(set_member(SETTINGS, PATH, ENTRY), PATH)
    assert removed == SETTINGS.replace("}, // keep", "} // keep")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\ufeff",
        "{}",
        '{"a": 1}',
        '{"servers": {}}',
        '{\r\n    "servers": {\r\n        "b": [1, [], {"c": null}]\r\n    }\r\n}\r\n',
        '{"servers": {"x": {"command": "old"}, "y": 1.5e3}} // end',
        '{"servers": {"y": 1 /* one */ }, "a": "\\" // \\u00e9"}',
    ],
)
def test_entry_is_set_replaced_and_removed_in_any_layout(text: str) -> None:
    before = load_jsonc(text)
    servers = before.get("servers", {})
    edited = set_member(text, ("servers", "x"), ENTRY)
    assert load_jsonc(edited) == {**before, "servers": {**servers, "x": ENTRY}}
    again = set_member(edited, ("servers", "x"), 2)
    assert load_jsonc(again)["servers"]["x"] == 2
    assert "x" not in load_jsonc(remove_member(again, ("servers", "x")))["servers"]
    assert ("\r\n" in text) == ("\n" in edited and "\n" not in edited.replace("\r\n", ""))


def test_middle_and_first_entries_are_removed_with_their_comma() -> None:
    text = json.dumps({"a": {"x": 1, "y": 2, "z": 3}}, indent=4)
    for name, rest in (("x", {"y": 2, "z": 3}), ("y", {"x": 1, "z": 3}), ("z", {"x": 1, "y": 2})):
        edited = remove_member(text, ("a", name))
        assert edited == json.dumps({"a": rest}, indent=4)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "the file is not an object"),
        ('{"servers": 3}', "servers is not an object"),
        ('{"servers": {}, "servers": {}}', "line 1: not valid JSON: 'servers' is there twice"),
        ('{\n"servers": {\n', "line 3"),
        ('{"a": 1 "b": 2}', "a comma or } is missing"),
        ("{'a': 1}", "a name in quotes"),
        ('{"a": nope}', "not a value"),
        ('{"a": 1} {}', "more after the end"),
        ("[" * 5000, "too many levels"),
    ],
)
def test_files_that_cannot_be_edited_are_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidDataError, match=reason):
        set_member(text, ("servers", "x"), 1)


def test_missing_entry_cannot_be_removed() -> None:
    for text in ("{}", '{"servers": {"y": 1}}'):
        with pytest.raises(InvalidDataError, match=r"there is no 'servers\.x'"):
            remove_member(text, ("servers", "x"))
