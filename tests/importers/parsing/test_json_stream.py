"""Lists in JSON that are longer than what is held of them, broken in the middle, or never closed."""

import io
import json
from typing import Any

import pytest

from contextune.importers.parsing.json_stream import entries


def read(text: str | bytes, key: str = "") -> list[dict[str, Any] | None]:
    content = text.encode() if isinstance(text, str) else text
    return [entry.values for entry in entries(io.BytesIO(content), key)]


def test_entries_across_the_borders_of_what_is_held() -> None:
    values = [{"n": n, "text": 'é😀\\"}{][' * (n % 97), "inner": [{"a": n}, {"b": [n]}]} for n in range(4000)]
    assert read(json.dumps(values, ensure_ascii=False)) == values
    assert read(json.dumps(values, indent=2)) == values


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_mark_at_the_beginning_tells_the_encoding(encoding: str) -> None:
    assert read('[{"a": "Lágrima 😀"}]'.encode(encoding)) == [{"a": "Lágrima 😀"}]


def test_a_list_within_an_object_is_found_by_its_name() -> None:
    text = json.dumps({"Other": [{"x": 1}] * 50_000, "Browser History": [{"y": 2}], "Last": [{"z": 3}]})
    assert read(text, "Browser History") == [{"y": 2}]
    assert read(text, "Missing") == []


@pytest.mark.parametrize(
    ("text", "found"),
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
def test_what_is_broken_is_told_and_the_rest_is_read(text: str, found: list[dict[str, Any] | None]) -> None:
    assert read(text) == found


def test_one_broken_entry_in_a_long_list_costs_itself_alone() -> None:
    good = json.dumps({"a": "x" * 500})
    text = f'[{", ".join([good] * 3000)}, {{"a": }}, {", ".join([good] * 3000)}]'
    found = read(text)
    assert len(found) == 6001
    assert found.count(None) == 1


def test_nesting_without_end_and_bytes_that_are_no_text_are_no_crash() -> None:
    deep = "[" * 100_000
    assert read(f'[{{"a": {deep}, {{"b": 1}}]')[0] is None
    assert read(b'[{"a": "\xff\xfe"}]') == [{"a": "\ufffd\ufffd"}]
