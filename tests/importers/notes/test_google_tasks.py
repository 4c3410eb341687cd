"""Google Tasks of Takeout."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.importers.reading_files import fields_in, items_in, skipped_in


def takeout(tmp_path: Path, *tasks: dict[str, Any]) -> Path:
    lists: list[dict[str, Any]] = [
        {
            "kind": "tasks#tasks",
            "id": "L1",
            "title": "Studio",
            "updated": "2024-05-14T10:00:00Z",
            "items": tasks,
        },
        {"kind": "tasks#tasks", "id": "L2", "title": "Empty"},
    ]
    path = tmp_path / "Takeout" / "Tasks" / "Tasks.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"kind": "tasks#taskLists", "items": lists}))
    return path


def test_tasks_of_all_lists_are_reminders(tmp_path: Path) -> None:
    path = takeout(
        tmp_path,
        {
            "id": "T1",
            "title": "Order talc",
            "task_type": "TASK",
            "status": "needsAction",
            "due": "2024-05-20T00:00:00Z",
            "created": "2024-05-10T08:30:15.123456Z",
            "updated": "2024-05-11T08:30:15.123456Z",
            "notes": "two bags",
            "links": [{"type": "email", "description": "x", "link": "https://example.com/mail"}],
        },
        {
            "id": "T2",
            "title": "Fire",
            "status": "completed",
            "completed": "2024-05-01T00:00:00Z",
            "parent": "T1",
        },
        {"id": "T3", "title": " ", "status": "needsAction"},
        {"id": "T4", "title": "Gone", "deleted": True},
    )
    first, second = fields_in(path)
    assert first == {
        "title": "Order talc",
        "list": "Studio",
        "due": "2024-05-20",
        "status": "open",
        "created": "2024-05-10T08:30:15+00:00",
        "notes": "two bags\nhttps://example.com/mail",
    }
    assert (second["status"], items_in(path)[1].app) == ("done", "Reminders")
    assert skipped_in(path) == ["task without a title", "deleted task"]


def test_broken_file_is_reported(tmp_path: Path) -> None:
    path = takeout(tmp_path)
    path.write_text(path.read_text()[:-5])
    assert skipped_in(path) == ["invalid JSON"]


@pytest.mark.parametrize(
    ("start", "local"),
    [("2024-05-20T00:00:00Z", None), ("2024-05-20T18:30:00Z", "2024-05-20T19:30"), ("soon", None)],
)
def test_clock_time_of_a_task_is_local(tmp_path: Path, start: str, local: str | None) -> None:
    task = {
        "id": "T1",
        "title": "Bins out",
        "due": "2024-05-20T00:00:00Z",
        "scheduled_time": [
            {"current": False, "start": "2024-05-19T07:00:00Z"},
            {"current": True, "start": start},
        ],
    }
    (fields,) = fields_in(takeout(tmp_path, task))
    assert (fields["due"], fields.get("scheduled_time")) == ("2024-05-20", local)
