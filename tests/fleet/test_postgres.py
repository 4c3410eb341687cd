"""`contextune fleet` over PostgreSQL, on a Ray cluster: the same result as in one process."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fleet.people import NOW, write_people
from tests.fleet.ray_nodes import add_node, free_ports
from tests.postgres_server import new_database
from typer.testing import CliRunner

from contextune.cli.fleet import app
from contextune.rank import ModelVersions
from contextune.store import open_store
from contextune.store.copy_store import digest_user

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'contextune[ray]'")

Databases = tuple[str, str]
"""One that is worked on in one process, and one on the cluster; with the same data."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A cluster that all commands of this module connect to."""
    from ray.cluster_utils import Cluster

    settings = {"num_cpus": 2, "object_store_memory": 80_000_000, "include_dashboard": False}
    cluster: Any = Cluster()
    try:
        add_node(cluster, **settings, **free_ports(), no_monitor=True)
        yield cluster.address
    finally:
        cluster.shutdown()


@pytest.fixture(scope="module")
def databases(postgres_server: str) -> Iterator[Databases]:
    with new_database(postgres_server) as alone, new_database(postgres_server) as together:
        for url in (alone, together):
            write_people(url, 4)
        yield alone, together


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints go here by default."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def _run(*arguments: object, status: int = 0) -> str:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exit_code == status, (done.output, done.exception)
    return done.output


def _contents(url: str) -> dict[str, object]:
    with open_store(url) as store:
        return {user: digest_user(store, user) for user in store.users()}


def test_import_and_embed_write_what_one_process_writes(
    databases: Databases, address: str, tmp_path: Path
) -> None:
    for user in ("ana", "rui", "eva"):
        (tmp_path / "files" / user).mkdir(parents=True)
        (tmp_path / "files" / user / "plan.md").write_text(f"# Plan of {user}\nbuy bread")
    alone, together = databases
    for command, workers, text in (
        (("import", tmp_path / "files"), 1, "3 users, 3 items"),
        (("embed",), 2, "27 items"),
    ):
        assert text in _run(*command, "--store", alone, "--workers", 0)
        assert text in _run(*command, "--store", together, "--workers", workers, "--address", address)
    contents = _contents(together)
    assert contents == _contents(alone)
    assert len(contents) == 7


def test_answers_are_those_of_one_process(databases: Databases, address: str, tmp_path: Path) -> None:
    rows = [
        {"user": f"user {number}", "text": f"open the note on {topic}", "time": NOW.isoformat(), "id": topic}
        for number in range(4)
        for topic in ("bread", "piano", "tax")
    ]
    rows.append({"user": "nobody", "text": "hello", "time": NOW.isoformat(), "id": "unknown"})
    requests = tmp_path / "requests.jsonl"
    requests.write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = [tmp_path / "alone.jsonl", tmp_path / "together.jsonl"]
    for url, file, options in zip(databases, files, _ways(address), strict=True):
        arguments = ("answer", requests, "--out", file, "--store", url, "-k", 3, *options)
        assert "12 answers" in _run(*arguments, status=1)
    assert files[0].read_bytes() == files[1].read_bytes()
    *answers, refused = map(json.loads, files[1].read_text().splitlines())
    assert all(answer["context"] for answer in answers)
    assert [answer["line"] for answer in (*answers, refused)] == list(range(1, 14))
    assert answers[0]["id"] == "bread"
    assert "nobody" in refused["error"]


def test_ranker_and_its_scores_are_those_of_one_process(
    databases: Databases, address: str, tmp_path: Path
) -> None:
    folders = [tmp_path / "alone", tmp_path / "together"]
    outputs: list[str] = []
    for url, folder, options in zip(databases, folders, _ways(address), strict=True):
        _run("train", "--store", url, "--models", folder, *options)
        outputs.append(_run("evaluate", "--store", url, *options))
    assert "8 requests of 4 users" in outputs[0]
    assert outputs[0] == outputs[1]
    [files, together] = [ModelVersions(folder).versions["v1"].files for folder in folders]
    assert files == together


def _ways(address: str) -> tuple[list[str], list[str]]:
    """The options to work in one process, and on the cluster: a worker takes seconds to start."""
    return ["--workers", "0"], ["--workers", "1", "--address", address]
