"""Stream the objects of a large JSON array, tolerating broken entries.

Histories are larger than memory, and exports may be truncated or damaged in the middle. A JSON parser stops
at the first error; here only the broken entry is lost.
"""

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple, cast

_CHUNK = 2**18
_MAX_ENTRY = 2**20
"""Characters of one entry; longer entries count as broken."""
_LOOKAHEAD = 16
"""An error this close to the end of the buffer may only mean that more text is needed."""
_SEPARATOR = re.compile(r"[\s,]*")
_NEXT_ENTRY = re.compile(r"\}\s*,\s*(?=\{)")
_TOKEN = re.compile(r'[\[\]{}]|"((?:[^"\\\r\n]++|\\.)*+)("\s*+(:?)|[\r\n]|)')
"""A bracket or a string. A line break ends a string that was never closed, since JSON escapes line breaks."""
_LIST = re.compile(r"\s*(\[?)")
_MAX_SMALL = 4096
"""Characters of a value that is kept while arrays are searched."""


class JsonEntry(NamedTuple):
    """An entry of the array, counted from one; `values` is None if it is not a readable object."""

    number: int
    values: dict[str, Any] | None


def json_entries(stream: BinaryIO, key: str = "") -> Iterator[JsonEntry]:
    """The objects of the first array in the file, or of the array under `key` in the top-level object."""
    text = _TextBuffer(stream)
    if not (text.enter_key(key) if key else text.enter_list()):
        return
    for number, values in enumerate(_entries(json.JSONDecoder(), text), 1):
        yield JsonEntry(number, values)


def _entries(decoder: json.JSONDecoder, text: "_TextBuffer") -> Iterator[dict[str, Any] | None]:
    """The objects of the array at the position of `text`; None for each that is broken."""
    while text.next_entry() not in ("", "]"):
        try:
            value, text.position = _decode(decoder, text)
        except (ValueError, RecursionError):
            yield None
            if not text.skip_entry():
                return
            continue
        yield cast("dict[str, Any]", value) if isinstance(value, dict) else None
    if text.at_end:
        yield None  # the array was never closed


class NestedEntry(NamedTuple):
    """An entry of one of several arrays, counted from one in the whole file."""

    number: int
    values: dict[str, Any] | None
    """None if it is not a readable object."""
    parents: tuple[Mapping[str, Any], ...]
    """What precedes the array in the objects around it, the outermost first."""


def nested_entries(stream: BinaryIO, key: str) -> Iterator[NestedEntry]:
    """The objects of every array under `key`, at any depth.

    Of the objects around an array only numbers, strings and small objects that precede it are known.
    """
    text = _TextBuffer(stream)
    decoder = json.JSONDecoder()
    number = 0
    parents: list[dict[str, Any]] = []
    while token := text.next_token():
        if token[0] in ("{", "["):
            parents.append({})
        elif token[0] in ("}", "]"):
            if parents:
                parents.pop()
        elif token[3] and parents:
            if token[1] == key and text.at_list():
                around = tuple(parents)
                for values in _entries(decoder, text):
                    number += 1
                    yield NestedEntry(number, values, around)
                text.skip_bracket()
            elif (value := text.small_value(decoder, key)) is not None:
                parents[-1][token[1]] = value


def _decode(decoder: json.JSONDecoder, text: "_TextBuffer") -> tuple[object, int]:
    while True:
        try:
            return decoder.raw_decode(text.buffer, text.position)
        except json.JSONDecodeError as error:
            incomplete = error.pos >= len(text.buffer) - _LOOKAHEAD or error.msg.startswith("Unterminated")
            if not incomplete or len(text.buffer) - text.position > _MAX_ENTRY or not text.read_more():
                raise


class _TextBuffer:
    """A sliding window over the text of a file."""

    def __init__(self, stream: BinaryIO) -> None:
        self.buffer = ""
        self.position = 0
        self.at_end = False
        self._stream = stream
        self._decoder: codecs.IncrementalDecoder | None = None

    def read_more(self) -> bool:
        """Drop what was read and append the next chunk; False at the end of the file."""
        chunk = self._stream.read(_CHUNK)
        if self._decoder is None:
            wide = chunk[:2] in (b"\xff\xfe", b"\xfe\xff")
            self._decoder = codecs.getincrementaldecoder("utf-16" if wide else "utf-8-sig")("replace")
        self.buffer = self.buffer[self.position :] + self._decoder.decode(chunk, final=not chunk)
        self.position = 0
        return bool(chunk)

    def enter_list(self) -> bool:
        """Go to the first entry of the first array; False if there is none."""
        while (bracket := self.buffer.find("[")) < 0:
            self.position = len(self.buffer)
            if not self.read_more():
                return False
        self.position = bracket + 1
        return True

    def enter_key(self, key: str) -> bool:
        """Go to the first entry of the array under `key` in the top-level object; False if there is none."""
        depth = 0
        while token := self.next_token():
            if token[0] in ("{", "["):
                depth += 1
            elif token[0] in ("}", "]"):
                depth -= 1
            elif depth == 1 and token[3] and token[1] == key and self.at_list():
                return True
        return False

    def next_entry(self) -> str:
        """Go to the start of the next entry: the character there, or "" at the end of the file."""
        while True:
            self.position = cast("re.Match[str]", _SEPARATOR.match(self.buffer, self.position)).end()
            if self.position < len(self.buffer):
                return self.buffer[self.position]
            if not self.read_more():
                self.at_end = True
                return ""

    def skip_entry(self) -> bool:
        """Go to the entry after a broken one; False if there is none."""
        while not (boundary := _NEXT_ENTRY.search(self.buffer, self.position)):
            self.position = max(self.position, len(self.buffer) - _LOOKAHEAD)
            if not self.read_more():
                return False
        self.position = boundary.end()
        return True

    def next_token(self) -> re.Match[str] | None:
        """The next bracket or string; None at the end of the file."""
        while True:
            token = _TOKEN.search(self.buffer, self.position)
            if token and (token.end() < len(self.buffer) or token.end() - token.start() > _MAX_ENTRY):
                self.position = token.end()
                return token
            # nothing, or a token that the next chunk may continue
            self.position = token.start() if token else len(self.buffer)
            if not self.read_more():
                last = _TOKEN.search(self.buffer, self.position)
                self.position = last.end() if last else len(self.buffer)
                return last

    def at_list(self) -> bool:
        """Whether an array starts here; if so, go to its first entry."""
        while True:
            start = cast("re.Match[str]", _LIST.match(self.buffer, self.position))
            if start.end() < len(self.buffer) or start[1]:
                break
            if not self.read_more():
                return False
        if start[1]:
            self.position = start.end()
        return bool(start[1])

    def skip_bracket(self) -> None:
        """Go past the bracket that closes an array."""
        if self.buffer.startswith("]", self.position):
            self.position += 1

    def small_value(self, decoder: json.JSONDecoder, key: str) -> object:
        """Go past the value here and return it.

        None for an array, for a long value and for an object with `key` in it, which are searched instead.
        """
        while len(self.buffer) - self.position < _MAX_SMALL and self.read_more():
            pass
        start = cast("re.Match[str]", _SEPARATOR.match(self.buffer, self.position)).end()
        window = self.buffer[start : start + _MAX_SMALL]
        if window.startswith("["):
            return None
        try:
            value, end = decoder.raw_decode(window)
        except (ValueError, RecursionError):
            return None
        if isinstance(value, dict) and f'"{key}"' in window[:end]:
            return None
        self.position = start + end
        return cast("object", value)
