"""Tokens: only whoever holds one is let in, and the file gives none away."""

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contextune.errors import InvalidRequestError, StoreError
from contextune.serve.http.tokens import TokenFile


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "tokens.json")


def test_a_token_is_its_users(tokens: TokenFile) -> None:
    ines, otto = tokens.add("ines"), tokens.add("otto")
    again = TokenFile(tokens.path)
    assert [found.user if (found := again.user_of(one)) else None for one in (ines, otto)] == ["ines", "otto"]


def test_nothing_else_is_a_token(tokens: TokenFile) -> None:
    ines, otto = tokens.add("ines"), tokens.add("otto")
    mixed = "_".join([*ines.split("_", 2)[:2], otto.split("_", 2)[2]])
    known = tokens.all()[0]
    near = (
        "",
        "ctx",
        "ctx__",
        ines[:-1],
        ines + "x",
        ines.upper(),
        mixed,
        ines.replace("ctx", "xtc"),
        "\ud800",
    )
    for wrong in (*near, known.digest, f"ctx_{known.id}_", f"ctx_{known.id}_{known.digest}"):
        assert tokens.user_of(wrong) is None, wrong


def test_the_file_holds_no_token_and_is_nobody_elses(tokens: TokenFile) -> None:
    secret = tokens.add("ines").split("_", 2)[2]
    assert secret not in tokens.path.read_text()
    assert stat.S_IMODE(tokens.path.stat().st_mode) == 0o600


def test_a_token_taken_back_is_none_at_once(tokens: TokenFile) -> None:
    ines, otto = tokens.add("ines"), tokens.add("otto")
    serving = TokenFile(tokens.path)
    assert serving.user_of(ines)
    gone = tokens.remove(tokens.all()[0].id)
    assert gone.user == "ines"
    assert serving.user_of(ines) is None
    assert serving.user_of(otto)
    with pytest.raises(InvalidRequestError, match="token list"):
        tokens.remove(gone.id)


def test_an_alias_is_the_same_every_time_and_needs_the_file(tokens: TokenFile, tmp_path: Path) -> None:
    tokens.add("ines")
    tokens.add("otto")
    other = TokenFile(tmp_path / "other.json")
    other.add("ines")
    assert tokens.alias("ines") == TokenFile(tokens.path).alias("ines")
    assert len({tokens.alias("ines"), tokens.alias("otto"), other.alias("ines")}) == 3


def test_two_commands_do_not_write_at_once(tokens: TokenFile) -> None:
    tokens.add("ines")
    before = tokens.path.read_bytes()
    lock = tokens.path.with_name("tokens.json.new")
    lock.touch()
    with pytest.raises(StoreError, match=r"tokens\.json\.new"):
        TokenFile(tokens.path, patience=0.05).add("otto")
    assert tokens.path.read_bytes() == before
    lock.unlink()
    tokens.add("otto")
    assert not lock.exists()


def test_many_at_once_lose_nothing(tokens: TokenFile) -> None:
    users = [f"user{n}" for n in range(12)]
    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(TokenFile(tokens.path, patience=60).add, users))
    assert [found.user if (found := tokens.user_of(one)) else None for one in made] == users


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"key": "00", "tokens": []}', '{"key": 1, "tokens": {}}'])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.json"
    path.write_text(text)
    with pytest.raises(StoreError, match="no file of tokens"):
        TokenFile(path).all()
    with pytest.raises(StoreError, match="no file of tokens"):
        TokenFile(path).add("ines")
    assert path.read_text() == text


def test_a_user_has_a_name(tokens: TokenFile) -> None:
    for wrong in ("", "a\nb"):
        with pytest.raises(InvalidRequestError, match="no id of a user"):
            tokens.add(wrong)
    assert not tokens.path.exists()
    tokens.add("ines")
    assert len(json.loads(tokens.path.read_text())["tokens"]) == 1
