"""Layout of a snapshot file: a JSON header, then arrays that are used as they are.

    magic (8 bytes) | size of the header (8 bytes) | header | arrays, each at a multiple of 64 bytes

The header names type, shape and offset of each array, and has the CRC-32 of each block of the bytes after it.
Its own digest is kept in the store, so that a file is used only if it is the one that the store knows, and
all its bytes are verified.

The file is read, not mapped into memory: a mapped file could change after it was verified, would end the
process if another program truncated it, and would keep deleted data on the disk.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, Protocol
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from contextune.store.protocol import Store, StoreRevision

_MAGIC = b"CTUNSNP1"
_PREFIX = len(_MAGIC) + 8
_ALIGNMENT = 64
_BLOCK = 2**20
"""Bytes with a checksum of their own: they are verified while they are in the processor's cache."""
_THREADS = 2
_MAX_HEADER = 64 * 2**20
_KINDS = "biuf"
"""Types of arrays that may be in a file: numbers only, never objects."""

Sections = Mapping[str, NDArray[Any]]
"""Arrays by name."""


class SnapshotError(Exception):
    """A snapshot cannot be read or written; the message contains no personal data."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The content of a snapshot file."""

    metadata: Mapping[str, Any]
    sections: Sections


def write_snapshot(file: IO[bytes], metadata: Mapping[str, Any], sections: Sections) -> bytes:
    """Write a file; return the digest of its header."""
    arrays = {name: np.ascontiguousarray(array) for name, array in sections.items()}
    entries: dict[str, tuple[str, list[int], int]] = {}
    offset = 0
    for name, array in arrays.items():
        entries[name] = array.dtype.str, list(array.shape), offset
        offset += _aligned(array.nbytes)
    fields = {
        "metadata": metadata,
        "sections": entries,
        "size": offset,
        "checksums": list(_checksums(_pieces(arrays.values()))),
    }
    header = json.dumps(fields).encode()
    file.write(_MAGIC + len(header).to_bytes(8, "little") + header)
    file.write(bytes(_aligned(file.tell()) - file.tell()))
    for piece in _pieces(arrays.values()):
        file.write(piece)
    return _digest(header)


def read_snapshot(path: Path, digest: bytes) -> Snapshot:
    """Read a file and verify it; raise `SnapshotError` unless it is intact and has this digest."""
    try:
        fields, start = _read_fields(path, digest)
        content = _read_blocks(path, start, fields["size"], fields["checksums"])
    except OSError as error:
        raise SnapshotError("the file cannot be read") from error
    sections: dict[str, NDArray[Any]] = {}
    for name, (kind, shape, offset) in fields["sections"].items():
        dtype = np.dtype(kind)
        if dtype.kind not in _KINDS:
            raise SnapshotError(f"a section has the type {kind!r}")
        end = offset + math.prod(shape) * dtype.itemsize
        sections[name] = content[offset:end].view(dtype).reshape(shape)
    return Snapshot(fields["metadata"], sections)


def check_size(path: Path, digest: bytes) -> None:
    """Raise `SnapshotError` unless the file has this digest and its full size; its content is not read."""
    try:
        fields, start = _read_fields(path, digest)
        _require_size(path, start, fields["size"], fields["checksums"])
    except OSError as error:
        raise SnapshotError("the file cannot be read") from error


def _read_fields(path: Path, digest: bytes) -> tuple[dict[str, Any], int]:
    """The verified header of a file, and where its arrays begin."""
    with path.open("rb") as file:
        header = _read_header(file, digest)
        return json.loads(header), _aligned(file.tell())


def _require_size(path: Path, start: int, size: int, checksums: list[int]) -> None:
    if path.stat().st_size != start + size or len(checksums) != -(-size // _BLOCK):
        raise SnapshotError("the file is truncated or too long")


def _read_header(file: IO[bytes], digest: bytes) -> bytes:
    prefix = file.read(_PREFIX)
    size = int.from_bytes(prefix[len(_MAGIC) :], "little")
    if prefix[: len(_MAGIC)] != _MAGIC or not 0 < size <= _MAX_HEADER:
        raise SnapshotError("the file is not a snapshot")
    header = file.read(size)
    if _digest(header) != digest:
        raise SnapshotError("the store has another snapshot")
    return header


def _read_blocks(path: Path, start: int, size: int, checksums: list[int]) -> NDArray[np.uint8]:
    """Read and verify the bytes after the header, in several threads."""
    _require_size(path, start, size, checksums)
    content = np.empty(size, np.uint8)
    view = content.data

    def read(blocks: range) -> bool:
        with path.open("rb", buffering=0) as file:
            file.seek(start + blocks.start * _BLOCK)
            for block in blocks:
                part = view[block * _BLOCK : (block + 1) * _BLOCK]
                if file.readinto(part) != len(part) or crc32(part) != checksums[block]:
                    return False
        return True

    count = -(-len(checksums) // _THREADS)
    ranges = [
        range(first, min(first + count, len(checksums))) for first in range(0, len(checksums), count or 1)
    ]
    with ThreadPoolExecutor(_THREADS) as pool:
        if not all(pool.map(read, ranges)):
            raise SnapshotError("a block does not match its checksum")
    content.flags.writeable = False
    return content


def _pieces(arrays: Iterable[NDArray[Any]]) -> Iterator[memoryview | bytes]:
    """The bytes of the arrays, each followed by zeros up to the next multiple of the alignment."""
    for array in arrays:
        if array.size:
            yield array.reshape(-1).view(np.uint8).data
            yield bytes(_aligned(array.nbytes) - array.nbytes)


def _checksums(pieces: Iterable[memoryview | bytes]) -> Iterator[int]:
    """The checksum of each block."""
    checksum = filled = 0
    for piece in pieces:
        rest = memoryview(piece)
        while len(rest):
            part = rest[: _BLOCK - filled]
            checksum, filled, rest = crc32(part, checksum), filled + len(part), rest[len(part) :]
            if filled == _BLOCK:
                yield checksum
                checksum = filled = 0
    if filled:
        yield checksum


def _digest(header: bytes) -> bytes:
    return blake2b(header, digest_size=16).digest()


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


class Snapshots(Protocol):
    """Keeps one snapshot per user and model, and erases it with the data it was made from."""

    min_items: int | None
    """Users with fewer items have none: computing again is fast. None: snapshots are not used at all."""

    def load(self, user: str, model: str) -> Snapshot | None:
        """The verified snapshot; None if there is none that can be trusted."""
        ...

    def save(
        self, user: str, model: str, revision: StoreRevision, metadata: Mapping[str, Any], sections: Sections
    ) -> bool:
        """Keep a snapshot; False if items have changed since `revision`, or it cannot be written."""
        ...

    def run(self, user: str, job: Callable[[], None]) -> bool:
        """Call `job` in a thread that closing the store waits for; False if one is running."""
        ...

    def defer(self, user: str, job: Callable[[], None] | None) -> None:
        """Call `job` when the store is closed, in place of an earlier one of the user; None: call nothing."""
        ...

    def wait(self) -> None:
        """Wait until a snapshot that is being written is complete."""
        ...


def snapshots_of(store: Store) -> Snapshots | None:
    """The snapshots of a store; None for a store that does not keep any, such as PostgreSQL."""
    snapshots: Snapshots | None = getattr(store, "snapshots", None)
    return None if snapshots is None or snapshots.min_items is None else snapshots
