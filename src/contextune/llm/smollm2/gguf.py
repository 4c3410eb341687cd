"""Minimal GGUF reader: metadata, and tensors as float32.

Supports only the quantisations in the SmolLM2 file: F32, Q4_1, Q8_0.
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
"""Weights per quantisation block."""


class Gguf:
    """A parsed GGUF file."""

    def __init__(self, content: bytes) -> None:
        reader = _GgufReader(content)
        _, tensors, entries = reader.numbers("IQQ", skip=4)
        self.metadata: Mapping[str, Any] = {
            reader.text(): reader.value(*reader.numbers("I")) for _ in range(entries)
        }
        self._packed: dict[str, _QuantizedBlocks] = {}
        for _ in range(tensors):
            name = reader.text()
            shape = reader.numbers("Q" * reader.numbers("I")[0])[::-1]
            self._packed[name] = _QuantizedBlocks(shape, *reader.numbers("IQ"))
        alignment = int(self.metadata.get("general.alignment", 32))
        self._data = memoryview(content)[-(-reader.offset // alignment) * alignment :]

    def weights(self, name: str) -> Matrix:
        """A dequantised tensor."""
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
                raise ValueError(f"{name} has an unsupported quantisation type: {kind}")
        return flat.reshape(shape)


class _QuantizedBlocks(NamedTuple):
    shape: tuple[int, ...]
    kind: int
    offset: int


class _GgufReader:
    """Sequential reader of GGUF primitives."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.offset = 0

    def numbers(self, kinds: str, *, skip: int = 0) -> tuple[int, ...]:
        self.offset += skip
        values = struct.unpack_from(f"<{kinds}", self._content, self.offset)
        self.offset += struct.calcsize(f"<{kinds}")
        return values

    def text(self) -> str:
        (length,) = self.numbers("Q")
        self.offset += length
        return self._content[self.offset - length : self.offset].decode()

    def value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind == _LIST:
            inner, length = self.numbers("IQ")
            return [self.value(inner) for _ in range(length)]
        return self.numbers(_NUMBERS[kind])[0]


def _column(numbers: NDArray[np.float16]) -> Matrix:
    return numbers.astype(np.float32)[:, None]
