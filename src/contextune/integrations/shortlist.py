"""`Shortlist`: what goes to a model with the user's last message, in a form that prompt caches like.

A prompt cache is valid up to the first difference. So the items of earlier messages are repeated at their
places, word by word, and tools keep their positions.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict, TypeVar

from contextune.types import Tool

_Message = TypeVar("_Message")


class Offer(TypedDict):
    """What one message of the user was sent with, as JSON, to continue the conversation elsewhere."""

    prompt: str
    tools: list[str]
    """Names of the tools that were found for it, best first."""


@dataclass(frozen=True, slots=True)
class Shortlist:
    """The tools to offer after a conversation, and the items to put before its messages."""

    tools: tuple[Tool, ...]
    """In an order that is stable from turn to turn."""
    prompts: tuple[str, ...] = ()
    """Fenced text for each message of the user, oldest first; empty where nothing was found."""

    @property
    def prompt(self) -> str:
        """The text for the last message."""
        return self.prompts[-1] if self.prompts else ""


def insert_prompts(
    messages: Iterable[_Message],
    prompts: Sequence[str],
    is_user: Callable[[_Message], bool],
    make: Callable[[str], _Message],
) -> list[_Message]:
    """The messages, with the text of each message of the user before it as a message of its own."""
    texts = iter(prompts)
    inserted: list[_Message] = []
    for message in messages:
        if is_user(message) and (prompt := next(texts, "")):
            inserted.append(make(prompt))
        inserted.append(message)
    return inserted
