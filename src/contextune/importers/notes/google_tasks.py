"""Google Tasks (Takeout): Tasks.json with all lists."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, time
from typing import Any, cast

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.charsets import decode_text
from contextune.importers.parsing.html_text import tidy
from contextune.importers.reader import ImportContext, ImportRecord, iso_time, item_id, read_each, shorten
from contextune.types import Item

_KIND = '"tasks#taskLists"'
_MAX_SIZE = 64 * 2**20
_MAX_NOTES = 4000
_MAX_TITLE = 1000
_MIDNIGHT = time()


class GoogleTasksReader:
    """Lists of Google Tasks, as reminders."""

    name = "google-tasks"
    apps = ("Reminders",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether it is Takeout's JSON of task lists."""
        return file.suffix == ".json" and _KIND in file.start

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The tasks of all lists."""
        try:
            data: object = json.loads(decode_text(file.read_all(_MAX_SIZE)))
        except (ValueError, RecursionError):
            yield SkippedEntry(file.where, "invalid JSON")
            return
        number = 0
        for task_list in _entries(data):
            title = tidy(_text(task_list.get("title")))
            for task in _entries(task_list):
                number += 1
                where = f"{file.where}, task {number}"
                yield from read_each(
                    [task],
                    lambda task: _task(task, title, where, context),  # noqa: B023
                    lambda _: where,  # noqa: B023
                )


def _task(task: Mapping[str, Any], title: str, where: str, context: ImportContext) -> Iterator[ImportRecord]:
    name = shorten(tidy(_text(task.get("title"))), _MAX_TITLE)
    if task.get("deleted"):
        yield SkippedEntry(where, "deleted task")
    elif not name:
        yield SkippedEntry(where, "task without a title")
    else:
        links = [_text(link.get("link")) for link in _dicts(task.get("links"))]
        done = _text(task.get("status")) == "completed" or bool(task.get("completed"))
        fields = {
            "title": name,
            "list": title,
            # Google keeps only the day, as midnight in UTC
            "due": _text(task.get("due"))[:10],
            "scheduled_time": _clock_time(task.get("scheduled_time"), context),
            "status": "done" if done else "open",
            "created": _time(task.get("created") or task.get("updated")),
            "notes": shorten(tidy("\n".join(filter(None, (_text(task.get("notes")), *links)))), _MAX_NOTES),
        }
        identity = _text(task.get("id")) or f"{title}\x1f{name}"
        present = {key: value for key, value in fields.items() if value}
        yield Item(item_id("task", "google", identity), "Reminders", present)


def _clock_time(value: object, context: ImportContext) -> str:
    """The local time for which a task is scheduled; empty for a whole day, which is midnight in UTC."""
    current = [entry for entry in _dicts(value) if entry.get("current", True)]
    start = _time(current[0].get("start")) if current else ""
    moment = datetime.fromisoformat(start) if start else None
    if moment is None or (moment.tzinfo and moment.astimezone(UTC).time() == _MIDNIGHT):
        return ""
    return iso_time(context.to_local(moment))


def _entries(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield from _dicts(cast("Mapping[str, Any]", value).get("items"))


def _dicts(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (
            cast("dict[str, Any]", entry) for entry in cast("list[object]", value) if isinstance(entry, dict)
        )


def _time(value: object) -> str:
    try:
        return iso_time(datetime.fromisoformat(_text(value)).replace(microsecond=0))
    except ValueError:
        return ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
