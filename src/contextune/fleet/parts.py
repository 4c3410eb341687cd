"""Work divided into parts, with retries, a checkpoint and progress; in this process or by other workers."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from contextune.errors import ContextuneError, DamagedStoreError, StoreError
from contextune.fleet.checkpoint import Checkpoint
from contextune.types import Progress

RETRY_WAITS = (0.2, 1.0, 5.0)
"""Seconds to wait before a part is tried again after a store or a file could not be reached."""


class Part(NamedTuple):
    """A unit of work. Working on it twice has the same effect as once."""

    key: str
    """Unique within its run, and the same in every run over the same data."""
    payload: Any
    """JSON that tells a worker what to do."""


class PartResult(NamedTuple):
    """What a worker made of a part."""

    key: str
    content: bytes
    error: str | None = None
    """The name of the exception, if the part failed; its message may hold personal data."""


Handler = Callable[[Any], bytes]
"""Works on the payload of a part; called many times."""


class Work(Protocol):
    """One kind of work. Workers get a pickled copy."""

    def open(self) -> Handler:
        """Load models and open stores, once per worker."""
        ...


Execute = Callable[[Work, Sequence[Part]], Iterator[PartResult]]
"""Work on parts and yield their results, in any order."""


def run_locally(work: Work, parts: Sequence[Part]) -> Iterator[PartResult]:
    """Work on the parts in this process, one after the other."""
    if parts:
        handler = work.open()
        for part in parts:
            yield run_part(handler, part)


def run_part(handler: Handler, part: Part, waits: Sequence[float] = RETRY_WAITS) -> PartResult:
    """Work on one part; after a failure that may pass, try again.

    Expected errors become a failed result. All others are raised: they are bugs.
    """
    for wait in (*waits, None):
        try:
            return PartResult(part.key, handler(part.payload))
        except (ContextuneError, OSError) as error:
            if wait is None or not _may_pass(error):
                return PartResult(part.key, b"", type(error).__name__)
            time.sleep(wait)
    raise AssertionError("unreachable")


def _may_pass(error: Exception) -> bool:
    if isinstance(error, StoreError):
        return not isinstance(error, DamagedStoreError)
    return isinstance(error, OSError) and not isinstance(error, FileNotFoundError | PermissionError)


@dataclass(frozen=True, slots=True)
class RunReport:
    """How a run ended."""

    parts: int
    resumed: int
    """Parts that an earlier run had finished."""
    errors: Counter[str]
    """Failed parts by name of the exception; another run tries them again."""

    @property
    def complete(self) -> bool:
        """Whether all parts are done."""
        return not self.errors


def run_parts(
    work: Work,
    parts: Iterable[Part],
    checkpoint: Checkpoint,
    *,
    execute: Execute = run_locally,
    progress: Progress | None = None,
) -> RunReport:
    """Work on all parts that the checkpoint does not have, and keep their results in it.

    A result that arrives twice, as after the loss of a worker, is kept once.
    """
    all_parts = list(parts)
    done = checkpoint.keys()
    pending = [part for part in all_parts if checkpoint.digest(part.key) not in done]
    resumed = finished = len(all_parts) - len(pending)
    waiting = {part.key for part in pending}
    errors: Counter[str] = Counter()
    if progress:
        progress(finished, len(all_parts))
    for result in execute(work, pending):
        if result.key not in waiting:
            continue
        waiting.remove(result.key)
        if result.error is None:
            checkpoint.put(result.key, result.content)
        else:
            errors[result.error] += 1
        finished += 1
        if progress:
            progress(finished, len(all_parts))
    if waiting:
        raise ContextuneError(f"{len(waiting):,} parts were lost by the workers; run the command again")
    return RunReport(len(all_parts), resumed, errors)
