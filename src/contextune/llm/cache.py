"""A language model that remembers what it answered."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

from contextune.llm.answers import Answers
from contextune.llm.chat import Chat, Draft, Message, Reply, Sampling
from contextune.llm.fit import Schema


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
        self._answers = Answers(size=size, folder=folder)

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
    ) -> Reply:
        """The answer from before, which takes no tokens, or a new one."""
        asked = [self.name, [asdict(message) for message in messages], asdict(sampling), schema]
        digest = sha256(json.dumps(asked).encode()).hexdigest()
        kept = self._answers.get(self._user, digest)
        if kept is not None:
            return Reply(tuple(Draft(text, whole) for text, whole in json.loads(kept)))
        reply = self._chat.ask(messages, sampling, schema=schema)
        drafts = [[draft.text, draft.whole] for draft in reply.drafts]
        self._answers.put(self._user, digest, json.dumps(drafts))
        return reply
