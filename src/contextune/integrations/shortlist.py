"""`Shortlist`: what goes to a model with the user's last message, in a form that prompt caches like.

A prompt cache is valid up to the first difference. So the items of earlier messages are repeated at their
places, word by word, and tools keep their positions.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NotRequired, TypedDict, TypeVar

from contextune._internal.phrases import unknown_words_note
from contextune.types import Tool

_Message = TypeVar("_Message")


class Offer(TypedDict):
    """What one message of the user was sent with, as JSON, to continue the conversation elsewhere."""

    prompt: str
    tools: list[str]
    """Names of the tools that were found for it, best first."""
    nothing_fits: NotRequired[bool]
    """Whether a search found that no tool fits."""


@dataclass(frozen=True, slots=True)
class NothingFits:
    """No tool fits a message: its `fits` is below the chosen threshold."""

    unknown_words: tuple[str, ...] = ()
    """Words of the message that no tool's text has."""

    @property
    def note(self) -> str:
        """What to tell the model."""
        return (
            f"Probably no tool serves this.{unknown_words_note(self.unknown_words)} "
            "Go on without one, or ask the user."
        )


@dataclass(frozen=True, slots=True)
class Shortlist:
    """The tools to offer after a conversation, and the items to put before its messages."""

    tools: tuple[Tool, ...]
    """In an order that is stable from turn to turn."""
    prompts: tuple[str, ...] = ()
    """Fenced text for each message of the user, oldest first; empty where nothing was found."""
    nothing_fits: NothingFits | None = None
    """Why no tool was found for the last message; `tools` are then those of earlier messages and `always`."""

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
