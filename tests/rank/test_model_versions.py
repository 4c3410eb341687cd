"""Versions of a model: added, activated, rolled back by name, and verified."""

from pathlib import Path

import pytest

from contextune.errors import RankerError
from contextune.rank import ModelVersions


def _add(versions: ModelVersions, text: str) -> str:
    name = versions.next_name()

    def save(folder: Path) -> None:
        (folder / "model").write_text(text)

    versions.add(name, save, {"users": 3})
    versions.activate(name)
    return name


def test_versions_are_rolled_back_one_by_one_and_by_name(tmp_path: Path) -> None:
    versions = ModelVersions(tmp_path)
    assert versions.current == "bundled"
    assert [_add(versions, "a"), _add(versions, "b")] == ["v1", "v2"]
    assert ModelVersions(tmp_path).current == "v2"
    assert ModelVersions(tmp_path).path() == tmp_path / "v2"
    assert ModelVersions(tmp_path).rollback() == "v1"
    assert ModelVersions(tmp_path).rollback() == "bundled"
    assert ModelVersions(tmp_path).path() is None
    with pytest.raises(RankerError, match="no version before"):
        ModelVersions(tmp_path).rollback()
    assert ModelVersions(tmp_path).rollback("v2") == "v2"
    assert list(ModelVersions(tmp_path).versions) == ["v1", "v2"]


def test_changed_file_is_refused(tmp_path: Path) -> None:
    versions = ModelVersions(tmp_path)
    _add(versions, "a")
    _add(versions, "b")
    (tmp_path / "v1" / "model").write_text("c")
    with pytest.raises(RankerError, match="is missing or has changed"):
        versions.rollback()
    assert ModelVersions(tmp_path).current == "v2"


@pytest.mark.parametrize("name", ["", "../v1", "bundled", "a b", "versions.json", "."])
def test_invalid_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RankerError, match="not a name"):
        ModelVersions(tmp_path).add(name, lambda _: None, {})


def test_existing_and_unknown_names_are_refused(tmp_path: Path) -> None:
    versions = ModelVersions(tmp_path)
    _add(versions, "a")
    with pytest.raises(RankerError, match="already"):
        versions.add("v1", lambda _: None, {})
    with pytest.raises(RankerError, match="choose one of v1, bundled"):
        versions.rollback("v7")


def test_damaged_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "versions.json").write_text('{"format": 1, "history": ["v1"], "versions": {}}')
    with pytest.raises(RankerError, match="not a list of model versions"):
        ModelVersions(tmp_path)
