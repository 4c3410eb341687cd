"""`contextune fleet` in one process: embed, import and answer, with checkpoints and clear errors."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.counting_embedder import CountingEmbedder
from tests.fleet.people import NOW, write_people
from typer.testing import CliRunner

from contextune.cli.fleet import app
from contextune.embed import default_embedder
from contextune.errors import ContextuneError
from contextune.fleet.answer import write_lines
from contextune.store import SQLiteStore
from contextune.tools import ToolRetriever, bundled_toolbox
from contextune.tools.catalog_file import CatalogFile
from contextune.tuner import Tuner
from contextune.types import Request


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Checkpoints go here by default."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def _run(*arguments: object, status: int = 0) -> str:
    done = CliRunner().invoke(app, [*map(str, arguments), "--workers", "0"])
    if isinstance(done.exception, ContextuneError):
        raise done.exception
    assert done.exit_code == status, done.output
    return done.output


def test_first_request_after_embed_embeds_no_item(tmp_path: Path, data_folder: Path) -> None:
    store_path, catalog = tmp_path / "store.db", tmp_path / "tools.db"
    write_people(store_path, 2)
    with CatalogFile(catalog) as file:
        file.put(bundled_toolbox(), "toolbox")
    assert "12 items, 59 tools" in _run("embed", "--store", store_path, "--catalog", catalog)
    embedder = CountingEmbedder(default_embedder())
    with SQLiteStore(store_path) as store, CatalogFile(catalog) as file:
        tools = ToolRetriever(file.catalog(), embedder, vector_cache=file)
        Tuner(store, embedder=embedder, tools=tools).answer(Request("open the piano note", "user 1", NOW))
    assert not [text for text in embedder.texts if "all about" in text or "opened" in text or len(text) > 100]
    assert not list(data_folder.rglob("*.db"))


def test_import_reads_a_folder_per_user(tmp_path: Path) -> None:
    for user in ("ann", "bob"):
        (tmp_path / "files" / user).mkdir(parents=True)
        (tmp_path / "files" / user / "note.md").write_text(f"# Plan of {user}\nbuy bread")
    output = [_run("import", tmp_path / "files", "--store", tmp_path / "store.db") for _ in range(2)]
    assert output[0] == output[1]
    assert "2 users, 2 items" in output[0]
    with SQLiteStore(tmp_path / "store.db") as store:
        for user in ("ann", "bob"):
            [item] = store.items(user)
            assert user in item.text


def test_answers_come_in_order_and_name_what_is_wrong(tmp_path: Path) -> None:
    write_people(tmp_path / "store.db", 1)
    rows = [
        {"user": "user 0", "text": "open the piano note", "time": NOW.isoformat(), "id": 7},
        {"user": "user 0", "text": " "},
        {"user": "user 0", "text": "hello", "mood": "good"},
        {"user": "user 0", "text": "hello", "history": [{"speaker": "user"}]},
        ["no object"],
    ]
    requests, out = tmp_path / "requests.jsonl", tmp_path / "answers.jsonl"
    requests.write_text("\n".join([*map(json.dumps, rows), "", "{"]))
    options = ["--out", out, "--store", tmp_path / "store.db", "-k", 2]
    printed = _run("answer", requests, *options, status=1)
    assert "1 answer written" in printed
    assert "5 of 6 requests cannot be answered" in printed
    answers = [json.loads(line) for line in out.read_text().splitlines()]
    assert [answer["line"] for answer in answers] == [1, 2, 3, 4, 5, 7]
    assert answers[0]["id"] == 7
    assert len(answers[0]["context"]) == 2
    errors = ["no text", "mood", "list of turns", "not a JSON object", "not JSON"]
    assert all(error in answer["error"] for error, answer in zip(errors, answers[1:], strict=True))


def test_interrupted_answers_leave_no_file(tmp_path: Path) -> None:
    def contents() -> Iterator[bytes]:
        yield b"{}\n"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_lines(contents(), tmp_path / "answers.jsonl")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ContextuneError, match="cannot be written"):
        write_lines([b"{}\n"], tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_changed_input_does_not_go_on_with_the_old_checkpoint(tmp_path: Path) -> None:
    write_people(tmp_path / "store.db", 1)
    requests, checkpoint = tmp_path / "requests.jsonl", tmp_path / "run.db"
    requests.write_text('{"user": "user 0", "text": "hello"}')
    options = [
        "--out",
        tmp_path / "missing" / "out.jsonl",
        "--store",
        tmp_path / "store.db",
        "--checkpoint",
        checkpoint,
    ]
    with pytest.raises(ContextuneError, match="cannot be written"):
        _run("answer", requests, *options)
    assert checkpoint.exists()
    requests.write_text('{"user": "user 0", "text": "good bye"}')
    with pytest.raises(ContextuneError, match="other settings or input"):
        _run("answer", requests, *options)


def test_missing_ray_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_people(tmp_path / "store.db", 1)
    monkeypatch.setitem(sys.modules, "ray", None)
    done = CliRunner().invoke(app, ["embed", "--store", str(tmp_path / "store.db"), "--workers", "1"])
    assert "contextune[ray]" in str(done.exception)
    assert "--workers 0" in str(done.exception)


def test_address_needs_workers(tmp_path: Path) -> None:
    write_people(tmp_path / "store.db", 1)
    with pytest.raises(ContextuneError, match="leave out --address"):
        _run("embed", "--store", tmp_path / "store.db", "--address", "localhost:6379")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1", "no Ray cluster at '127.0.0.1:1': Connection refused"),
        ("ray://127.0.0.1:1", "no Ray cluster at 'ray://127.0.0.1:1'"),
        ("nonsense", "not an address of Ray: 'nonsense'"),
    ],
)
def test_wrong_address_of_a_cluster_is_refused_at_once(tmp_path: Path, address: str, message: str) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'contextune[ray]'")
    write_people(tmp_path / "store.db", 1)
    options = ["--store", str(tmp_path / "store.db"), "--address", address]
    done = CliRunner().invoke(app, ["embed", *options])
    assert message in str(done.exception)
