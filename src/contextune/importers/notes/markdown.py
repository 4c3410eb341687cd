"""Notes in files of their own: Markdown and Obsidian folders, and what Apple Notes exports."""

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any, cast

import yaml

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.charsets import decode_text
from contextune.importers.parsing.html_text import html_text, tidy
from contextune.importers.reader import Found, ImportContext, iso, item_id, shortened
from contextune.types import Item

_SUFFIXES = (".md", ".markdown", ".txt", ".text", ".html", ".htm")
_MOST = 4 * 2**20
"""Bytes: what is longer is no note."""
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE | re.DOTALL)
_MOST_FRONT = 65_536
_LINK = re.compile(r"!?\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]")
_WEB_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)")
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_TITLE = re.compile(r"<(?:title|h1)\b[^<>]*>([^<>]*)</", re.IGNORECASE)
_STAMP = re.compile(r"[-_ ]\d{4}-\d\d-\d\d[T_ ]\d\d[:._-]?\d\d[:._-]?\d\dZ?$")
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
    """One note in a file, of Markdown, plain text or simple HTML."""

    name = "notes"
    apps = ("NotesReader",)

    def reads(self, file: SourceFile) -> bool:
        """Whether its name says text; a page of the web is none."""
        if file.suffix not in _SUFFIXES or "\0" in file.start:
            return False
        return not file.suffix.startswith(".htm") or not (file.says("<script") or file.says("<link"))

    def read(self, file: SourceFile, _about: ImportContext) -> Iterator[Found]:
        """The note."""
        if file.size > _MOST:
            yield SkippedEntry(file.where, "too long for a note")
            return
        text = decode_text(file.whole(_MOST))
        front: Mapping[str, Any] = {}
        html = file.suffix.startswith(".htm")
        if not html and (found := _FRONT.match(text)):
            read = _front_matter(found[1])
            if read is None:
                yield SkippedEntry(file.where, "front matter that cannot be read; the note is kept with it")
            else:
                front, text = read, text[found.end() :]
        if "excalidraw-plugin" in front:
            yield SkippedEntry(file.where, "a drawing")
            return
        content = html_text(text) if html else _plain(text)
        if not content:
            yield SkippedEntry(file.where, "an empty note")
            return
        yield _note(file, _title(file, front, text, html=html), content, front)


def _note(file: SourceFile, title: str, content: str, front: Mapping[str, Any]) -> Item:
    own = front.get("id") or front.get("uid")
    tags = _listed(front.get("tags") or front.get("tag") or front.get("keywords"))
    marks = [f"#{tag}" for tag in tags if f"#{tag}" not in content]
    fields: dict[str, Any] = {
        "title": title,
        "content": shortened(content) + (f"\n{' '.join(marks)}" if marks else ""),
        "folder": _folder(file),
        "modified": _modified(front) or iso(file.modified),
        "tags": tags,
        "aliases": _listed(front.get("aliases") or front.get("alias")),
    }
    identity = ("id", own) if isinstance(own, str | int) and own else ("file", file.identity)
    return Item(
        item_id("note", *identity), "NotesReader", {key: value for key, value in fields.items() if value}
    )


def _front_matter(text: str) -> Mapping[str, Any] | None:
    """What stands above a note, by names in small letters; None where that cannot be told."""
    if len(text) > _MOST_FRONT:
        return None
    try:
        # not the loader in C: thousands of brackets in a row end the whole program there
        found: object = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if found is None:
        return {}
    if not isinstance(found, dict):
        return None
    return {str(name).lower(): value for name, value in cast("dict[object, Any]", found).items()}


def _plain(text: str) -> str:
    """Markdown as it is read: links by their names."""
    if "%%" in text:
        text = _COMMENT.sub("", text)
    if "[[" in text:
        text = _LINK.sub(lambda found: found[2] or found[1], text)
    if "](" in text:
        text = _WEB_LINK.sub(lambda found: found[1], text)
    return tidy(text)


def _title(file: SourceFile, front: Mapping[str, Any], text: str, *, html: bool) -> str:
    named = front.get("title")
    if isinstance(named, str | int) and str(named).strip():
        return tidy(str(named))
    if html and (found := _TITLE.search(text)) and (title := html_text(found[1])):
        return title
    return tidy(_STAMP.sub("", file.path.stem)) or file.path.stem


def _folder(file: SourceFile) -> str:
    """Apple's own export has a folder for each note, within the one the note is in."""
    parts = file.path.parts
    if len(parts) > 2 and parts[-2] == file.path.stem:
        return parts[-3]
    return file.folder


def _modified(front: Mapping[str, Any]) -> str:
    for name in _MODIFIED:
        value = front.get(name)
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value.strip())
            except ValueError:
                continue
        if isinstance(value, datetime):
            return iso(value)
        if isinstance(value, date):
            return value.isoformat()
    return ""


def _listed(value: object) -> list[str]:
    if isinstance(value, str):
        value = re.split(r"[,\s]+", value) if "," in value or "#" in value else [value]
    if not isinstance(value, list):
        return []
    kept = [
        str(one).strip().removeprefix("#")
        for one in cast("list[object]", value)
        if isinstance(one, str | int)
    ]
    return list(dict.fromkeys(filter(None, kept)))
