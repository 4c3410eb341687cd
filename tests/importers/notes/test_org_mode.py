"""Org files: tasks, events and notes by their headlines."""

from pathlib import Path

from tests.importers.reading_files import fields_in, items_in, skipped_in

ORG = """\
#+TITLE: Studio
#+TODO: TODO BLOCKED(b@) | DONE DROPPED
Notes on the [[https://example.com][big kiln]].
* Glazes :recipes:
** TODO [#A] Order talc [1/2] :shop:home:
   DEADLINE: <2024-05-20 Mon 12:00 +1w> SCHEDULED: <2024-05-18 Sat>
   :PROPERTIES:
   :ID:       4b1c
   :CREATED:  [2024-05-01 Wed 09:30]
   :END:
   Two bags, from [[file:x.org][the shop]].
   - [ ] ask Marta
** DROPPED Mix ash
   CLOSED: [2024-05-02 Thu 10:00]
** BLOCKED Test tiles
   SCHEDULED: <2024-05-21 Tue>
** Celadon
   Talc 8, silica 30.
   :LOGBOOK:
   - Note taken on [2024-05-02 Thu]
   :END:
** Celadon
   A second one.
* Open day <2024-06-01 Sat 10:00-16:00>
  Bring cups.
* Fair
  <2024-07-01 Mon>--<2024-07-03 Wed>
* Empty
* COMMENT Old
  secret
* Not TODO here
  but text
"""


def test_headlines_become_tasks_events_and_notes(tmp_path: Path) -> None:
    path = tmp_path / "studio.org"
    path.write_text(ORG)
    records = [(item.app, item.fields) for item in items_in(path)]
    assert [(app, fields.get("title", fields.get("event_name"))) for app, fields in records] == [
        ("Notes", "Studio"),
        ("Reminders", "Order talc"),
        ("Reminders", "Mix ash"),
        ("Reminders", "Test tiles"),
        ("Notes", "Celadon"),
        ("Notes", "Celadon"),
        ("Calendar", "Open day"),
        ("Calendar", "Fair"),
        ("Notes", "Not TODO here"),
    ]
    fields = [values for _, values in records]
    assert fields[0]["content"] == "Notes on the big kiln."
    assert fields[1] == {
        "title": "Order talc",
        "list": "Glazes",
        "due": "2024-05-20T12:00",
        "status": "open",
        "created": "2024-05-01T09:30",
        "notes": "Two bags, from the shop.\n- [ ] ask Marta",
        "tags": ["shop", "home"],
    }
    assert [values["status"] for values in fields[1:4]] == ["open", "done", "open"]
    assert (fields[3]["due"], fields[4]["content"], fields[4]["folder"]) == (
        "2024-05-21",
        "Talc 8, silica 30.",
        "Glazes",
    )
    assert (fields[6]["start_time"], fields[6]["end_time"]) == ("2024-06-01T10:00", "2024-06-01T16:00")
    assert (fields[7]["start_time"], fields[7]["end_time"]) == ("2024-07-01", "2024-07-03")
    assert skipped_in(path) == [
        "headline without text",
        "headline without text",
        "archived or commented headline",
    ]
    assert len({item.id for item in items_in(path)}) == 9


def test_task_with_an_id_keeps_it_when_it_moves(tmp_path: Path) -> None:
    text = "* TODO {}\n:PROPERTIES:\n:ID: 7\n:END:\n"
    (tmp_path / "a.org").write_text(text.format("old"))
    (tmp_path / "b.org").write_text("* Above\n*" + text.format("new"))
    old, new = items_in(tmp_path)
    assert (old.id, new.fields["title"]) == (new.id, "new")


def test_file_without_headlines_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "plain.org").write_text("just text\r\nin two lines")
    (tmp_path / "empty.org").write_text("\n")
    assert [fields["content"] for fields in fields_in(tmp_path)] == ["just text\nin two lines"]
    assert skipped_in(tmp_path) == ["empty note"]
