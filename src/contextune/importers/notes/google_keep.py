"""Google Keep, as Takeout has it: a JSON file for each note, and the same once more as HTML."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.charsets import decode_text
from contextune.importers.parsing.html_text import html_text, tidy
from contextune.importers.reader import Found, ImportContext, instant, item_id, shortened
from contextune.types import Item

_SIGNS = ('"isTrashed"', '"isArchived"', '"userEditedTimestampUsec"')
_MOST = 16 * 2**20
_MOST_TITLE = 80
_USEC = 1_000_000


class GoogleKeepReader:
    """Notes and checklists of Google Keep."""

    name = "keep"
    apps = ("Notes",)

    def reads(self, file: SourceFile) -> bool:
        """Whether it is a note's JSON, or what Takeout puts beside it."""
        if file.suffix == ".json":
            return sum(sign in file.start for sign in _SIGNS) > 1
        return file.folder == "GoogleKeepReader" and (file.suffix == ".html" or file.name == "Labels.txt")

    def read(self, file: SourceFile, _about: ImportContext) -> Iterator[Found]:
        """The note; one that was archived or thrown away is not read."""
        if file.suffix != ".json":
            yield SkippedEntry(file.where, "a copy of notes that are read as JSON")
            return
        try:
            note: object = json.loads(decode_text(file.whole(_MOST)))
        except (ValueError, RecursionError):
            yield SkippedEntry(file.where, "no readable JSON")
            return
        if not isinstance(note, dict):
            yield SkippedEntry(file.where, "no note of Keep")
            return
        given = cast("dict[str, Any]", note)
        if given.get("isTrashed") or given.get("isArchived"):
            yield SkippedEntry(
                file.where, "a note thrown away" if given.get("isTrashed") else "an archived note"
            )
            return
        content = _content(given)
        title = tidy(_text(given.get("title")))
        if not content and not title:
            yield SkippedEntry(file.where, "an empty note")
            return
        yield _item(file, given, title, content)


def _item(file: SourceFile, note: Mapping[str, Any], title: str, content: str) -> Item:
    labels = [name for label in _dicts(note.get("labels")) if (name := tidy(_text(label.get("name"))))]
    edited, created = _time(note.get("userEditedTimestampUsec")), _time(note.get("createdTimestampUsec"))
    when = edited or created
    fields: dict[str, Any] = {
        # without a title, a note is known by how it begins
        "title": title or shortened(content.partition("\n")[0], _MOST_TITLE),
        "content": shortened(content),
        "folder": labels[0] if labels else "GoogleKeepReader",
        "modified": instant(when // _USEC) if when else "",
        "tags": labels if len(labels) > 1 else [],
    }
    identity = ("keep", created) if created else ("file", file.identity)
    kept = {name: value for name, value in fields.items() if value or name == "content"}
    return Item(item_id("note", *identity), "Notes", kept)


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
    """A time of our days, or zero, which Keep too writes where it knows none."""
    return value if isinstance(value, int) and 10**15 < value < 10**16 else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dicts(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        for one in cast("list[object]", value):
            if isinstance(one, dict):
                yield cast("dict[str, Any]", one)
