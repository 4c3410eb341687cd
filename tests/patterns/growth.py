"""Measures how the time of a pattern grows with the text: CPU time of this thread, the best of some runs."""

# pyright: basic, reportArgumentType=false, reportDeprecated=false, reportUnnecessaryCast=false

import re
import signal
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from math import inf
from time import thread_time
from typing import Any

from tests.patterns.hostile_texts import HostileText

_LENGTHS = {300: 0.01, 3_000: 0.003}
"""By length of the text, the seconds that are not worth a second look.

A linear pattern needs less for the long text, one that is quadratic more. The short text comes first: what is
cubic takes longer than that for it, and would take a minute for the long one.
"""
_INSTANT = 1.5e-5
"""Seconds for the short text with which even the square of the length is below the limit for the long one."""
_LIMIT = 0.25
"""Seconds after which a run is ended."""
_LINEAR = 2.9
"""Time for twice the text: 2 if it is linear, 4 if it is quadratic."""


class _TooSlowError(Exception):
    pass


def superlinear(
    pattern: "re.Pattern[Any]", method: str, text: HostileText, view: Callable[[str], str]
) -> float:
    """How much longer the pattern takes for twice the text; 0 if it is quick or linear."""
    for length, quick in _LENGTHS.items():
        whole = _seconds(pattern, method, _subject(text, length, view))
        if whole < _INSTANT:
            return 0.0
        if whole < quick:
            continue
        ratios: list[float] = []
        for _ in range(3):  # a machine that is busy for a moment makes one ratio large, not three
            half = _best(pattern, method, _subject(text, length // 2, view))
            whole = _best(pattern, method, _subject(text, length, view))
            # both were ended: so short a text should not take that long
            ratios.append(inf if half >= _LIMIT else whole / max(half, 1e-7))
            if whole < quick or ratios[-1] < _LINEAR:
                break
        else:
            return min(ratios)
    return 0.0


@lru_cache(maxsize=1000)
def _subject(text: HostileText, length: int, view: Callable[[str], str]) -> str:
    """A text as the pattern gets it; most texts are tried with every pattern."""
    return view(text.of_length(length))


def _best(pattern: "re.Pattern[Any]", method: str, text: str) -> float:
    first = _seconds(pattern, method, text)
    return first if first >= _LIMIT else min(first, *(_seconds(pattern, method, text) for _ in range(2)))


def _seconds(pattern: "re.Pattern[Any]", method: str, text: str) -> float:
    """CPU seconds of one run, `_LIMIT` if it takes longer."""
    subject = text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")
    start = thread_time()
    try:
        with _alarm():
            if method == "finditer":
                deque(pattern.finditer(subject), maxlen=0)
            else:
                getattr(pattern, method)(subject)
    except _TooSlowError:
        return _LIMIT
    return min(_LIMIT, thread_time() - start)


@contextmanager
def _alarm() -> Iterator[None]:
    """End a run by a signal, which the regex engine looks for while it works."""

    def stop(*_: object) -> None:
        raise _TooSlowError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
