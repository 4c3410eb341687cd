"""Notes: folders of Markdown with front matter, Apple's export, Google Keep."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.importers.reading_files import fields_in, items_in, skipped_in, utc


def write(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    edited = utc(2024, 5, 11, 20, 30).timestamp()
    os.utime(file, (edited, edited))
    return file


GLAZES = """\
---
title: Cone 6 recipes
tags: [pottery, "#glaze"]
aliases: glazes
modified: 2024-05-11T20:30:15
---
# Celadon

See [[Talc|the talc]] and [a page](https://example.org/a_(b) "page"). %%hidden%%
- [ ] test #glaze
"""


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_note_of_a_vault_with_its_front_matter(tmp_path: Path, ending: str) -> None:
    (item,) = items_in(write(tmp_path, "Vault/Pottery/c6.md", GLAZES.replace("\n", ending)))
    assert item.app == "Notes"
    assert item.fields == {
        "title": "Cone 6 recipes",
        "content": "# Celadon\n\nSee the talc and a page.\n- [ ] test #glaze\n#pottery",
        "folder": "Pottery",
        "modified": "2024-05-11T20:30:15",
        "tags": ["pottery", "glaze"],
        "aliases": ["glazes"],
    }


def test_a_note_without_front_matter_is_called_after_its_file(tmp_path: Path) -> None:
    write(tmp_path, "Vault/Shopping.md", "talc, cobalt")
    write(tmp_path, "Vault/.obsidian/app.md", "no note")
    write(tmp_path, "Vault/empty.md", "---\ntags: x\n---\n \n")
    write(tmp_path, "Vault/Drawing.md", "---\nexcalidraw-plugin: parsed\n---\nN4Ig")
    write(tmp_path, "Vault/photo.jpg", b"\xff\xd8\0")
    write(tmp_path, "Vault/binary.txt", b"a\0b")
    (found,) = fields_in(tmp_path / "Vault")
    assert found == {
        "title": "Shopping",
        "content": "talc, cobalt",
        "folder": "Vault",
        "modified": "2024-05-11T20:30+00:00",
    }
    assert sorted(skipped_in(tmp_path / "Vault")) == [
        "a drawing",
        "an empty note",
        "hidden",
        "no format that is known",
        "no format that is known",
    ]


@pytest.mark.parametrize("front", ["title: [", "just words", "a: &a [*a, *a]\n- b", "x" * 70_000])
def test_front_matter_that_cannot_be_read_loses_nothing(tmp_path: Path, front: str) -> None:
    file = write(tmp_path, "note.md", f"---\n{front}\n---\nthe text")
    (found,) = fields_in(file)
    assert "---" in found["content"]
    assert skipped_in(file) == ["front matter that cannot be read; the note is kept with it"]


@pytest.mark.parametrize(
    ("front", "name", "value"),
    [
        ("title: 2024", "title", "2024"),
        ("title: [a]", "title", "note"),
        ("updated: 2024-05-11", "modified", "2024-05-11"),
        ("updated: someday", "modified", "2024-05-11T20:30+00:00"),
        ("tags: one, two", "tags", ["one", "two"]),
        ("tags: {a: 1}", "tags", None),
        ("Date Modified: 2024-05-12 08:00", "modified", "2024-05-12T08:00"),
    ],
)
def test_front_matter_is_read_as_people_write_it(tmp_path: Path, front: str, name: str, value: Any) -> None:
    (found,) = fields_in(write(tmp_path, "note.md", f"---\n{front}\n---\nthe text"))
    assert found.get(name) == value


def test_what_apple_notes_exports(tmp_path: Path) -> None:
    notes = tmp_path / "iCloud Notes"
    write(notes, "Home/Boiler/Boiler.txt", "valve\u2028is\xa0stuck".encode("utf-16"))
    write(notes, "Home/Boiler/image.png", b"\x89PNG\0")
    write(
        notes,
        "Ideas/1.html",
        "<html><head><title>Gl&auml;ze</title></head><body><div>more talc</div></body></html>",
    )
    write(
        notes, "Ideas/page.html", "<html><head><script>x</script></head><body>a page of the web</body></html>"
    )
    write(notes, "Ideas/Walk-2024-05-11T20_30_12Z.txt", "along the river".encode("cp1252"))
    found = fields_in(notes)
    assert [(one["folder"], one["title"]) for one in found] == [
        ("Home", "Boiler"),
        ("Ideas", "Gläze"),
        ("Ideas", "Walk"),
    ]
    assert found[1]["content"] == "more talc"
    assert skipped_in(notes) == ["no format that is known", "no format that is known"]


def test_a_note_is_known_by_its_own_id_or_its_file(tmp_path: Path) -> None:
    named = "---\nid: 2024-1\n---\n"
    first = items_in(write(tmp_path, "a/one.md", named + "x"))[0].id
    assert items_in(write(tmp_path, "b/two.md", named + "y"))[0].id == first
    plain = items_in(write(tmp_path, "a/one.md", "x"))[0].id
    assert items_in(write(tmp_path, "a/one.md", "changed"))[0].id == plain
    assert items_in(tmp_path / "a")[0].id == plain  # by whatever folder it is reached
    assert items_in(write(tmp_path, "b/one.md", "x"))[0].id != plain


def keep(**fields: Any) -> str:
    note = {
        "color": "DEFAULT",
        "isTrashed": False,
        "isPinned": False,
        "isArchived": False,
        "title": "",
        "userEditedTimestampUsec": 1715459400000000,
        "createdTimestampUsec": 1715000000000000,
    }
    return json.dumps({**note, **fields})


def test_notes_and_checklists_of_keep(tmp_path: Path) -> None:
    folder = tmp_path / "Takeout/Keep"
    boxes = [{"text": "talc", "isChecked": False}, {"text": "cobalt", "isChecked": True}, {"text": " "}, 7]
    link = {"url": "https://example.org", "title": "Kilns"}
    write(
        folder,
        "a.json",
        keep(title="Studio", listContent=boxes, labels=[{"name": "Pottery"}, {"name": "Buy"}]),
    )
    write(
        folder,
        "b.json",
        keep(textContent="Ring Rui\nabout the kiln", createdTimestampUsec=0, annotations=[link]),
    )
    checklist, plain = items_in(folder)
    assert checklist.fields == {
        "title": "Studio",
        "content": "[ ] talc\n[x] cobalt",
        "folder": "Pottery",
        "modified": "2024-05-11T20:30+00:00",
        "tags": ["Pottery", "Buy"],
    }
    assert plain.fields["title"] == "Ring Rui"
    assert plain.fields["content"] == "Ring Rui\nabout the kiln\nKilns"
    assert plain.fields["folder"] == "Keep"


def test_what_keep_has_put_away_is_skipped_and_counted(tmp_path: Path) -> None:
    folder = tmp_path / "Takeout/Keep"
    write(folder, "a.json", keep(title="x", isTrashed=True))
    write(folder, "b.json", keep(title="x", isArchived=True))
    write(folder, "c.json", keep())
    write(folder, "d.json", keep(title="cut off")[:-9])
    write(folder, "e.html", "<html>the same again</html>")
    write(folder, "Labels.txt", "Pottery")
    assert sorted(skipped_in(folder)) == [
        "a copy of notes that are read as JSON",
        "a copy of notes that are read as JSON",
        "a note thrown away",
        "an archived note",
        "an empty note",
        "no readable JSON",
    ]
