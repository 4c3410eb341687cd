"""`CachedChat`: caches the answers of a chat model, per user."""

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

CACHE_FILE = "answers.db"
_MAX_ON_DISK = 10_000
_log = logging.getLogger(__name__)
Value = TypeVar("Value")


class AnswerCache:
    """LRU cache of answers by user and prompt digest: `size` in memory, 10,000 on disk with a `folder`."""

    def __init__(self, *, size: int = 512, folder: Path | None = None) -> None:
        self._size = size
        self._memory: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._lock = Lock()
        self._file = folder / CACHE_FILE if folder else None
        if self._file:
            self._prepare(self._file)
        register_cache(self)

    def get(self, user: str, digest: str) -> str | None:
        """The cached answer, if any."""
        with self._lock:
            answer = self._memory.get((user, digest))
        if answer is None and self._file:
            query = "SELECT answer FROM answers WHERE user = ? AND digest = ?"
            row = _try_query(self._file, lambda disk: disk.execute(query, (user, digest)).fetchone())
            answer = str(row[0]) if row else None
        if answer is not None:
            self._keep(user, digest, answer)
        return answer

    def put(self, user: str, digest: str, answer: str) -> None:
        """Cache an answer; if the disk fails, log a warning and keep it in memory."""
        self._keep(user, digest, answer)

        def write(disk: sqlite3.Connection) -> None:
            disk.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (user, digest, answer))
            disk.execute(
                "DELETE FROM answers WHERE rowid <= (SELECT max(rowid) FROM answers) - ?", (_MAX_ON_DISK,)
            )

        if self._file:
            _try_query(self._file, write)

    def forget(self, user: str | None = None) -> None:
        """Erase the answers to a user, or to all users; raise `StoreError` if the disk fails.

        Answers without a user are erased as well, since they may be about any user.
        """
        with self._lock:
            for key in [key for key in self._memory if user is None or key[0] in ("", user)]:
                del self._memory[key]
        if self._file:
            try:
                with closing(_open(self._file)) as disk:
                    disk.execute("DELETE FROM answers WHERE user IN ('', coalesce(?, user))", (user,))
                    disk.execute("VACUUM")
            except sqlite3.Error as error:
                raise StoreError(f"{str(self._file)!r}: {error}: delete the file manually") from None

    def _keep(self, user: str, digest: str, answer: str) -> None:
        with self._lock:
            self._memory[user, digest] = answer
            self._memory.move_to_end((user, digest))
            while len(self._memory) > self._size:
                self._memory.popitem(last=False)

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
            raise StoreError(f"{str(file)!r}: {error}: choose a writable folder") from None


def _try_query(file: Path, query: Callable[[sqlite3.Connection], Value]) -> Value | None:
    """Query the database; return None if it fails, as a cache miss is better than an error."""
    try:
        with closing(_open(file)) as disk:
            return query(disk)
    except sqlite3.Error as error:
        _log.warning("%s: %s; continuing without the disk cache", file, type(error).__name__)
        return None


def _open(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=5, isolation_level=None)
    connection.execute("PRAGMA secure_delete = ON")
    return connection


class CachedChat:
    """Caches the answers of another model. Thread-safe if that model is.

    Answers are personal, so they are stored per user: `for_user("ines")` is the model for Ines, and
    `forget("ines")` erases its answers to her. Only with a `folder` they are written to disk, with a digest
    instead of the prompt.
    """

    def __init__(self, chat: Chat, *, folder: Path | None = None, size: int = 512, user: str = "") -> None:
        """`size` is the number of answers kept in memory."""
        self._chat = chat
        self._user = user
        self._answers = AnswerCache(size=size, folder=folder)

    @property
    def name(self) -> str:
        """The name of the cached model."""
        return self._chat.name

    def for_user(self, user: str) -> "CachedChat":
        """The same model and cache, with answers stored under a user."""
        other = CachedChat(self._chat, user=user)
        other._answers = self._answers
        return other

    def forget(self, user: str | None = None) -> None:
        """Erase the answers to a user, or to all users, in memory and on disk."""
        self._answers.forget(user)

    def ask(
        self,
        messages: Sequence[Message],
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        *,
        schema: Schema | None = None,
    ) -> ChatReply:
        """Return the cached answer, with token counts of 0, or ask the model."""
        prompt = [self.name, [asdict(message) for message in messages], asdict(sampling), schema]
        digest = sha256(json.dumps(prompt).encode()).hexdigest()
        cached = self._answers.get(self._user, digest)
        if cached is not None:
            return ChatReply(tuple(Draft(text, complete) for text, complete in json.loads(cached)))
        reply = self._chat.ask(messages, sampling, schema=schema)
        drafts = [[draft.text, draft.complete] for draft in reply.drafts]
        self._answers.put(self._user, digest, json.dumps(drafts))
        return reply
