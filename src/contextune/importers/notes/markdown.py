"""Notes in single files: Markdown, Obsidian vaults, plain text, and the HTML of Apple Notes."""

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any, cast

import yaml

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.charsets import decode_text
from contextune.importers.parsing.html_text import html_text, tidy
from contextune.importers.reader import ImportContext, ImportRecord, iso_time, item_id, shorten
from contextune.types import Item

BOOKMARKS = "<!DOCTYPE NETSCAPE-Bookmark-file-1>"
"""How the bookmarks begin that browsers export."""
_SUFFIXES = (".md", ".markdown", ".txt", ".text", ".html", ".htm")
_MAX_SIZE = 4 * 2**20
"""Bytes; larger files are not notes."""
_FRONT_MATTER = re.compile(
    r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE | re.DOTALL
)
_MAX_FRONT_MATTER = 65_536
_LINK = re.compile(r"!?\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]")
_WEB_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)")
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_TITLE = re.compile(r"<(?:title|h1)\b[^<>]*>([^<>]*)</", re.IGNORECASE)
_TIMESTAMP_SUFFIX = re.compile(r"[-_ ]\d{4}-\d\d-\d\d[T_ ]\d\d[:._-]?\d\d[:._-]?\d\dZ?$")
_NO_NOTES = ("<script", "<link", BOOKMARKS)
"""Parts of web pages and bookmarks."""
_NOTION_ID = re.compile(r" ([0-9a-f]{32})(?:_all)?$")
"""Notion ends the names of pages, databases and their folders with an id."""
_NOTION_TITLE = re.compile(r"\A# ([^\r\n]+)\s*")
_MODIFIED = (
    "modified",
    "updated",
    "date modified",
    "date_modified",
    "last_modified",
    "lastmod",
    "updated_at",
)


class NotesReader:
    """One note per file: Markdown, plain text or simple HTML."""

    name = "notes"
    apps = ("Notes",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether it is a text file, but no web page or bookmarks; or the table of a Notion database."""
        if file.suffix == ".csv":
            return bool(_NOTION_ID.search(file.path.stem))
        if file.suffix not in _SUFFIXES or "\0" in file.start:
            return False
        return not file.suffix.startswith(".htm") or not any(map(file.contains, _NO_NOTES))

    def read(self, file: SourceFile, _context: ImportContext) -> Iterator[ImportRecord]:
        if file.suffix == ".csv":
            yield SkippedEntry(file.where, "table of a Notion database, whose pages are read")
            return
        if file.size > _MAX_SIZE:
            yield SkippedEntry(file.where, "too large for a note")
            return
        text = decode_text(file.read_all(_MAX_SIZE))
        front: Mapping[str, Any] = {}
        html = file.suffix.startswith(".htm")
        if not html and (match := _FRONT_MATTER.match(text)):
            parsed = _front_matter(match[1])
            if parsed is None:
                yield SkippedEntry(file.where, "invalid front matter; the note is kept with it")
            else:
                front, text = parsed, text[match.end() :]
        if "excalidraw-plugin" in front:
            yield SkippedEntry(file.where, "drawing")
            return
        notion = _NOTION_ID.search(file.path.stem)
        if notion and not html and (heading := _NOTION_TITLE.match(text)):
            # the name of the file is cut, the heading is not
            front, text = {"title": heading[1], "id": notion[1], **front}, text[heading.end() :]
        content = html_text(text) if html else _markdown_text(text)
        if not content:
            yield SkippedEntry(file.where, "empty note")
            return
        yield _note(file, _title(file, front, text, html=html), content, front)


def _note(file: SourceFile, title: str, content: str, front: Mapping[str, Any]) -> Item:
    note_id = front.get("id") or front.get("uid")
    tags = _string_list(front.get("tags") or front.get("tag") or front.get("keywords"))
    hashtags = [f"#{tag}" for tag in tags if f"#{tag}" not in content]
    fields: dict[str, Any] = {
        "title": title,
        "content": shorten(content) + (f"\n{' '.join(hashtags)}" if hashtags else ""),
        "folder": _folder(file),
        "modified": _modified(front) or iso_time(file.modified),
        "tags": tags,
        "aliases": _string_list(front.get("aliases") or front.get("alias")),
    }
    identity = ("id", note_id) if isinstance(note_id, str | int) and note_id else ("file", file.identity)
    return Item(item_id("note", *identity), "Notes", {key: value for key, value in fields.items() if value})


def _front_matter(text: str) -> Mapping[str, Any] | None:
    """The YAML front matter by lower-case key; None if it is invalid."""
    if len(text) > _MAX_FRONT_MATTER:
        return None
    try:
        # not the C loader, which crashes on thousands of nested brackets
        data: object = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if data is None:
        return {}
    if not isinstance(data, dict):
        return None
    return {str(name).lower(): value for name, value in cast("dict[object, Any]", data).items()}


def _markdown_text(text: str) -> str:
    """Markdown as text: links become their titles."""
    if "%%" in text:
        text = _COMMENT.sub("", text)
    if "[[" in text:
        text = _LINK.sub(lambda link: link[2] or link[1], text)
    if "](" in text:
        text = _WEB_LINK.sub(lambda link: link[1], text)
    return tidy(text)


def _title(file: SourceFile, front: Mapping[str, Any], text: str, *, html: bool) -> str:
    title = front.get("title")
    if isinstance(title, str | int) and str(title).strip():
        return tidy(str(title))
    if html and (match := _TITLE.search(text)) and (heading := html_text(match[1])):
        return heading
    return tidy(_TIMESTAMP_SUFFIX.sub("", _NOTION_ID.sub("", file.path.stem))) or file.path.stem


def _folder(file: SourceFile) -> str:
    """The folder of a note. Apple's export puts each note into a folder of its own."""
    parts = file.path.parts
    if len(parts) > 2 and parts[-2] == file.path.stem:
        return parts[-3]
    return _NOTION_ID.sub("", file.folder)


def _modified(front: Mapping[str, Any]) -> str:
    for name in _MODIFIED:
        value = front.get(name)
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value.strip())
            except ValueError:
                continue
        if isinstance(value, datetime):
            return iso_time(value)
        if isinstance(value, date):
            return value.isoformat()
    return ""


def _string_list(value: object) -> list[str]:
    if isinstance(value, str):
        value = re.split(r"[,\s]+", value) if "," in value or "#" in value else [value]
    if not isinstance(value, list):
        return []
    strings = [
        str(entry).strip().removeprefix("#")
        for entry in cast("list[object]", value)
        if isinstance(entry, str | int)
    ]
    return list(dict.fromkeys(filter(None, strings)))
