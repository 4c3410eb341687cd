"""JSON arrays that are longer than the buffer, broken in the middle, or never closed."""

import io
import json
from typing import Any

import pytest

from contextune.importers.parsing import json_stream
from contextune.importers.parsing.json_stream import json_entries


def read(text: str | bytes, key: str = "") -> list[dict[str, Any] | None]:
    content = text.encode() if isinstance(text, str) else text
    return [entry.values for entry in json_entries(io.BytesIO(content), key)]


def test_entries_across_chunk_boundaries() -> None:
    values = [{"n": n, "text": 'é😀\\"}{][' * (n % 97), "inner": [{"a": n}, {"b": [n]}]} for n in range(4000)]
    assert read(json.dumps(values, ensure_ascii=False)) == values
    assert read(json.dumps(values, indent=2)) == values


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_byte_order_mark_selects_the_encoding(encoding: str) -> None:
    assert read('[{"a": "Lágrima 😀"}]'.encode(encoding)) == [{"a": "Lágrima 😀"}]


@pytest.mark.parametrize(
    "before",
    [
        {"Typed URLs": [{"Browser History": [{"wrong": 1}]}]},
        {"Settings": {"Browser History": [{"wrong": 1}]}},
        {"Note": 'a "Browser History": [{"wrong": 1}]'},
        {"List": ["Browser History", [{"wrong": 1}]]},
        {"Name": "Browser History", "Others": [{"wrong": 1}]},
        {"Padding": "x" * 300_000, "Odd \\": [{"Browser History": [{"wrong": 1}]}]},
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_only_a_key_of_the_top_level_object_selects_the_array(
    before: dict[str, Any], indent: int | None
) -> None:
    text = json.dumps({**before, "Browser History": [{"right": 2}]}, indent=indent)
    assert read(text, "Browser History") == [{"right": 2}]
    assert read(json.dumps(before, indent=indent), "Browser History") == []


def test_key_is_found_after_a_string_that_was_never_closed() -> None:
    text = '{"Note": "broken\n, "Browser History" : [{"right": 2}]}'
    assert read(text, "Browser History") == [{"right": 2}]


@pytest.mark.parametrize("size", range(1, 40))
def test_key_is_found_wherever_a_chunk_ends(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "_CHUNK", size)
    text = '{"a": [{"Browser History": []}], "b\\"": "x", "Browser History" : \n [ {"right": 2} ]}'
    assert read(text, "Browser History") == [{"right": 2}]


def test_array_in_an_object_is_selected_by_its_key() -> None:
    text = json.dumps({"Other": [{"x": 1}] * 50_000, "Browser History": [{"y": 2}], "Last": [{"z": 3}]})
    assert read(text, "Browser History") == [{"y": 2}]
    assert read(text, "Missing") == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        ("[]", []),
        ('\ufeff[{"a": 0}]', [{"a": 0}]),
        ('[{"a": 1}, 5, null, "x", {"a": 2}]', [{"a": 1}, None, None, None, {"a": 2}]),
        ('[{"a": 1}, {"a": tru, "b": {}}, {"a": 3}]', [{"a": 1}, None, {"a": 3}]),
        ('[{"a": 1}, {"a": "bro\nken"}, {"a": 3}]', [{"a": 1}, None, {"a": 3}]),
        ('[{"a": 1}, {"a": 2', [{"a": 1}, None]),
        ('[{"a": 1},', [{"a": 1}, None]),
        ('[{"a": 1}, {"a": "never closed}, {"a": 3}]', [{"a": 1}, None, {"a": 3}]),
    ],
)
def test_broken_entries_are_reported(text: str, values: list[dict[str, Any] | None]) -> None:
    assert read(text) == values


def test_one_broken_entry_in_a_long_array_is_the_only_loss() -> None:
    good = json.dumps({"a": "x" * 500})
    text = f'[{", ".join([good] * 3000)}, {{"a": }}, {", ".join([good] * 3000)}]'
    values = read(text)
    assert len(values) == 6001
    assert values.count(None) == 1


def test_deep_nesting_and_invalid_bytes_do_not_crash() -> None:
    deep = "[" * 100_000
    assert read(f'[{{"a": {deep}, {{"b": 1}}]')[0] is None
    assert read(b'[{"a": "\xff\xfe"}]') == [{"a": "\ufffd\ufffd"}]
