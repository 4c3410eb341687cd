"""Bearer tokens: authentication, and safe concurrent writes of the file."""

import json
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.serve.waiting import PATIENCE

from contextune.errors import InvalidRequestError, StoreError
from contextune.serve.http.tokens import TokenFile


def authenticated(tokens: TokenFile, token: str) -> str | None:
    """The user of a token, or None if it is invalid."""
    entry = tokens.authenticate(token)
    return entry.user if entry else None


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "tokens.json")


def test_token_identifies_its_user(tokens: TokenFile) -> None:
    ines, otto = tokens.add("ines"), tokens.add("otto")
    again = TokenFile(tokens.path)
    assert [authenticated(again, token) for token in (ines, otto)] == ["ines", "otto"]


def test_similar_strings_are_rejected(tokens: TokenFile) -> None:
    ines, otto = tokens.add("ines"), tokens.add("otto")
    mixed = "_".join([*ines.split("_", 2)[:2], otto.split("_", 2)[2]])
    entry = tokens.all()[0]
    similar = (
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
    for wrong in (*similar, entry.digest, f"ctx_{entry.id}_", f"ctx_{entry.id}_{entry.digest}"):
        assert tokens.authenticate(wrong) is None, wrong


def test_file_has_no_secret_and_is_private(tokens: TokenFile) -> None:
    secret = tokens.add("ines").split("_", 2)[2]
    assert secret not in tokens.path.read_text()
    assert stat.S_IMODE(tokens.path.stat().st_mode) == 0o600


def test_removed_token_is_rejected_at_once(tokens: TokenFile) -> None:
    ines, otto = tokens.add("ines"), tokens.add("otto")
    serving = TokenFile(tokens.path)
    assert serving.authenticate(ines)
    removed = tokens.remove(tokens.all()[0].id)
    assert removed.user == "ines"
    assert serving.authenticate(ines) is None
    assert serving.authenticate(otto)
    with pytest.raises(InvalidRequestError, match="token list"):
        tokens.remove(removed.id)


def test_pseudonym_is_stable_and_depends_on_the_file(tokens: TokenFile, tmp_path: Path) -> None:
    tokens.add("ines")
    tokens.add("otto")
    other = TokenFile(tmp_path / "other.json")
    other.add("ines")
    assert tokens.pseudonym("ines") == TokenFile(tokens.path).pseudonym("ines")
    assert len({tokens.pseudonym("ines"), tokens.pseudonym("otto"), other.pseudonym("ines")}) == 3


HOLD_LOCK = """
import sys
from contextune.serve.http.tokens import TokenFile
with TokenFile(sys.argv[1])._write_lock():
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_lock_of_a_killed_process_does_not_block(tokens: TokenFile) -> None:
    tokens.add("ines")
    before = tokens.path.read_bytes()
    command = [sys.executable, "-c", HOLD_LOCK, str(tokens.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(StoreError, match="locked by another command"):
            TokenFile(tokens.path, lock_timeout=0.05).add("otto")
        assert tokens.path.read_bytes() == before
        holder.kill()
    tokens.path.with_name("tokens.json.new").write_text("half a fi")  # killed while writing
    otto = TokenFile(tokens.path, lock_timeout=PATIENCE).add("otto")
    assert authenticated(tokens, otto) == "otto"
    assert stat.S_IMODE(tokens.path.stat().st_mode) == 0o600


def test_concurrent_writers_lose_nothing(tokens: TokenFile) -> None:
    users = [f"user{n}" for n in range(12)]
    with ThreadPoolExecutor(6) as pool:
        created = list(pool.map(TokenFile(tokens.path, lock_timeout=PATIENCE).add, users))
    assert [authenticated(tokens, token) for token in created] == users


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"key": "00", "tokens": []}', '{"key": 1, "tokens": {}}'])
def test_other_files_are_rejected_and_unchanged(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.json"
    path.write_text(text)
    with pytest.raises(StoreError, match="is not a token file"):
        TokenFile(path).all()
    with pytest.raises(StoreError, match="is not a token file"):
        TokenFile(path).add("ines")
    assert path.read_text() == text


def test_user_id_must_be_printable(tokens: TokenFile) -> None:
    for wrong in ("", "a\nb"):
        with pytest.raises(InvalidRequestError, match="invalid user id"):
            tokens.add(wrong)
    assert not tokens.path.exists()
    tokens.add("ines")
    assert len(json.loads(tokens.path.read_text())["tokens"]) == 1


def test_read_only_token_is_marked_by_its_id(tokens: TokenFile) -> None:
    reader, writer = tokens.add("ines", read_only=True), tokens.add("ines")
    marks = [entry.read_only for token in (reader, writer) if (entry := tokens.authenticate(token))]
    assert marks == [True, False]
    # the mark belongs to the id of the secret and cannot be dropped or moved
    _, token_id, secret = reader.split("_", 2)
    for other in (token_id[1:], f"0{token_id[1:]}", writer.split("_", 2)[1]):
        assert tokens.authenticate(f"ctx_{other}_{secret}") is None
