"""Language models that write the same to everybody, or nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

from contextune.errors import LanguageModelError
from contextune.llm import ChatReply, Draft, Message, Sampling


class Writer:
    """A model that writes the same answer to everything."""

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


class Broken(Writer):
    def ask(self, *_: object, **__: object) -> ChatReply:
        raise LanguageModelError("the server is asleep; wake it")


class Mute(Writer):
    def ask(self, *_: object, **__: object) -> ChatReply:
        return ChatReply(())
