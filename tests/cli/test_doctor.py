"""`contextune doctor`: a sound installation, and what is damaged in others."""

import shutil
import sqlite3
import tomllib
from base64 import urlsafe_b64encode
from contextlib import closing
from hashlib import sha256
from importlib.metadata import Distribution
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tests.paths import ROOT
from tests.program import run

from contextune._internal.assets import asset
from contextune.cli import doctor
from contextune.cli.setup.extras import NOT_FOR_USERS, PURPOSES, Extra, all_extras, uses_of_extras
from contextune.store import SQLiteStore
from contextune.types import Item, User


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with SQLiteStore(path) as opened:
        opened.put_user(User("me", zone=ZoneInfo("Europe/Lisbon")))
        note = {"title": "Kiln", "content": "cone 6 " * 40}
        opened.put_items("me", [Item(f"n{number}", "Notes", note) for number in range(200)])
    return path


@pytest.fixture
def no_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the check that answers requests."""
    monkeypatch.setattr(doctor, "_speed", lambda: iter(()))


def test_doctor_finds_nothing_broken_here(store: Path) -> None:
    done = run("doctor", "--store", store, width=200)
    assert done.returncode == 0, done.stdout
    assert "checksums match" in done.stdout
    assert "one request takes" in done.stdout
    assert "me: time zone Europe/Lisbon" in done.stdout
    assert done.stdout.startswith("Nothing is wrong.\n")


def test_wrong_comes_first_then_what_is_missing_for_things_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_requests: None
) -> None:
    (tmp_path / "config.toml").write_text("stoer = 'x'", encoding="utf-8")
    with SQLiteStore(tmp_path / "store.db") as opened:
        opened.put_user(User("me"))
    extras = [Extra("llm", ("openai",), ("openai",)), Extra("plot", ("matplotlib",), ("matplotlib",))]
    monkeypatch.setattr(doctor, "all_extras", lambda: extras)
    env = {"CONTEXTUNE_CONFIG": str(tmp_path / "config.toml"), "CONTEXTUNE_LLM_MODEL": "local"}
    done = run("doctor", "--store", tmp_path / "store.db", env=env, width=200)
    assert done.returncode == 1
    wrong, missing, works, notes = (
        done.stdout.index(title)
        for title in ("What is wrong", "What is missing for things you use", "What works", "Notes")
    )
    assert 0 == wrong < done.stdout.index("unknown setting 'stoer'") < missing
    for line in ("(CONTEXTUNE_LLM_MODEL): pip install 'contextune[llm]'", "me has no time zone", "--email"):
        assert missing < done.stdout.index(line) < works
    assert notes < done.stdout.index("pip install 'contextune[plot]' adds plots of the benchmarks")


def test_extras_in_use_are_found_by_files_settings_and_size(tmp_path: Path) -> None:
    def found(items: int = 0, **environ: str) -> list[str]:
        return [name for name, _ in uses_of_extras(items, tmp_path, tmp_path, environ)]

    assert found() == []
    assert found(200_000, CONTEXTUNE_EMBEDDER="endpoint:m", OTEL_EXPORTER_OTLP_ENDPOINT="x") == [
        "llm",
        "otel",
        "big",
    ]
    (tmp_path / "tokens.json").touch()
    (tmp_path / "gateway-1.db").touch()
    assert found(CONTEXTUNE_EMBEDDER="sentence-transformers:m") == ["sentence-transformers", "serve", "mcp"]


def test_doctor_reports_a_damaged_store(store: Path, tmp_path: Path, no_requests: None) -> None:
    damaged = tmp_path / "damaged.db"
    with closing(sqlite3.connect(store)) as source, closing(sqlite3.connect(damaged)) as target:
        source.backup(target)
    content = damaged.read_bytes()
    damaged.write_bytes(content[:8192] + b"\xff" * 16384 + content[24576:])
    done = run("doctor", "--store", damaged, width=200)
    assert done.returncode == 1
    assert "✗" in done.stdout
    assert done.stderr == "error: 1 check failed: see the lines marked ✗\n"


def test_deep_check_finds_a_changed_letter(store: Path, no_requests: None) -> None:
    done = run("doctor", "--deep", "--store", store, width=200)
    assert done.returncode == 0
    assert "structure, checksums and numbers of rows are right" in done.stdout
    content = store.read_bytes()
    store.write_bytes(content.replace(b"cone 6", b"cone 7", 1))
    assert run("doctor", "--store", store).returncode == 0
    done = run("doctor", "--deep", "--store", store, width=250)
    assert done.returncode == 1
    assert "restore it from a backup" in done.stdout


def test_doctor_reports_a_changed_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_requests: None
) -> None:
    shutil.copytree(asset("embedder"), tmp_path / "embedder")
    (tmp_path / "embedder" / "tokenizer.json").write_text("{}")

    def changed_asset(name: str) -> Path:
        return tmp_path / name if name == "embedder" else asset(name)

    monkeypatch.setattr(doctor, "asset", changed_asset)
    done = run("doctor", "--store", tmp_path / "none.db", width=200)
    assert done.returncode == 1
    assert "tokenizer.json: checksum differs" in done.stdout
    assert "none yet at" in done.stdout
    assert not (tmp_path / "none.db").exists()


def installed(folder: Path, *assets: str) -> Distribution:
    """These assets as a wheel installs them, with their recorded checksums."""
    info = folder / "contextune-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: contextune\nVersion: 0.1.0\n")
    lines: list[str] = []
    for name in assets:
        copy = folder / "contextune" / "assets" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(asset(name), copy)
        digest = urlsafe_b64encode(sha256(copy.read_bytes()).digest()).rstrip(b"=").decode()
        lines.append(f"contextune/assets/{name},sha256={digest},{copy.stat().st_size}\n")
    (info / "RECORD").write_text("".join(lines))
    return Distribution.at(info)


def test_doctor_reports_damaged_and_missing_assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = installed(tmp_path, "personas/b05.json", "personas/b06.json", "embedder/embedder.json")

    def find_distribution(_name: str) -> Distribution:
        return packed

    monkeypatch.setattr(doctor, "distribution", find_distribution)
    _, sound = doctor.models()
    assert sound == ("assets", doctor.OK, "3 files, checksums match")
    damaged, missing = (tmp_path / "contextune/assets/personas" / name for name in ("b05.json", "b06.json"))
    damaged.write_bytes(damaged.read_bytes().replace(b"a", b"b", 1))
    missing.unlink()
    _, broken = doctor.models()
    assert (broken.what, broken.state) == ("assets", doctor.BROKEN)
    assert broken.message.startswith("b05.json, b06.json: checksum differs; pip install --force-reinstall")


def test_each_extra_of_the_project_has_a_purpose() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert sorted(PURPOSES) == sorted(set(project["optional-dependencies"]) - set(NOT_FOR_USERS))
    assert {extra.name for extra in all_extras()} <= set(PURPOSES)
