"""CurrentRanker: the current version in a folder of rankers, also after another one was made current."""

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from time import monotonic

from contextune.context.ranker import ContextRanker, load_ranker
from contextune.errors import ContextuneError
from contextune.rank.model_versions import FILE_NAME

_PAUSE_S = 1.0
"""Seconds between two looks at the list of versions: one `stat` of a file."""

Report = Callable[[ContextuneError | None], None]
"""Called after another version was loaded, or with the error for which the one in use was kept."""


class CurrentRanker:
    """Returns the current ranker of a folder when it is called. Thread-safe.

    One thread loads a new version, while the others go on with the one before. A version that cannot be
    loaded changes nothing.
    """

    def __init__(self, folder: Path, report: Report = lambda _: None) -> None:
        """Load the current version; raise `RankerError` if it cannot be used."""
        self._file, self._report = folder / FILE_NAME, report
        self._lock = Lock()
        self._state = self._file_state()
        self._ranker = load_ranker(folder)
        self._next = monotonic() + _PAUSE_S

    def __call__(self) -> ContextRanker:
        """The ranker to use for a request."""
        if monotonic() >= self._next and self._lock.acquire(blocking=False):
            try:
                self._look()
            finally:
                self._lock.release()
        return self._ranker

    def _look(self) -> None:
        state = self._file_state()
        if state is not None and state != self._state:
            self._state = state  # before loading: a version that is damaged is tried once
            try:
                self._ranker = load_ranker(self._file.parent)
            except ContextuneError as error:
                self._report(error)
            else:
                self._report(None)
        self._next = monotonic() + _PAUSE_S

    def _file_state(self) -> tuple[int, ...] | None:
        """What changes with the file; None if it cannot be read, or if the folder has no versions."""
        try:
            stat = self._file.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino
