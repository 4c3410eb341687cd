"""What a language model is here: messages in, one or several drafts of an answer out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from contextune.errors import LanguageModelError


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an answer is drawn. At temperature 0 the likeliest word is taken each time."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    """0 for no limit."""
    drafts: int = 1
    """How many answers are drawn."""
    seed: int = 0
    most: int = 256
    """Tokens in an answer."""

    def __post_init__(self) -> None:
        """A model would fail on what cannot be, each in its own way."""
        if not (self.temperature >= 0 and 0 < self.top_p <= 1 and self.top_k >= 0):
            raise LanguageModelError(f"{self} cannot be drawn by: temperature ≥ 0, top_p ≤ 1, top_k ≥ 0")
        if self.drafts < 1 or self.most < 1:
            raise LanguageModelError(f"{self} asks for no answer: drafts and most are 1 or more")


@dataclass(frozen=True, slots=True)
class Draft:
    """One answer."""

    text: str
    whole: bool = True
    """False where it was cut off for its length."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The drafts of an answer, and what they took in tokens, as far as the model says."""

    drafts: tuple[Draft, ...]
    """At least one, and as many as were asked for; by a schema, those of them that fit."""
    read: int = 0
    written: int = 0

    @property
    def text(self) -> str:
        """The first draft."""
        return self.drafts[0].text


class Chat(Protocol):
    """A language model, wherever it runs. Raises `LanguageModelError` where no answer is to be had."""

    @property
    def name(self) -> str:
        """The model and where it runs, as it is filed and shown; never a key."""
        ...

    def ask(
        self,
        messages: Sequence[Message],
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        *,
        schema: Mapping[str, Any] | None = None,
    ) -> ChatReply:
        """Answer the last message; with a JSON Schema, every draft is JSON that fits it."""
        ...


def sendable(messages: Sequence[Message]) -> list[Message]:
    """Messages without halves of characters (lone surrogates), which neither tokenizers nor JSON take."""
    if not messages:
        raise LanguageModelError("there is nothing to answer: pass at least one message")
    return [Message(message.role, _whole(message.content)) for message in messages]


def _whole(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
