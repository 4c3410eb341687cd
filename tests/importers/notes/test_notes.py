"""Notes: Markdown with front matter, Apple Notes, Google Keep."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.importers.reading_files import INES, NOW, fields_in, items_in, skipped_in, utc

from contextune.importers.reader import ImportContext


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
def test_note_with_front_matter(tmp_path: Path, ending: str) -> None:
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


def test_note_without_front_matter_is_named_after_its_file(tmp_path: Path) -> None:
    write(tmp_path, "Vault/Shopping.md", "talc, cobalt")
    write(tmp_path, "Vault/.obsidian/app.md", "no note")
    write(tmp_path, "Vault/empty.md", "---\ntags: x\n---\n \n")
    write(tmp_path, "Vault/Drawing.md", "---\nexcalidraw-plugin: parsed\n---\nN4Ig")
    write(tmp_path, "Vault/photo.jpg", b"\xff\xd8\0")
    write(tmp_path, "Vault/binary.txt", b"a\0b")
    (records,) = fields_in(tmp_path / "Vault")
    assert records == {
        "title": "Shopping",
        "content": "talc, cobalt",
        "folder": "Vault",
        "modified": "2024-05-11T20:30+00:00",
    }
    assert sorted(skipped_in(tmp_path / "Vault")) == [
        "drawing",
        "empty note",
        "hidden",
        "unknown format",
        "unknown format",
    ]


@pytest.mark.parametrize("front", ["title: [", "just words", "a: &a [*a, *a]\n- b", "x" * 70_000])
def test_invalid_front_matter_is_kept_as_text(tmp_path: Path, front: str) -> None:
    file = write(tmp_path, "note.md", f"---\n{front}\n---\nthe text")
    (records,) = fields_in(file)
    assert "---" in records["content"]
    assert skipped_in(file) == ["invalid front matter; the note is kept with it"]


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
def test_front_matter_variants(tmp_path: Path, front: str, name: str, value: Any) -> None:
    (records,) = fields_in(write(tmp_path, "note.md", f"---\n{front}\n---\nthe text"))
    assert records.get(name) == value


def test_apple_notes_export(tmp_path: Path) -> None:
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
    records = fields_in(notes)
    assert [(record["folder"], record["title"]) for record in records] == [
        ("Home", "Boiler"),
        ("Ideas", "Gläze"),
        ("Ideas", "Walk"),
    ]
    assert records[1]["content"] == "more talc"
    assert skipped_in(notes) == ["unknown format", "unknown format"]


def test_note_id_is_its_own_id_or_its_file(tmp_path: Path) -> None:
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


def test_keep_notes_and_checklists(tmp_path: Path) -> None:
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


def test_deleted_archived_and_broken_keep_notes_are_skipped(tmp_path: Path) -> None:
    folder = tmp_path / "Takeout/Keep"
    write(folder, "a.json", keep(title="x", isTrashed=True))
    write(folder, "b.json", keep(title="x", isArchived=True))
    write(folder, "c.json", keep())
    write(folder, "d.json", keep(title="cut off")[:-9])
    write(folder, "e.html", "<html>the same again</html>")
    write(folder, "Labels.txt", "Pottery")
    assert sorted(skipped_in(folder)) == [
        "archived note: import it with --archived",
        "copy of notes that are read as JSON",
        "copy of notes that are read as JSON",
        "deleted note",
        "empty note",
        "invalid JSON",
    ]


@pytest.mark.parametrize("kind", ["VCALENDAR", "VCARD", "VEVENT"])
def test_note_that_quotes_a_calendar_or_card_is_a_note(tmp_path: Path, kind: str) -> None:
    (tmp_path / "howto.md").write_text(f"A file begins so:\n\n```\nBEGIN:{kind}\nEND:{kind}\n```\n")
    assert [item.app for item in items_in(tmp_path)] == ["Notes"]


def test_archived_keep_notes_are_read_if_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "Takeout/Keep/a.json", keep(title="Old glazes", isArchived=True))
    write(tmp_path, "Takeout/Keep/b.json", keep(title="Gone", isArchived=True, isTrashed=True))
    context = ImportContext(INES, NOW, archived=True)
    assert [fields["title"] for fields in fields_in(tmp_path, context)] == ["Old glazes"]
    assert skipped_in(tmp_path, context) == ["deleted note"]


def test_pages_of_notion_lose_the_ids_of_their_names(tmp_path: Path) -> None:
    page, base = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
    where = f"Export/Studio {base}"
    write(
        tmp_path,
        f"{where}/Cone 6 recipes and what {page}.md",
        "# Cone 6 recipes and what went wrong\n\nTalc 8",
    )
    write(tmp_path, f"Export/Studio {base}.csv", "Name,Tags\nCone 6,glaze\n")
    write(tmp_path, f"Export/Studio {base}_all.csv", "Name,Tags\nCone 6,glaze\n")
    (item,) = items_in(tmp_path)
    assert item.fields == {
        "title": "Cone 6 recipes and what went wrong",
        "content": "Talc 8",
        "folder": "Studio",
        "modified": "2024-05-11T20:30+00:00",
    }
    assert skipped_in(tmp_path) == ["table of a Notion database, whose pages are read"] * 2
    moved = write(tmp_path, f"Moved/Cone 6 {page}.md", "# Cone 6\nTalc 9")
    assert items_in(moved)[0].id == item.id
