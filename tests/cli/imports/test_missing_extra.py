"""A file that needs an optional dependency: the import says what to install, and fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.program import run

from contextune.errors import MissingExtraError
from contextune.importers import registry
from contextune.importers.files import SourceFile
from contextune.importers.reader import ImportContext, ImportRecord


class ArchiveReader:
    """A reader whose library is not installed."""

    name = "archive"
    apps = ("Mail",)

    def can_read(self, file: SourceFile) -> bool:
        return file.suffix == ".pst"

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        if file.head and context.user:
            raise MissingExtraError("reading Outlook archives", "outlook")
        yield from ()


def test_missing_extra_is_named_and_the_rest_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "READERS", (ArchiveReader(), *registry.READERS))
    folder = tmp_path / "export"
    folder.mkdir()
    for name in ("a.pst", "b.pst"):
        (folder / name).write_bytes(b"!BDN")
    (folder / "note.md").write_text("Talc 8\n")
    done = run("import", folder, "--no-embed", "--store", tmp_path / "store.db", width=200)
    assert done.returncode == 1
    assert done.stderr == (
        "error: reading Outlook archives needs an optional dependency; "
        "install it with: pip install 'contextune[outlook]'\n"
    )
    assert "1 item (1 new" in done.stdout
