"""Files of the package: compressed ones, and the checksums of bundled models."""

import gzip
import json
import lzma
import runpy
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import pytest
from tests.paths import ROOT

from contextune._internal import assets
from contextune._internal.assets import (
    asset,
    find_compressed,
    lab_asset,
    model_folder,
    read_checksums,
    read_decompressed,
    verify_model,
    write_compressed,
)
from contextune.embed import OnnxEmbedder
from contextune.errors import DamagedModelError

TEXT = b"a line\n" * 50
FILES = {"a.txt": TEXT, "a.txt.gz": gzip.compress(TEXT, mtime=0), "a.txt.xz": lzma.compress(TEXT)}


@pytest.mark.parametrize("name", FILES)
def test_plain_and_compressed_files_are_found_and_read(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    assert find_compressed(tmp_path / "a.txt") == tmp_path / name
    assert read_decompressed(tmp_path / name) == TEXT


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.xz"])
def test_damaged_file_raises_os_error(name: str, tmp_path: Path) -> None:
    whole = FILES[name]
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
    for broken in (whole[:-9], whole[:4], flipped, b"plain text"):
        (tmp_path / name).write_bytes(broken)
        with pytest.raises(OSError, match=r"decompress|gzip|CRC"):
            read_decompressed(tmp_path / name)


def test_missing_file_is_named(tmp_path: Path) -> None:
    assert find_compressed(tmp_path / "a.txt") == tmp_path / "a.txt"
    with pytest.raises(FileNotFoundError, match=r"a\.txt'"):
        read_decompressed(tmp_path / "a.txt")


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_round_trip(name: str, tmp_path: Path) -> None:
    write_compressed(tmp_path / name, TEXT)
    assert read_decompressed(tmp_path / name) == TEXT
    assert (len((tmp_path / name).read_bytes()) < len(TEXT)) == name.endswith(".gz")


def test_every_bundled_model_has_its_checksum() -> None:
    root = asset("")
    files = {
        path.relative_to(root).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in root.glob("*/**/*")
        if path.is_file() and path.parent.name != "personas" and path.parent.name != "__pycache__"
    }
    checksums = read_checksums(root)
    assert checksums == files, "the models have changed: run 'make checksums'"


def test_adapters_of_the_lab_have_their_checksums() -> None:
    root = lab_asset("")
    files = [*root.glob("*/*.safetensors")]
    assert files
    for path in files:
        verify_model(root, path.relative_to(root).as_posix())


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the embedder that is used as the bundled one."""
    shutil.copytree(asset("embedder"), tmp_path / "embedder")
    shutil.copy(asset("SHA256SUMS"), tmp_path)

    def copied_asset(name: str) -> Path:
        return tmp_path / name

    monkeypatch.setattr(assets, "asset", copied_asset)
    return tmp_path


def test_sound_model_is_verified_once(copy: Path) -> None:
    assert model_folder("embedder") == copy / "embedder"
    (copy / "embedder" / "model.onnx").unlink()
    assert model_folder("embedder") == copy / "embedder"  # not read again by this process


def test_flipped_bit_is_reported_when_the_model_is_loaded(copy: Path) -> None:
    path = copy / "embedder" / "model.onnx"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedModelError, match=r"damaged: .*model\.onnx.*reinstall"):
        OnnxEmbedder()


def test_missing_file_is_reported(copy: Path) -> None:
    (copy / "embedder" / "tokenizer.json").unlink()
    with pytest.raises(DamagedModelError, match=r"damaged: .*tokenizer\.json.*reinstall"):
        OnnxEmbedder()


def test_unlisted_model_is_refused(copy: Path) -> None:
    (copy / "SHA256SUMS").write_text("")
    with pytest.raises(DamagedModelError, match="not listed"):
        OnnxEmbedder()


def test_bill_of_materials_lists_every_model_file() -> None:
    script = runpy.run_path(str(ROOT / "packages" / "sbom.py"))
    components = cast("list[dict[str, Any]]", script["model_components"](script["ASSETS"], "1.0"))
    listed = {entry["name"]: entry["hashes"][0]["content"] for entry in components}
    assert listed == {
        f"contextune/assets/{name}": digest for name, digest in read_checksums(asset("")).items()
    }
    assert json.dumps(components)
