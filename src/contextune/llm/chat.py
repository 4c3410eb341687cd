"""The `Chat` protocol: messages in, one or several drafts of an answer out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from contextune.errors import LanguageModelError


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters; temperature 0 is greedy decoding."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    """0 for no limit."""
    drafts: int = 1
    """Number of answers."""
    seed: int = 0
    max_tokens: int = 256
    """Maximum length of an answer."""

    def __post_init__(self) -> None:
        """Reject invalid values here, as every model fails on them differently."""
        if not (self.temperature >= 0 and 0 < self.top_p <= 1 and self.top_k >= 0):
            raise LanguageModelError(f"invalid {self}: temperature ≥ 0, 0 < top_p ≤ 1, top_k ≥ 0")
        if self.drafts < 1 or self.max_tokens < 1:
            raise LanguageModelError(f"invalid {self}: drafts ≥ 1, max_tokens ≥ 1")


GREEDY = Sampling()
"""One answer, decoded greedily."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One answer."""

    text: str
    complete: bool = True
    """False if it was cut off at `max_tokens`."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The drafts of an answer, and the token counts, if the model reports them."""

    drafts: tuple[Draft, ...]
    """At least one; with a schema, only the drafts that fit."""
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def text(self) -> str:
        """The text of the first draft."""
        return self.drafts[0].text


class Chat(Protocol):
    """A language model. Raises `LanguageModelError` if there is no answer."""

    @property
    def name(self) -> str:
        """The model and where it runs, for display and as a cache key; without API keys."""
        ...

    def ask(
        self,
        messages: Sequence[Message],
        sampling: Sampling = GREEDY,
        *,
        schema: Mapping[str, Any] | None = None,
    ) -> ChatReply:
        """Answer the last message; with a JSON Schema, every draft is valid JSON by it."""
        ...


def sanitize_messages(messages: Sequence[Message]) -> list[Message]:
    """Replace lone surrogates, which neither tokenizers nor JSON accept; refuse an empty list."""
    if not messages:
        raise LanguageModelError("no messages: pass at least one")
    return [Message(message.role, _replace_surrogates(message.content)) for message in messages]


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
