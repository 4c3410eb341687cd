"""Streaming parser for the HTML activity pages of Takeout, which can have hundreds of megabytes."""

import re
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from typing import BinaryIO, NamedTuple

from contextune.importers.parsing.html_text import html_text

ENTRY_MARK = b'<div class="outer-cell'
_CHUNK = 2**18
_MAX_ENTRY = 2**16
"""Bytes of one entry; the rest of a longer one is dropped."""
_HEADER, _CONTENT, _END = '<div class="header-cell', '<div class="content-cell', "</div>"
_LINK = re.compile(r'<a [^<>]*?href="([^"<>]*)"[^<>]*>')
_BREAK = re.compile(r"<br ?/?>")


class HtmlEntry(NamedTuple):
    """An entry of the page: product, links with their texts, localised time, and the caption."""

    number: int
    product: str
    links: tuple[tuple[str, str], ...]
    time: str
    caption: str
    """HTML below the entry, which marks advertisements."""


def read_entries(stream: BinaryIO) -> Iterator[HtmlEntry]:
    """The entries of a page."""
    for number, block in enumerate(_blocks(stream)):
        if number:  # before the first entry there are only styles
            yield _parse_entry(number, block[:_MAX_ENTRY].decode("utf-8", "replace"))


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    buffer = b""
    while chunk := stream.read(_CHUNK):
        *complete, buffer = (buffer + chunk).split(ENTRY_MARK)
        yield from complete
        if len(buffer) > _MAX_ENTRY:
            buffer = (
                buffer[:_MAX_ENTRY] + buffer[-len(ENTRY_MARK) :]
            )  # the end may be the start of the next mark
    yield buffer


def _parse_entry(number: int, text: str) -> HtmlEntry:
    cells = list(_cells(text, _CONTENT))
    content = cells[0] if cells else ""
    lines = (html_text(part) for part in reversed(_BREAK.split(content)))
    return HtmlEntry(
        number,
        " ".join(_product(header) for header in _cells(text, _HEADER)),
        tuple(_links(content)),
        next((line for line in lines if line), ""),
        cells[-1] if len(cells) > 1 else "",
    )


@lru_cache(maxsize=64)  # there are few products
def _product(header: str) -> str:
    return html_text(header)


def _cells(text: str, mark: str) -> Iterator[str]:
    """The contents of these cells, by plain search in linear time."""
    at = 0
    while (begin := text.find(mark, at)) >= 0:
        inside = text.find(">", begin) + 1
        at = text.find(_END, inside)
        if not inside or at < 0:
            return
        yield text[inside:at]


def _links(text: str) -> Iterator[tuple[str, str]]:
    for link in _LINK.finditer(text):
        end = text.find("</a>", link.end())
        if end < 0:
            return
        yield unescape(link[1]), html_text(text[link.end() : end])
