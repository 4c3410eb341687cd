"""Google Keep (Takeout): a JSON file per note, and an HTML copy that is skipped."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.charsets import decode_text
from contextune.importers.parsing.html_text import html_text, tidy
from contextune.importers.reader import ImportContext, ImportRecord, iso_timestamp, item_id, shorten
from contextune.types import Item

_KEYS = ('"isTrashed"', '"isArchived"', '"userEditedTimestampUsec"')
_MAX_SIZE = 16 * 2**20
_MAX_TITLE = 80
_USEC = 1_000_000


class GoogleKeepReader:
    """Notes and checklists of Google Keep."""

    name = "keep"
    apps = ("Notes",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether it is the JSON of a note, or a file that Takeout adds."""
        if file.suffix == ".json":
            return sum(key in file.start for key in _KEYS) > 1
        return file.folder == "Keep" and (file.suffix == ".html" or file.name == "Labels.txt")

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The note, unless it was deleted, or archived and archived notes are not asked for."""
        if file.suffix != ".json":
            yield SkippedEntry(file.where, "copy of notes that are read as JSON")
            return
        try:
            note: object = json.loads(decode_text(file.read_all(_MAX_SIZE)))
        except (ValueError, RecursionError):
            yield SkippedEntry(file.where, "invalid JSON")
            return
        if not isinstance(note, dict):
            yield SkippedEntry(file.where, "not a Keep note")
            return
        data = cast("dict[str, Any]", note)
        if data.get("isTrashed") or (data.get("isArchived") and not context.archived):
            archived = "archived note: import it with --archived"
            yield SkippedEntry(file.where, "deleted note" if data.get("isTrashed") else archived)
            return
        content = _content(data)
        title = tidy(_text(data.get("title")))
        if not content and not title:
            yield SkippedEntry(file.where, "empty note")
            return
        yield _item(file, data, title, content)


def _item(file: SourceFile, note: Mapping[str, Any], title: str, content: str) -> Item:
    labels = [name for label in _dicts(note.get("labels")) if (name := tidy(_text(label.get("name"))))]
    edited, created = _time(note.get("userEditedTimestampUsec")), _time(note.get("createdTimestampUsec"))
    modified = edited or created
    fields: dict[str, Any] = {
        # a note without a title is called by its first line
        "title": title or shorten(content.partition("\n")[0], _MAX_TITLE),
        "content": shorten(content),
        "folder": labels[0] if labels else "Keep",
        "modified": iso_timestamp(modified // _USEC) if modified else "",
        "tags": labels if len(labels) > 1 else [],
    }
    identity = ("keep", created) if created else ("file", file.identity)
    present = {name: value for name, value in fields.items() if value or name == "content"}
    return Item(item_id("note", *identity), "Notes", present)


def _content(note: Mapping[str, Any]) -> str:
    parts = [_text(note.get("textContent")) or html_text(_text(note.get("textContentHtml")))]
    parts += [
        f"[{'x' if entry.get('isChecked') else ' '}] {_text(entry.get('text'))}"
        for entry in _dicts(note.get("listContent"))
        if _text(entry.get("text")).strip()
    ]
    parts += [_text(link.get("title")) or _text(link.get("url")) for link in _dicts(note.get("annotations"))]
    return tidy("\n".join(filter(None, parts)))


def _time(value: object) -> int:
    """A plausible time in microseconds, or 0, as Keep writes for an unknown time."""
    return value if isinstance(value, int) and 10**15 < value < 10**16 else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dicts(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        for entry in cast("list[object]", value):
            if isinstance(entry, dict):
                yield cast("dict[str, Any]", entry)
