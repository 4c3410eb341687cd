"""`CallBudget`: limits how often a model is called, and pauses after a failure."""

import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from contextune.errors import InvalidRequestError, LanguageModelError
from contextune.llm.structured import SchemaMismatchError

_MINUTE = 60.0


@dataclass
class SpentCall:
    """One call; set `tokens` to what the model has reported."""

    at: float
    tokens: int = 0


class CallBudget:
    """At most so many calls and tokens in any minute, and no call for `pause` seconds after a failure.

    The pause keeps an unreachable server from delaying every request by its timeout. Thread-safe.
    """

    def __init__(
        self,
        calls_per_minute: int = 30,
        tokens_per_minute: int = 60_000,
        *,
        pause: float = 20.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if calls_per_minute < 1 or tokens_per_minute < 1 or not pause >= 0:
            raise InvalidRequestError(
                f"invalid budget: calls_per_minute={calls_per_minute!r}, tokens_per_minute="
                f"{tokens_per_minute!r}, pause={pause!r}: use at least 1, 1 and 0"
            )
        self._calls = calls_per_minute
        self._tokens = tokens_per_minute
        self._pause = pause
        self._clock = clock
        self._spent: deque[SpentCall] = deque()
        self._failed: float | None = None
        self._lock = Lock()

    @contextmanager
    def call(self) -> Generator[SpentCall]:
        """Count a call; raise `LanguageModelError` instead if the budget of the minute is spent."""
        call = self._start()
        try:
            yield call
        except SchemaMismatchError:  # the model was reached
            raise
        except LanguageModelError:
            with self._lock:
                self._failed = self._clock()
            raise

    def _start(self) -> SpentCall:
        with self._lock:
            now = self._clock()
            while self._spent and self._spent[0].at <= now - _MINUTE:
                self._spent.popleft()
            if self._failed is not None and now < self._failed + self._pause:
                left = self._failed + self._pause - now
                raise LanguageModelError(f"not asked: the model failed, and is asked again in {left:.0f} s")
            if len(self._spent) >= self._calls:
                raise LanguageModelError(f"not asked: {self._calls} calls in this minute are spent")
            if sum(call.tokens for call in self._spent) >= self._tokens:
                raise LanguageModelError(f"not asked: {self._tokens:,} tokens in this minute are spent")
            call = SpentCall(now)
            self._spent.append(call)
            return call
