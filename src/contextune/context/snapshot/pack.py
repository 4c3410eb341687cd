"""Strings and lists of numbers as arrays."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.store.snapshots import Sections


def pack_strings(name: str, strings: Sequence[str]) -> Sections:
    """The characters of all strings, and where each string ends."""
    text = "".join(strings).encode("utf-8", "surrogatepass")
    ends = np.fromiter(accumulate(map(len, strings)), np.int64, len(strings))
    return {f"{name}.text": np.frombuffer(text, np.uint8), f"{name}.ends": ends}


def unpack_strings(sections: Sections, name: str) -> list[str]:
    """The strings that `pack_strings` packed."""
    text = sections[f"{name}.text"].tobytes().decode("utf-8", "surrogatepass")
    ends = sections[f"{name}.ends"].tolist()
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def pack_bytes(name: str, values: Sequence[bytes]) -> Sections:
    """Like `pack_strings`, for values that are read one by one (`ByteRows`)."""
    ends = np.fromiter(accumulate(map(len, values)), np.int64, len(values))
    return {f"{name}.text": np.frombuffer(b"".join(values), np.uint8), f"{name}.ends": ends}


class ByteRows:
    """What `pack_bytes` packed."""

    def __init__(self, sections: Sections, name: str) -> None:
        self._text: NDArray[np.uint8] = sections[f"{name}.text"]
        self._ends: NDArray[np.int64] = sections[f"{name}.ends"]

    def __getitem__(self, row: int) -> bytes:
        """The bytes of a row."""
        return self._text[self._ends[row - 1] if row else 0 : self._ends[row]].tobytes()


def pack_lists(name: str, lists: Sequence[Sequence[Any]], dtype: type[np.generic]) -> Sections:
    """The numbers of all lists, and where each list ends."""
    return pack_numbers(name, chain.from_iterable(lists), [len(each) for each in lists], dtype)


def pack_numbers(
    name: str, numbers: Iterable[Any], sizes: Sequence[int], dtype: type[np.generic]
) -> Sections:
    """The numbers of lists of these sizes, and where each list ends."""
    ends = np.cumsum(np.array(sizes, np.int64), dtype=np.int64)
    count = int(ends[-1]) if len(ends) else 0
    return {f"{name}.numbers": np.fromiter(numbers, dtype, count), f"{name}.ends": ends}
