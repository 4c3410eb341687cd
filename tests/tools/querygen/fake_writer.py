"""Fake language models: a fixed answer, an error, no answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from contextune.errors import LanguageModelError
from contextune.llm import ChatReply, Draft, Message, Sampling


class FixedModel:
    """Gives the same answer to everything, and records the calls."""

    name = "writer"

    def __init__(self, answer: str = "", *, whole: bool = True) -> None:
        self.answer = answer
        self.whole = whole
        self.asked: list[tuple[list[Message], Sampling]] = []

    def ask(
        self,
        messages: Sequence[Message],
        sampling: Sampling = Sampling(),  # noqa: B008
        *,
        schema: Mapping[str, Any] | None = None,
    ) -> ChatReply:
        assert schema is None
        self.asked.append((list(messages), sampling))
        return ChatReply((Draft(self.answer, self.whole),))


class FailingModel(FixedModel):
    def ask(self, *_: object, **__: object) -> ChatReply:
        raise LanguageModelError("the server is asleep; wake it")


class SilentModel(FixedModel):
    def ask(self, *_: object, **__: object) -> ChatReply:
        return ChatReply(())
