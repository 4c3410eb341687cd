"""Reads a GGUF file: what it says of a model, and the model's weights as float32.

Of the many ways to pack weights, it knows those of the one file it is there for.
"""

import struct
from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
_BLOCK = 32
"""Weights that share a scale."""


class Gguf:
    """A file's content: `about`, by name, and `weights`."""

    def __init__(self, content: bytes) -> None:
        reader = _GgufReader(content)
        _, tensors, facts = reader.numbers("IQQ", skip=4)
        self.about: Mapping[str, Any] = {
            reader.text(): reader.value(*reader.numbers("I")) for _ in range(facts)
        }
        self._packed: dict[str, _QuantizedBlocks] = {}
        for _ in range(tensors):
            name = reader.text()
            shape = reader.numbers("Q" * reader.numbers("I")[0])[::-1]
            self._packed[name] = _QuantizedBlocks(shape, *reader.numbers("IQ"))
        alignment = int(self.about.get("general.alignment", 32))
        self._data = memoryview(content)[-(-reader.place // alignment) * alignment :]

    def weights(self, name: str) -> Matrix:
        """A tensor, unpacked."""
        shape, kind, offset = self._packed[name]
        data = self._data[offset:]
        match kind:
            case 0:
                flat = np.frombuffer(data, np.float32, prod(shape))
            case 3:  # Q4_1: a scale, a shift, and 32 numbers of 4 bits
                fields = np.dtype([("scale", "<f2"), ("shift", "<f2"), ("low", "u1", _BLOCK // 2)])
                blocks = np.frombuffer(data, fields, prod(shape) // _BLOCK)
                numbers = np.concatenate([blocks["low"] & 15, blocks["low"] >> 4], axis=1)
                flat = numbers * _column(blocks["scale"]) + _column(blocks["shift"])
            case 8:  # Q8_0: a scale, and 32 numbers of 8 bits
                fields = np.dtype([("scale", "<f2"), ("numbers", "i1", _BLOCK)])
                blocks = np.frombuffer(data, fields, prod(shape) // _BLOCK)
                flat = blocks["numbers"] * _column(blocks["scale"])
            case _:
                raise ValueError(f"{name} is packed in a way that is not known: {kind}")
        return flat.reshape(shape)


class _QuantizedBlocks(NamedTuple):
    shape: tuple[int, ...]
    kind: int
    offset: int


class _GgufReader:
    """Goes through a file from its beginning."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.place = 0

    def numbers(self, kinds: str, *, skip: int = 0) -> tuple[int, ...]:
        self.place += skip
        found = struct.unpack_from(f"<{kinds}", self._content, self.place)
        self.place += struct.calcsize(f"<{kinds}")
        return found

    def text(self) -> str:
        (length,) = self.numbers("Q")
        self.place += length
        return self._content[self.place - length : self.place].decode()

    def value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind == _LIST:
            inner, length = self.numbers("IQ")
            return [self.value(inner) for _ in range(length)]
        return self.numbers(_NUMBERS[kind])[0]


def _column(numbers: NDArray[np.float16]) -> Matrix:
    return numbers.astype(np.float32)[:, None]
