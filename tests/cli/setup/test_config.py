"""The configuration file: flags before environment before file; showing and changing it."""

from pathlib import Path

import pytest
from tests.program import Completed, run

from contextune.cli.setup.settings import SETTINGS, variable
from contextune.store import SQLiteStore
from contextune.types import Item, User


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "config.toml"


def config(file: Path, *words: str | Path, **env: str) -> Completed:
    return run("config", *words, env={"CONTEXTUNE_CONFIG": str(file), **env})


def put(path: Path, title: str) -> Path:
    with SQLiteStore(path) as store:
        store.put_user(User("me"))
        store.put_items("me", [Item.note(title=title, modified="2024-05-11T20:30")])
    return path


def test_flag_overrides_environment_overrides_file(file: Path, tmp_path: Path) -> None:
    in_file, in_environment, in_flag = (
        put(tmp_path / f"{name}.db", name) for name in ("one", "two", "three")
    )
    assert config(file, "set", "store", in_file).returncode == 0
    assert config(file, "set", "method", "bm25").returncode == 0
    env = {"CONTEXTUNE_CONFIG": str(file)}
    words = ("search", "one two three")
    assert " one " in run(*words, env=env).stdout
    env["CONTEXTUNE_STORE"] = str(in_environment)
    assert " two " in run(*words, env=env).stdout
    assert " three " in run(*words, "--store", in_flag, env=env).stdout


def test_settings_are_shown_with_their_source(file: Path, tmp_path: Path) -> None:
    config(file, "set", "zone", "Europe/Lisbon")
    shown = config(file, "show", CONTEXTUNE_USER="rui").stdout
    rows = {cells[1].strip(): [cell.strip() for cell in cells[2:4]] for line in shown.splitlines()
            if len(cells := line.split("│")) > 4}  # fmt: skip
    assert rows["zone"] == ["Europe/Lisbon", "file"]
    assert rows["user"] == ["rui", "environment"]
    assert rows["store"] == ["", ""]
    assert config(file).stdout == config(file, "show").stdout
    assert config(file, "path").stdout == f"{file}\n"


def test_changes_keep_comments_and_relative_paths_become_absolute(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.parent.mkdir()
    file.write_text('# mine\nuser = "ines"  # that is me\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    config(file, "set", "store", "me.db")
    assert f'store = "{tmp_path / "me.db"}"' in file.read_text(encoding="utf-8")
    config(file, "unset", "store")
    assert file.read_text(encoding="utf-8") == '# mine\nuser = "ines"  # that is me\n'


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("set", "stoer", "x"), "unknown setting 'stoer': choose one of store,"),
        (("set", "zone", "Mars/Olympus"), "there is no time zone 'Mars/Olympus'"),
        (("set", "method", "magic"), "unknown method 'magic'"),
        (("set", "policy", "act.reed=1"), "act.reed"),
        (("set", "embedder", "endpoint"), "not an embedder: 'endpoint'"),
        (("set", "threads", "two"), "'threads' is not a number: 'two'"),
        (("set", "user", " "), "'user' is empty"),
        (("unset", "user"), "there is nothing to remove"),
    ],
)
def test_invalid_settings_are_one_error_line(file: Path, words: tuple[str, ...], reason: str) -> None:
    done = config(file, *words)
    assert done.returncode == 2
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
    assert not file.exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("store = [", "is not valid TOML"),
        ("stoer = 'x'", "unknown setting 'stoer'"),
        ("store = ['a']", "has no text or number for 'store'"),
    ],
)
def test_broken_file_is_named_and_the_path_can_still_be_printed(file: Path, text: str, reason: str) -> None:
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    done = run("search", "Hello", env={"CONTEXTUNE_CONFIG": str(file)})
    assert done.returncode == 2
    assert str(file) in done.stderr
    assert reason in done.stderr
    assert config(file, "path").stdout == f"{file}\n"


def test_every_setting_is_the_variable_of_an_option_or_of_the_library() -> None:
    from contextune.cli import ask, import_files, options, serve
    from contextune.embed.onnx import THREADS_VARIABLE
    from contextune.llm.from_env import MODEL_VARIABLE

    annotations = [
        value for module in (options, import_files, ask, serve) for value in vars(module).values()
        if hasattr(value, "__metadata__")
    ]  # fmt: skip
    names = {option.envvar for value in annotations for option in value.__metadata__}
    known = names | {THREADS_VARIABLE, MODEL_VARIABLE}
    assert {variable(name) for name in SETTINGS} <= known


def test_password_of_a_store_is_not_shown(file: Path) -> None:
    url = "postgresql://ana:s3cret@127.0.0.1:1/nowhere"
    outputs = [config(file, "set", "store", url), config(file, "show")]
    outputs.append(run("items", env={"CONTEXTUNE_CONFIG": str(file)}))
    outputs.append(run("items", "--store", "postgresq://ana:s3cret@127.0.0.1:1/nowhere"))
    for each in outputs:
        assert "s3cret" not in each.stdout + each.stderr
    assert "s3cret" in file.read_text(encoding="utf-8")
    assert "ana:***@" in outputs[0].stdout
