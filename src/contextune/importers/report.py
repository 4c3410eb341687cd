"""Report of an import: counts by format and application, and what was skipped, why and where."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from contextune.importers.files import SkippedEntry
from contextune.types import Item, UnreadTime
from contextune.types.time_text import UnreadTimes

MAX_EXAMPLES = 5
"""Locations listed per reason."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """Item counts of one format and application."""

    format: str
    app: str
    items: int
    new: int
    changed: int


@dataclass(frozen=True, slots=True)
class SkipReason:
    """Why entries were skipped, how many, and the locations of some of them."""

    why: str
    count: int
    where: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import."""

    files: Mapping[str, int]
    """Number of files by format."""
    size: int
    """Bytes of all files."""
    rows: tuple[ReportRow, ...]
    uses: int
    new_uses: int
    contacts: int
    new_contacts: int
    gone: int
    """Deleted items of earlier imports: events that were moved or cancelled."""
    skipped: tuple[SkipReason, ...]
    """Most frequent first."""
    missing_extras: tuple[str, ...] = ()
    """What to install to read files that were skipped."""
    unread_times: tuple[UnreadTime, ...] = ()
    """Fields of imported items that are named like a time and cannot be read as one."""
    later: int = 0
    """Items made after the moment of the import: mails, calls and plays of the future, which are kept."""

    @property
    def items(self) -> int:
        """Number of distinct items read."""
        return sum(row.items for row in self.rows)

    @property
    def new(self) -> int:
        """Number of items that the store did not have."""
        return sum(row.new for row in self.rows)

    @property
    def changed(self) -> int:
        """Number of items that changed in the store."""
        return sum(row.changed for row in self.rows)


class ReportBuilder:
    """Collects the counts of an import."""

    def __init__(self, on_skip: Callable[[SkippedEntry], None] | None = None) -> None:
        self._on_skip = on_skip
        self._missing_extras: dict[str, None] = {}
        self.uses = self.new_uses = self.contacts = self.new_contacts = self.gone = 0
        self._files: Counter[str] = Counter()
        self._size = 0
        self._read: Counter[tuple[str, str]] = Counter()
        self._new: Counter[tuple[str, str]] = Counter()
        self._changed: Counter[tuple[str, str]] = Counter()
        self._skipped: Counter[str] = Counter()
        self._where: dict[str, list[str]] = {}
        self._unread_times = UnreadTimes()
        self._later: set[str] = set()

    def add_file(self, name: str, size: int) -> None:
        """Count a file of this format."""
        self._files[name] += 1
        self._size += size

    def add_item(self, name: str, app: str, *, new: bool, changed: bool) -> None:
        """Count an item, when it is read for the first time in this import."""
        self._read[name, app] += 1
        self._new[name, app] += new
        self._changed[name, app] += changed

    def add_later(self, item: Item) -> None:
        """Count an item that was made after the moment of the import."""
        self._later.add(item.id)

    def add_unread_times(self, item: Item) -> None:
        """Count the fields of a new or changed item that are named like a time and cannot be read as one."""
        self._unread_times.add(item)

    def add_skipped(self, skipped: SkippedEntry) -> None:
        """Count an entry that was not imported."""
        self._skipped[skipped.why] += 1
        where = self._where.setdefault(skipped.why, [])
        if len(where) < MAX_EXAMPLES:
            where.append(skipped.where)
        if self._on_skip:
            self._on_skip(skipped)

    def add_missing_extra(self, skipped: SkippedEntry) -> None:
        """Count a file that cannot be read without an optional dependency, which `why` names."""
        self._missing_extras[skipped.why] = None
        self.add_skipped(skipped)

    def build(self) -> ImportReport:
        """The report so far."""
        return ImportReport(
            files=dict(self._files),
            size=self._size,
            rows=tuple(
                ReportRow(*key, count, self._new[key], self._changed[key])
                for key, count in sorted(self._read.items())
            ),
            uses=self.uses,
            new_uses=self.new_uses,
            contacts=self.contacts,
            new_contacts=self.new_contacts,
            gone=self.gone,
            skipped=tuple(
                SkipReason(why, count, tuple(self._where[why])) for why, count in self._skipped.most_common()
            ),
            missing_extras=tuple(self._missing_extras),
            unread_times=self._unread_times.all(),
            later=len(self._later),
        )
