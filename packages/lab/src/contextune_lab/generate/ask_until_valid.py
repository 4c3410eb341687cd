"""Ask a chat model for JSON until it passes a schema and further checks."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any

from contextune.errors import LanguageModelError
from contextune.llm import CachedChat, Chat, Message, Sampling
from contextune.llm.cache import AnswerCache
from contextune.llm.structured import Schema, SchemaMismatchError

_MAX_FAULTS = 12
_MAX_TOKENS = 16_000
"""Token limit to which truncated answers are retried."""


class NoValidAnswerError(LanguageModelError):
    """No valid answer within the allowed tries; the rest of a run can continue."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}")
        self.key = key


class ValidJsonWriter:
    """Has a model write valid JSON. Thread-safe if the model is.

    Answers are cached on disk, so that an interrupted run continues without repeating requests. The valid
    answer is cached once more, so that it is found without replaying the invalid ones.
    """

    def __init__(
        self, chat: Chat, folder: Path, *, tries: int = 4, temperature: float = 0.9, seed: int = 0
    ) -> None:
        """`folder` holds the answer cache; `tries` is the maximum number of attempts per answer."""
        self._chat = CachedChat(chat, folder=folder)
        self._valid_answers = AnswerCache(folder=folder)
        self.stop = Event()
        """When set, no further requests are sent; the other threads of a failed run finish."""
        self._tries = tries
        self._sampling = Sampling(temperature=temperature, seed=seed)

    def write(
        self,
        key: str,
        messages: Sequence[Message],
        schema: Schema,
        *,
        check: Callable[[Any], Iterable[object]] = lambda _: (),
        most: int = 4_000,
        exact: bool = False,
    ) -> Any:
        """JSON that fits the schema and for which `check` yields no faults.

        `key` is the cache key. `exact` samples at temperature 0.
        """
        conversation = [
            self._chat.name,
            [message.content for message in messages],
            schema,
            most,
            exact,
            asdict(self._sampling),
        ]
        digest = sha256(json.dumps(conversation).encode())
        cached = self._valid_answers.get(key, digest.hexdigest())
        if cached is not None and not list(check(json.loads(cached))):
            return json.loads(cached)
        answer, text, is_first = self._ask_until_valid(key, messages, schema, check, most=most, exact=exact)
        if not is_first:
            self._valid_answers.put(key, digest.hexdigest(), text)
        return answer

    def _ask_until_valid(
        self,
        key: str,
        messages: Sequence[Message],
        schema: Schema,
        check: Callable[[Any], Iterable[object]],
        *,
        most: int,
        exact: bool,
    ) -> tuple[Any, str, bool]:
        """The valid answer, parsed and as text, and whether it was the first attempt."""
        chat = self._chat.for_user(key)
        sampling = replace(
            self._sampling, max_tokens=most, temperature=0.0 if exact else self._sampling.temperature
        )
        conversation, reason = list(messages), ""
        for attempt in range(self._tries):
            if self.stop.is_set():
                raise LanguageModelError("the run was stopped; run the same command again to continue")
            try:
                text = chat.ask(conversation, sampling, schema=schema).text
            except SchemaMismatchError as error:
                reason = str(error)
                # the answer may have been truncated; a repeating model needs another seed
                max_tokens = max(most, min(sampling.max_tokens * 2, _MAX_TOKENS))
                sampling = replace(sampling, seed=sampling.seed + 1, max_tokens=max_tokens)
                continue
            answer = json.loads(text)
            faults = [str(fault) for fault in check(answer)]
            if not faults:
                return answer, text, not attempt
            reason = faults[0]
            conversation = [*messages, Message("assistant", text), Message("user", _correction(faults))]
            sampling = replace(sampling, seed=sampling.seed + 1)
        raise NoValidAnswerError(
            key,
            f"no valid answer from {chat.name} in {self._tries} tries: {reason}; try another model",
        )

    def forget(self, key: str) -> None:
        """Remove the cached answers of a key, so that the next run asks again."""
        self._chat.forget(key)
        self._valid_answers.forget(key)


def _correction(faults: Sequence[str]) -> str:
    lines = "\n".join(f"- {fault}" for fault in faults[:_MAX_FAULTS])
    return (
        f"This will not do yet:\n{lines}\nWrite the whole answer again, with this mended and the rest kept."
    )
