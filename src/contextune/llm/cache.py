"""A language model that remembers what it answered."""

import json
import logging
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TypeVar

from contextune._internal.caches import register_cache
from contextune.errors import StoreError
from contextune.llm.chat import Chat, ChatReply, Draft, Message, Sampling
from contextune.llm.structured import Schema

FILE = "answers.db"
_ON_DISK = 10_000
_log = logging.getLogger(__name__)
Value = TypeVar("Value")


class AnswerCache:
    """The latest `size` answers, by user and digest; where there is a `folder`, the latest 10,000 in it."""

    def __init__(self, *, size: int = 512, folder: Path | None = None) -> None:
        self._size = size
        self._kept: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._lock = Lock()
        self._file = folder / FILE if folder else None
        if self._file:
            self._prepare(self._file)
        register_cache(self)

    def get(self, user: str, digest: str) -> str | None:
        """The answer, if it is remembered."""
        with self._lock:
            answer = self._kept.get((user, digest))
        if answer is None and self._file:
            query = "SELECT answer FROM answers WHERE user = ? AND digest = ?"
            row = _or_none(self._file, lambda disk: disk.execute(query, (user, digest)).fetchone())
            answer = str(row[0]) if row else None
        if answer is not None:
            self._keep(user, digest, answer)
        return answer

    def put(self, user: str, digest: str, answer: str) -> None:
        """Remember it; a disk that fails is logged, and the answer is remembered in memory."""
        self._keep(user, digest, answer)

        def write(disk: sqlite3.Connection) -> None:
            disk.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (user, digest, answer))
            disk.execute(
                "DELETE FROM answers WHERE rowid <= (SELECT max(rowid) FROM answers) - ?", (_ON_DISK,)
            )

        if self._file:
            _or_none(self._file, write)

    def forget(self, user: str | None = None) -> None:
        """Erase what was answered for a user, or for everybody; a disk that fails is an error here.

        What is filed under nobody goes with any user: it may have been said to them.
        """
        with self._lock:
            for key in [key for key in self._kept if user is None or key[0] in ("", user)]:
                del self._kept[key]
        if self._file:
            try:
                with closing(_open(self._file)) as disk:
                    disk.execute("DELETE FROM answers WHERE user IN ('', coalesce(?, user))", (user,))
                    disk.execute("VACUUM")
            except sqlite3.Error as error:
                raise StoreError(f"{str(self._file)!r}: {error}: delete the file by hand") from None

    def _keep(self, user: str, digest: str, answer: str) -> None:
        with self._lock:
            self._kept[user, digest] = answer
            self._kept.move_to_end((user, digest))
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)

    def _prepare(self, file: Path) -> None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            with closing(_open(file)) as disk:
                disk.execute(
                    "CREATE TABLE IF NOT EXISTS answers"
                    " (user TEXT, digest TEXT, answer TEXT NOT NULL, PRIMARY KEY (user, digest))"
                )
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{str(file)!r}: {error}: name a folder that answers can be kept in") from None


def _or_none(file: Path, ask: Callable[[sqlite3.Connection], Value]) -> Value | None:
    """What the disk says; asking again is better than failing, so a broken disk says nothing."""
    try:
        with closing(_open(file)) as disk:
            return ask(disk)
    except sqlite3.Error as error:
        _log.warning("%s: %s; going on without it", file, type(error).__name__)
        return None


def _open(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=5, isolation_level=None)
    connection.execute("PRAGMA secure_delete = ON")
    return connection


class CachedChat:
    """Asks another model what it was not asked before. Safe to share between threads if that one is.

    Answers are personal, so each is filed under a user: `of("ines")` is the model for Ines, and
    `forget("ines")` erases what it answered her. They are written to disk only if a `folder` is given,
    and without the questions.
    """

    def __init__(self, chat: Chat, *, folder: Path | None = None, size: int = 512, user: str = "") -> None:
        """`size` is how many answers are remembered in memory."""
        self._chat = chat
        self._user = user
        self._answers = AnswerCache(size=size, folder=folder)

    @property
    def name(self) -> str:
        """That of the model behind it."""
        return self._chat.name

    def of(self, user: str) -> "CachedChat":
        """The same model, with what it answers filed under a user."""
        other = CachedChat(self._chat, user=user)
        other._answers = self._answers
        return other

    def forget(self, user: str | None = None) -> None:
        """Erase a user's answers, in memory and on disk; without a user, everybody's."""
        self._answers.forget(user)

    def ask(
        self,
        messages: Sequence[Message],
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        *,
        schema: Schema | None = None,
    ) -> ChatReply:
        """The answer from before, which takes no tokens, or a new one."""
        asked = [self.name, [asdict(message) for message in messages], asdict(sampling), schema]
        digest = sha256(json.dumps(asked).encode()).hexdigest()
        kept = self._answers.get(self._user, digest)
        if kept is not None:
            return ChatReply(tuple(Draft(text, whole) for text, whole in json.loads(kept)))
        reply = self._chat.ask(messages, sampling, schema=schema)
        drafts = [[draft.text, draft.whole] for draft in reply.drafts]
        self._answers.put(self._user, digest, json.dumps(drafts))
        return reply
