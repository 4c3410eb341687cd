"""The entries of a long list in a JSON file, one by one: histories grow larger than memory."""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, cast

_CHUNK = 2**18
_MOST = 2**20
"""Characters of one entry; what is longer is taken for broken."""
_NEAR = 16
"""Characters before the end within which something missing may be still to come."""
_BETWEEN = re.compile(r"[\s,]*")
_NEXT = re.compile(r"\}\s*,\s*(?=\{)")


class JsonEntry(NamedTuple):
    """What stands at a place of the list, counted from one; nothing where that cannot be read."""

    number: int
    values: dict[str, Any] | None


def entries(stream: BinaryIO, key: str = "") -> Iterator[JsonEntry]:
    """The objects of the list that the file is, or of the one under `key`."""
    text = _TextBuffer(stream)
    if not text.begin(f'"{key}"' if key else ""):
        return
    decoder = json.JSONDecoder()
    number = 0
    while text.go_on() not in ("", "]"):
        number += 1
        try:
            value, text.at = _decoded(decoder, text)
        except (ValueError, RecursionError):
            yield JsonEntry(number, None)
            if not text.resume():
                return
            continue
        entry = cast("dict[str, Any]", value) if isinstance(value, dict) else None
        yield JsonEntry(number, entry)
    if text.ended:
        yield JsonEntry(number + 1, None)  # the list was never closed


def _decoded(decoder: json.JSONDecoder, text: "_TextBuffer") -> tuple[object, int]:
    while True:
        try:
            return decoder.raw_decode(text.held, text.at)
        except json.JSONDecodeError as error:
            open_end = error.pos >= len(text.held) - _NEAR or error.msg.startswith("Unterminated")
            if not open_end or len(text.held) - text.at > _MOST or not text.more():
                raise


class _TextBuffer:
    """As much of a file's text as is needed at a time."""

    def __init__(self, stream: BinaryIO) -> None:
        self.held = ""
        self.at = 0
        self.ended = False
        self._stream = stream
        self._decoder: codecs.IncrementalDecoder | None = None

    def more(self) -> bool:
        """Hold more of the file; whether there was more."""
        chunk = self._stream.read(_CHUNK)
        if self._decoder is None:
            wide = chunk[:2] in (b"\xff\xfe", b"\xfe\xff")
            self._decoder = codecs.getincrementaldecoder("utf-16" if wide else "utf-8-sig")("replace")
        self.held = self.held[self.at :] + self._decoder.decode(chunk, final=not chunk)
        self.at = 0
        return bool(chunk)

    def begin(self, mark: str) -> bool:
        """Go to the first entry of the list behind `mark`; whether there is one."""
        while (found := self.held.find(mark)) < 0 or (opened := self.held.find("[", found + len(mark))) < 0:
            self.at = found if found >= 0 else max(0, len(self.held) - len(mark))
            if not self.more():
                return False
        self.at = opened + 1
        return True

    def go_on(self) -> str:
        """Go to where the next entry begins: the character there, or nothing at the end of the file."""
        while True:
            self.at = cast("re.Match[str]", _BETWEEN.match(self.held, self.at)).end()
            if self.at < len(self.held):
                return self.held[self.at]
            if not self.more():
                self.ended = True
                return ""

    def resume(self) -> bool:
        """Go past an entry that cannot be read; whether there is another behind it."""
        while not (found := _NEXT.search(self.held, self.at)):
            self.at = max(self.at, len(self.held) - _NEAR)
            if not self.more():
                return False
        self.at = found.end()
        return True
