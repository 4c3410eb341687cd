"""Import the files of many users: one folder per user, one part per folder."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from contextune.errors import InvalidDataError
from contextune.fleet.opening import WorkerSettings
from contextune.fleet.parts import Handler, Part
from contextune.importers import import_into


def folder_parts(root: Path) -> Iterator[Part]:
    """A part for each folder in `root`, whose name is the id of its user."""
    if not root.is_dir():
        raise InvalidDataError(f"no such folder: {root} (it must hold one folder per user, named by user id)")
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and not path.is_symlink()):
        yield Part(folder.name, {"user": folder.name, "path": str(folder.resolve())})


@dataclass(frozen=True)
class ImportFolders:
    """Imports a user's folder into the store; importing it again changes nothing."""

    settings: WorkerSettings
    now: datetime
    """Recurring events are expanded up to some time after it."""

    def open(self) -> Handler:
        """Open the store."""
        store = self.settings.open_store()

        def handle(payload: Any) -> bytes:
            report = import_into(store, payload["user"], [Path(payload["path"])], now=self.now)
            counts = {
                "users": 1,
                "items": report.items,
                "uses": report.uses,
                "contacts": report.contacts,
                "skipped": sum(reason.count for reason in report.skipped),
            }
            return json.dumps(counts).encode()

        return handle


def total_counts(contents: Iterable[bytes]) -> Counter[str]:
    """The sums of the counts that parts return."""
    total: Counter[str] = Counter()
    for content in contents:
        total.update(json.loads(content))
    return total
