"""Token and cost metering of language-model calls."""

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
    """Price per million tokens read and written, in any currency."""

    read: float
    written: float

    def __post_init__(self) -> None:
        if self.read < 0 or self.written < 0:
            raise InvalidDataError(f"invalid price {self}: both parts must be 0 or more")


@dataclass(frozen=True, slots=True)
class TokensSpent:
    """Number of answers and tokens."""

    answers: int = 0
    read: int = 0
    written: int = 0

    def __add__(self, other: "TokensSpent") -> "TokensSpent":
        return TokensSpent(self.answers + other.answers, self.read + other.read, self.written + other.written)

    def money(self, price: Price) -> float:
        """The cost at a price."""
        return (self.read * price.read + self.written * price.written) / _MILLION

    def summary(self, price: Price | None = None) -> str:
        """A one-line summary."""
        read = pluralize(self.read, "token")
        tokens = f"{pluralize(self.answers, 'answer')}, {read} read and {self.written:,} written"
        return f"{tokens}: {self.money(price):,.2f}" if price else tokens


class CostMeter:
    """Counts tokens. Thread-safe.

    With a folder, the totals of all runs are written there after every answer, so that a killed run loses
    none.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.before = _read(folder) if folder else TokensSpent()
        """Totals of earlier runs."""
        self._folder, self._spent, self._lock = folder, TokensSpent(), Lock()

    @property
    def spent(self) -> TokensSpent:
        """Totals of this run so far."""
        return self._spent

    def add(self, reply: ChatReply) -> None:
        """Count one answer."""
        with self._lock:
            self._spent += TokensSpent(1, reply.prompt_tokens, reply.completion_tokens)
            if self._folder:
                _write(self._folder, self.before + self._spent)


def _read(folder: Path) -> TokensSpent:
    with suppress(OSError, ValueError, TypeError):  # no record of earlier runs
        return TokensSpent(**json.loads((folder / _FILE).read_text(encoding="utf-8")))
    return TokensSpent()


def _write(folder: Path, spent: TokensSpent) -> None:
    with suppress(OSError):  # a full disk will fail elsewhere, with a better message
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _FILE).write_text(json.dumps(asdict(spent)), encoding="utf-8")


class MeteredChat:
    """A chat that counts tokens. Put it behind the cache, since cached answers cost nothing."""

    def __init__(self, chat: Chat, meter: CostMeter) -> None:
        self._chat, self._meter = chat, meter

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._chat.name

    def ask(
        self,
        messages: Sequence[Message],
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        *,
        schema: Schema | None = None,
    ) -> ChatReply:
        """Ask and count; answers rejected by a schema are not visible here."""
        reply = self._chat.ask(messages, sampling, schema=schema)
        self._meter.add(reply)
        return reply


class MeteredEndpoint(EndpointChat):
    """An endpoint that counts all answers, including rejected ones: they are paid for."""

    def __init__(self, model: str, meter: CostMeter, **about: Any) -> None:
        """`about` are the arguments of `EndpointChat`."""
        super().__init__(model, on_reply=meter.add, **about)
