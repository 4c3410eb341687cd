"""Freed memory goes back to the system after `forget`."""

import sys
from pathlib import Path

import pytest

from contextune._internal.caches import return_memory

BLOCKS, SIZE = 40_000, 2_000


def resident_pages() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_freed_blocks_are_returned() -> None:
    before = resident_pages()
    blocks = [bytes(SIZE) + number.to_bytes(4) for number in range(BLOCKS)]
    most = resident_pages()
    kept = blocks[::1000]  # so that the heap cannot just shrink from its end
    del blocks
    return_memory()
    assert len(kept) == BLOCKS / 1000
    assert resident_pages() - before < 0.5 * (most - before)
