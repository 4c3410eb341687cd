"""Find damage in a write-ahead log, which SQLite takes for the end of the log.

After a damaged frame SQLite ignores all later ones, so that committed changes are lost without an error.
Frames form a chain: the checksum of each continues that of the one before. A frame that breaks the chain is
the normal end of a log, left by an interrupted write, unless a later transaction continues it: that one is
written only when the one before is on the disk (sqlite.org/fileformat2.html).
"""

import sys
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_HEADER, _FRAME_HEADER = 32, 24
PAGE_SIZE = 8192
"""Of all files that Contextune creates."""
_ATTEMPTS = 4
_BATCH = 1000
"""Frames that are read at once."""

_Words = NDArray[np.uint32]


class _Log(NamedTuple):
    """The header of a log, and fields of all its frames, by number."""

    has_sound_header: bool
    salts: _Words
    """Of the header, and of each frame: two numbers that all frames since the last reset share."""
    frame_salts: _Words
    sizes: _Words
    """Pages of the file after this frame, for the last frame of a transaction; 0 for others."""
    continues: NDArray[np.bool_]
    """Whether its checksum continues the one stored in the frame before."""


def lost_commits(path: Path) -> int:
    """Number of transactions in the log after a damaged one; 0 for a sound log."""
    # A frame that is being written looks damaged, as does a log that is being reset: read it again.
    for _ in range(_ATTEMPTS):
        try:
            log = _read(path)
        except FileNotFoundError:
            return 0
        lost = _lost_commits(log) if log else 0
        if not lost:
            return 0
    return lost  # pyright: ignore[reportPossiblyUnboundVariable]  # there is an attempt


def _lost_commits(log: _Log) -> int:
    salts = log.salts if log.has_sound_header else log.frame_salts[-1]
    sound = (log.frame_salts == salts).all(axis=1) & log.continues
    commits = log.sizes > 0
    if not log.has_sound_header:
        return int(np.count_nonzero(sound & commits))
    if sound.all():
        return 0
    end = int(np.argmin(sound))
    # a transaction that a loss of power interrupts can have its last frame and lack others
    own = np.flatnonzero(commits[end:])[:1]
    return int(np.count_nonzero((sound & commits)[end + int(own[0]) + 1 :])) if own.size else 0


def _read(path: Path) -> _Log | None:
    # No lock is lost by closing the log: SQLite locks only the file and its shared memory.
    with path.open("rb") as file:
        head = file.read(_HEADER)
        if len(head) < _HEADER:
            return None
        header = np.frombuffer(head, ">u4").astype(np.uint32)
        order = ">u4" if header[0] & 1 else "<u4"
        words = np.frombuffer(head[:24], order).astype(np.uint32)
        is_sound = bool((words @ _weights(6).words == header[6:]).all())
        if not is_sound:
            order = "<u4" if sys.byteorder == "little" else ">u4"
        page = int(header[2]) if is_sound else PAGE_SIZE
        weights = _weights((page + 8) // 4)
        parts: list[tuple[_Words, _Words, NDArray[np.bool_]]] = []
        before = header[6:8][None]
        while batch := file.read(_BATCH * (_FRAME_HEADER + page)):
            count = len(batch) // (_FRAME_HEADER + page)
            if not count:
                break
            frames = np.frombuffer(batch[: count * (_FRAME_HEADER + page)], np.uint8).reshape(count, -1)
            heads = np.ascontiguousarray(frames[:, :_FRAME_HEADER]).view(">u4").astype(np.uint32)
            data = np.concatenate([frames[:, :8], frames[:, _FRAME_HEADER:]], axis=1).view(order)
            stored = heads[:, 4:6]
            previous = np.concatenate([before, stored[:-1]])
            expected = data.astype(np.uint32) @ weights.words + previous @ weights.previous
            parts.append((heads[:, 2:4], heads[:, 1], (expected == stored).all(axis=1)))
            before = stored[-1:]
        file.seek(0)
        if not parts or file.read(_HEADER) != head:
            return None
    salts, sizes, continues = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Log(is_sound, header[4:6], salts, sizes, continues)


class _Weights(NamedTuple):
    """The checksum as a linear function modulo 2**32."""

    words: _Words
    previous: _Words


@lru_cache(maxsize=4)
def _weights(words: int) -> _Weights:
    """Weights of the checksum s0 += x[i] + s1; s1 += x[i+1] + s0, for a number of words."""
    steps = words // 2
    coefficients = np.zeros((words, 2), np.uint32)
    # what remains of s0 and s1 after the steps that follow: [s0, s1] -> [s0 + s1, s0 + 2 * s1]
    first, second = (1, 0), (0, 1)
    for step in range(steps - 1, -1, -1):
        # x[2i] is added to s0 and so to s1; x[2i+1] to s1 only
        coefficients[2 * step] = [(a + b) % 2**32 for a, b in zip(first, second, strict=True)]
        coefficients[2 * step + 1] = second
        first, second = (
            tuple((a + b) % 2**32 for a, b in zip(first, second, strict=True)),
            tuple((a + 2 * b) % 2**32 for a, b in zip(first, second, strict=True)),
        )
    return _Weights(coefficients, np.array([first, second], np.uint32))
