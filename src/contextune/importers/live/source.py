"""What a server offers, as files that readers of the importers parse."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath

from contextune.errors import ContextuneError
from contextune.importers.files import HEAD, SourceFile
from contextune.importers.reader import Reader


class SyncError(ContextuneError):
    """A server cannot be reached, refuses the password, or answers with something unusable."""


ResourceKey = tuple[str, str]
"""Collection and resource."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A resource of a server."""

    collection: str
    resource: str
    version: str
    """What changes with its content: an etag; a constant for mails."""
    reader: Reader
    file: SourceFile

    @property
    def key(self) -> ResourceKey:
        """Collection and resource."""
        return self.collection, self.resource


@dataclass(frozen=True, slots=True)
class Batch:
    """Some of the changes of an account. Deletions follow additions: a mail may have been moved."""

    files: tuple[RemoteFile, ...] = ()
    duplicates: Mapping[ResourceKey, str] = field(default_factory=dict[ResourceKey, str])
    """Resources that need not be fetched, with the item that they are."""
    removed: frozenset[ResourceKey] = frozenset()
    marks: Mapping[str, str] | None = None
    """The marks of all collections, when everything was read."""


def remote_file(where: str, path: PurePosixPath, content: bytes, now: datetime) -> SourceFile:
    """The content of a resource as a file."""
    return SourceFile(where, path, len(content), lambda: io.BytesIO(content), now, head=content[:HEAD])


def path_part(name: str) -> str:
    """A name from a server as one part of a path."""
    return name.replace("/", "_").replace("\0", "").strip(". ") or "_"
