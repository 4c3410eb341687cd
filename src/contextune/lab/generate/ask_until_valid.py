"""Asks a model for JSON until it is right: by its schema, and by what no schema can say."""

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

_SHOWN = 12
_LONGEST = 16_000
"""Tokens that an answer is allowed in the end, where earlier ones were cut off."""


class NoValidAnswerError(LanguageModelError):
    """No answer was of use, however often it was asked for; the rest of a run can go on."""

    def __init__(self, filed: str, message: str) -> None:
        super().__init__(f"{filed}: {message}")
        self.filed = filed


class ValidJsonWriter:
    """Has a model write JSON. Safe to share between threads if the model is.

    Answers are remembered on disk, so that what was broken off goes on and nothing is asked twice: each as it
    came, and the one that was right once more, which is then found without those before it.
    """

    def __init__(
        self, chat: Chat, folder: Path, *, tries: int = 4, temperature: float = 0.9, seed: int = 0
    ) -> None:
        """`folder` is where answers are remembered; `tries` is how often each is asked for at most."""
        self._chat = CachedChat(chat, folder=folder)
        self._right = AnswerCache(folder=folder)
        self.stop = Event()
        """Once set, nothing more is asked: other threads of a run that failed come to their end."""
        self._tries = tries
        self._sampling = Sampling(temperature=temperature, seed=seed)

    def write(
        self,
        filed: str,
        messages: Sequence[Message],
        schema: Schema,
        *,
        check: Callable[[Any], Iterable[object]] = lambda _: (),
        most: int = 4_000,
        exact: bool = False,
    ) -> Any:
        """JSON that fits the schema, and that `check` finds no faults in.

        `filed` is the name under which answers are remembered. `exact` takes the likeliest words.
        """
        asked = [
            self._chat.name,
            [one.content for one in messages],
            schema,
            most,
            exact,
            asdict(self._sampling),
        ]
        digest = sha256(json.dumps(asked).encode())
        kept = self._right.get(filed, digest.hexdigest())
        if kept is not None and not list(check(json.loads(kept))):
            return json.loads(kept)
        answer, text, first = self._asked(filed, messages, schema, check, most=most, exact=exact)
        if not first:
            self._right.put(filed, digest.hexdigest(), text)
        return answer

    def _asked(
        self,
        filed: str,
        messages: Sequence[Message],
        schema: Schema,
        check: Callable[[Any], Iterable[object]],
        *,
        most: int,
        exact: bool,
    ) -> tuple[Any, str, bool]:
        """The right answer, as it is and as it was written, and whether it was the first."""
        chat = self._chat.of(filed)
        sampling = replace(
            self._sampling, most=most, temperature=0.0 if exact else self._sampling.temperature
        )
        asked, why = list(messages), ""
        for place in range(self._tries):
            if self.stop.is_set():
                raise LanguageModelError("the run was stopped: run the same command again to go on")
            try:
                text = chat.ask(asked, sampling, schema=schema).text
            except SchemaMismatchError as error:
                why = str(error)
                # it may have been cut off, and a model that repeats itself needs another draw
                longer = max(most, min(sampling.most * 2, _LONGEST))
                sampling = replace(sampling, seed=sampling.seed + 1, most=longer)
                continue
            answer = json.loads(text)
            faults = [str(fault) for fault in check(answer)]
            if not faults:
                return answer, text, not place
            why = faults[0]
            asked = [*messages, Message("assistant", text), Message("user", _mend(faults))]
            sampling = replace(sampling, seed=sampling.seed + 1)
        raise NoValidAnswerError(
            filed,
            f"{self._tries} answers of {chat.name} were of no use, the last since {why}; try another model",
        )

    def forget(self, filed: str) -> None:
        """Forget what was answered under a name, so that the next run asks anew."""
        self._chat.forget(filed)
        self._right.forget(filed)


def _mend(faults: Sequence[str]) -> str:
    lines = "\n".join(f"- {fault}" for fault in faults[:_SHOWN])
    return (
        f"This will not do yet:\n{lines}\nWrite the whole answer again, with this mended and the rest kept."
    )
