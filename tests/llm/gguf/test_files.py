"""Choosing a GGUF file: known checksums, unknown files, files that change or vanish."""

from pathlib import Path

import pytest

from contextune.errors import LanguageModelError
from contextune.llm.gguf import KNOWN_FILES, KnownFile, files, model_in_use, use_model

CONTENT = b"GGUF and some weights"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(CONTENT)
    return path


def test_known_file_is_accepted_by_its_checksum(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hashlib import sha256

    known = KnownFile("Tiny-1B", len(CONTENT), sha256(CONTENT).hexdigest())
    monkeypatch.setattr(files, "KNOWN_FILES", (known,))
    chosen = use_model(model, folder=tmp_path / "models")
    assert (chosen.name, chosen.is_known) == ("Tiny-1B", True)
    assert model_in_use(tmp_path / "models") == chosen
    assert chosen.check() == model.resolve()


def test_unknown_file_is_refused_unless_any_is_allowed(model: Path, tmp_path: Path) -> None:
    with pytest.raises(LanguageModelError, match=r"no known model.*0\.5B.*--any"):
        use_model(model, folder=tmp_path)
    assert model_in_use(tmp_path) is None
    chosen = use_model(model, any_file=True, folder=tmp_path)
    assert (chosen.name, chosen.is_known) == ("tiny", False)
    assert model_in_use(tmp_path) == chosen


def test_other_formats_and_missing_files_are_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.gguf"
    page.write_text("<html>Not found</html>", encoding="utf-8")
    with pytest.raises(LanguageModelError, match="not a GGUF file"):
        use_model(page, any_file=True, folder=tmp_path)
    with pytest.raises(LanguageModelError, match="cannot read"):
        use_model(tmp_path / "none.gguf", folder=tmp_path)


def test_changed_or_deleted_file_must_be_verified_again(model: Path, tmp_path: Path) -> None:
    chosen = use_model(model, any_file=True, folder=tmp_path)
    model.write_bytes(CONTENT + b"!")
    with pytest.raises(LanguageModelError, match="has changed"):
        chosen.check()
    model.unlink()
    with pytest.raises(LanguageModelError, match="is gone"):
        chosen.check()


def test_damaged_choice_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "gguf.json").write_text("{", encoding="utf-8")
    with pytest.raises(LanguageModelError, match="llm use FILE"):
        model_in_use(tmp_path)


def test_known_files_have_full_checksums() -> None:
    assert all(len(file.sha256) == 64 and file.size > 10**8 for file in KNOWN_FILES)
