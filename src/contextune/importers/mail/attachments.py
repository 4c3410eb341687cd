"""Text of documents attached to mails: PDF (with pypdf), DOCX and plain text, up to a size."""

import html
import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import Any

from contextune.errors import MissingExtraError
from contextune.importers.parsing.charsets import decode_text
from contextune.importers.parsing.html_text import tidy

MAX_ATTACHMENT = 10 * 2**20
"""Bytes of an attachment; larger ones are only named."""
MAX_DOCUMENTS = 10
"""Documents of one mail that are read."""
MAX_PASSAGE = 4000
"""Characters kept of a document."""
_MAX_PAGES = 30
_MAX_XML = 32 * 2**20
_DOCX_TEXT = re.compile(r"<w:t(?:\s[^<>]*)?>([^<]*)</w:t>|(<w:(?:p|br|tab)\b[^<>]*/>|</w:p>)")
_PLAIN = (".txt", ".md", ".csv", ".log", ".text")


@dataclass(frozen=True, slots=True)
class AttachedDocument:
    """An attachment whose text can be read."""

    name: str
    content: bytes


def check_reader() -> None:
    """Raise `MissingExtraError` if the library for PDF is not installed."""
    if find_spec("pypdf") is None:
        raise MissingExtraError("reading attachments", "attachments")


def has_text(name: str) -> bool:
    """Whether the text of an attachment with this name can be read."""
    return PurePosixPath(name).suffix.lower() in (".pdf", ".docx", *_PLAIN)


def document_text(document: AttachedDocument) -> str | None:
    """The beginning of the text; None if the document is damaged or encrypted."""
    suffix = PurePosixPath(document.name).suffix.lower()
    try:
        if suffix == ".pdf":
            text = _pdf_text(document.content)
        elif suffix == ".docx":
            text = _docx_text(document.content)
        else:
            text = decode_text(document.content[: 4 * MAX_PASSAGE])
    except Exception:  # of a damaged file, the libraries raise anything
        return None
    return tidy(text)[:MAX_PASSAGE]


def _pdf_text(content: bytes) -> str:
    library: Any = import_module("pypdf")
    parts: list[str] = []
    for page in _first_pages(library.PdfReader(io.BytesIO(content))):
        parts.append(page.extract_text())
        if sum(map(len, parts)) > MAX_PASSAGE:
            break
    return "\n".join(parts)


def _first_pages(reader: Any) -> Iterator[Any]:
    for number in range(min(_MAX_PAGES, len(reader.pages))):
        yield reader.pages[number]


def _docx_text(content: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(content)) as archive, archive.open("word/document.xml") as stream:
        xml = stream.read(_MAX_XML).decode("utf-8", "replace")
    parts = (html.unescape(text) if not end else _space(end) for text, end in _DOCX_TEXT.findall(xml))
    return "".join(parts)


def _space(tag: str) -> str:
    return " " if tag.startswith("<w:tab") else "\n"
