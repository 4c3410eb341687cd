"""What a run takes: questions, tokens, and money where a price is known."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from contextune._internal.plural import pluralize
from contextune.errors import InvalidDataError
from contextune.llm import Chat, ChatReply, EndpointChat, Message, Sampling
from contextune.llm.structured import Schema

_MILLION = 1_000_000
_FILE = "spent.json"


@dataclass(frozen=True, slots=True)
class Price:
    """Of a million tokens read, and of a million written, in any currency."""

    read: float
    written: float

    def __post_init__(self) -> None:
        if self.read < 0 or self.written < 0:
            raise InvalidDataError(f"{self} is no price: both parts are 0 or more")


@dataclass(frozen=True, slots=True)
class TokensSpent:
    """Answers that were had, and their tokens."""

    answers: int = 0
    read: int = 0
    written: int = 0

    def __add__(self, other: "TokensSpent") -> "TokensSpent":
        return TokensSpent(self.answers + other.answers, self.read + other.read, self.written + other.written)

    def money(self, price: Price) -> float:
        """What that costs."""
        return (self.read * price.read + self.written * price.written) / _MILLION

    def told(self, price: Price | None = None) -> str:
        """In words."""
        read = pluralize(self.read, "token")
        tokens = f"{pluralize(self.answers, 'answer')}, {read} read and {self.written:,} written"
        return f"{tokens}: {self.money(price):,.2f}" if price else tokens


class CostMeter:
    """Adds up. Safe to share between threads.

    With a folder, what all runs took is written down there with every answer: a run may be killed.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.before = _read(folder) if folder else TokensSpent()
        """What earlier runs took."""
        self._folder, self._spent, self._lock = folder, TokensSpent(), Lock()

    @property
    def spent(self) -> TokensSpent:
        """In this run, so far."""
        return self._spent

    def add(self, reply: ChatReply) -> None:
        """One more answer."""
        with self._lock:
            self._spent += TokensSpent(1, reply.read, reply.written)
            if self._folder:
                _write(self._folder, self.before + self._spent)


def _read(folder: Path) -> TokensSpent:
    with suppress(OSError, ValueError, TypeError):  # then nothing is known of earlier runs
        return TokensSpent(**json.loads((folder / _FILE).read_text(encoding="utf-8")))
    return TokensSpent()


def _write(folder: Path, spent: TokensSpent) -> None:
    with suppress(OSError):  # a full disk is told of by what matters more
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _FILE).write_text(json.dumps(asdict(spent)), encoding="utf-8")


class MeteredChat:
    """A model whose answers are counted. Put it behind a cache, since what is remembered costs nothing."""

    def __init__(self, chat: Chat, meter: CostMeter) -> None:
        self._chat, self._meter = chat, meter

    @property
    def name(self) -> str:
        """That of the model."""
        return self._chat.name

    def ask(
        self,
        messages: Sequence[Message],
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        *,
        schema: Schema | None = None,
    ) -> ChatReply:
        """Ask the model, and count; answers that fit no schema are not known here."""
        reply = self._chat.ask(messages, sampling, schema=schema)
        self._meter.add(reply)
        return reply


class MeteredEndpoint(EndpointChat):
    """A server whose answers are counted as they come in, also those thrown away: they are paid for."""

    def __init__(self, model: str, meter: CostMeter, **about: Any) -> None:
        """`about` is what `EndpointChat` takes."""
        super().__init__(model, heard=meter.add, **about)
