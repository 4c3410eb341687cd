"""The entries of Takeout's activity pages, as they stream by: a page can be hundreds of megabytes long."""

import re
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from typing import BinaryIO, NamedTuple

from contextune.importers.parsing.html_text import html_text

MARK = b'<div class="outer-cell'
_CHUNK = 2**18
_MOST = 2**16
"""Bytes of one entry; of what is longer the rest is left out."""
_HEADER, _CONTENT, _END = '<div class="header-cell', '<div class="content-cell', "</div>"
_LINK = re.compile(r'<a [^<>]*?href="([^"<>]*)"[^<>]*>')
_BREAK = re.compile(r"<br ?/?>")


class HtmlEntry(NamedTuple):
    """One entry as it is shown: the product, its links with their words, the time in words, and the rest."""

    number: int
    product: str
    links: tuple[tuple[str, str], ...]
    time: str
    small: str
    """What is told about the entry below it, such as that it was an advertisement, as HTML."""


def told(stream: BinaryIO) -> Iterator[HtmlEntry]:
    """The entries of a page."""
    for number, block in enumerate(_blocks(stream)):
        if number:  # before the first stands only style
            yield _told(number, block[:_MOST].decode("utf-8", "replace"))


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    held = b""
    while chunk := stream.read(_CHUNK):
        *whole, held = (held + chunk).split(MARK)
        yield from whole
        if len(held) > _MOST:
            held = held[:_MOST] + held[-len(MARK) :]  # its end may be the beginning of a mark
    yield held


def _told(number: int, text: str) -> HtmlEntry:
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


@lru_cache(maxsize=64)  # there are few
def _product(header: str) -> str:
    return html_text(header)


def _cells(text: str, mark: str) -> Iterator[str]:
    """What stands in the cells of this kind. Looked for and not matched: time grows with length alone."""
    at = 0
    while (begin := text.find(mark, at)) >= 0:
        inside = text.find(">", begin) + 1
        at = text.find(_END, inside)
        if not inside or at < 0:
            return
        yield text[inside:at]


def _links(text: str) -> Iterator[tuple[str, str]]:
    for found in _LINK.finditer(text):
        end = text.find("</a>", found.end())
        if end < 0:
            return
        yield unescape(found[1]), html_text(text[found.end() : end])
