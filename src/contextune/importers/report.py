"""What became of an import: counts by format and application, and what was skipped, why and where."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from contextune.importers.files import SkippedEntry

EXAMPLES = 5
"""Places that are named for each reason."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """Items of one application out of files of one format."""

    format: str
    app: str
    items: int
    new: int
    changed: int


@dataclass(frozen=True, slots=True)
class SkipReason:
    """Why something was skipped, how often, and some of the places where."""

    why: str
    count: int
    where: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of an import."""

    files: Mapping[str, int]
    """How many there were of each format."""
    size: int
    """Bytes in them."""
    rows: tuple[ReportRow, ...]
    uses: int
    new_uses: int
    contacts: int
    new_contacts: int
    gone: int
    """Items of earlier imports that the files no longer have: meetings moved or called off."""
    skipped: tuple[SkipReason, ...]
    """The most frequent first."""

    @property
    def items(self) -> int:
        """How many items were read, each counted once."""
        return sum(row.items for row in self.rows)

    @property
    def new(self) -> int:
        """How many of them the store did not have."""
        return sum(row.new for row in self.rows)

    @property
    def changed(self) -> int:
        """How many of them the store had, but otherwise."""
        return sum(row.changed for row in self.rows)


class ReportBuilder:
    """A report in the making."""

    def __init__(self) -> None:
        self.uses = self.new_uses = self.contacts = self.new_contacts = self.gone = 0
        self._files: Counter[str] = Counter()
        self._size = 0
        self._read: Counter[tuple[str, str]] = Counter()
        self._new: Counter[tuple[str, str]] = Counter()
        self._changed: Counter[tuple[str, str]] = Counter()
        self._skipped: Counter[str] = Counter()
        self._where: dict[str, list[str]] = {}

    def open(self, name: str, size: int) -> None:
        """A file of this format is read."""
        self._files[name] += 1
        self._size += size

    def read(self, name: str, app: str, *, new: bool, changed: bool) -> None:
        """An item was read for the first time in this import."""
        self._read[name, app] += 1
        self._new[name, app] += new
        self._changed[name, app] += changed

    def skip(self, skipped: SkippedEntry) -> None:
        """Something was not imported."""
        self._skipped[skipped.why] += 1
        where = self._where.setdefault(skipped.why, [])
        if len(where) < EXAMPLES:
            where.append(skipped.where)

    def report(self) -> ImportReport:
        """How it stands."""
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
        )
