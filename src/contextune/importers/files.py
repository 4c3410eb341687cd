"""Files to read, wherever they lie: by themselves, in folders, in archives that are not unpacked."""

import io
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Container, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, cast

from contextune.errors import InvalidDataError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

HEAD = 8192
_TAR = (".tgz", ".tar.gz", ".tar")
_NESTED = "an archive within an archive: unpack it first"
MOST_WHOLE = 256 * 2**20
"""Bytes of a file that is read in one piece; formats that grow larger are read in parts."""


@dataclass(frozen=True, slots=True)
class SkippedEntry:
    """Something that was not imported: where it stands, and why in a few words that many may share.

    `why` holds no text out of the file, so that it may be counted and shown.
    """

    where: str
    why: str


class SourceFile:
    """One file, on disk or in an archive."""

    def __init__(
        self,
        where: str,
        path: PurePosixPath,
        size: int,
        open_: Callable[[], BinaryIO],
        modified: datetime,
        disk: Path | None = None,
        head: bytes | None = None,
    ) -> None:
        self.where = where
        """What to call it in a report."""
        self.path = path
        """Its path from the folder or archive that was named: that one's name first."""
        self.size = size
        self.modified = modified
        """When it was last written."""
        self.identity = str(disk) if disk else str(PurePosixPath(*path.parts[1:]))
        """What stays the same from one import to the next; an archive made anew may have another name."""
        self._open = open_
        self._disk = disk
        self._stream: BinaryIO | None = None
        if head is not None:
            self.head = head

    @property
    def name(self) -> str:
        """Its name without folders."""
        return self.path.name

    @property
    def suffix(self) -> str:
        """How its name ends, in small letters: .ics, .json."""
        return self.path.suffix.lower()

    @property
    def folder(self) -> str:
        """The name of the folder it lies in."""
        if len(self.path.parts) > 1:
            return self.path.parts[-2]
        return self._disk.parent.name if self._disk else ""

    @cached_property
    def head(self) -> bytes:
        """Its first kilobytes."""
        with self._open() as stream:
            return stream.read(HEAD)

    @cached_property
    def start(self) -> str:
        """Its first kilobytes as text, whatever it holds."""
        for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
            if self.head.startswith(mark):
                return self.head[2:].decode(encoding, "replace")
        return self.head.decode("utf-8-sig", "replace")

    def says(self, words: str) -> bool:
        """Whether these words stand in its first kilobytes, in large letters or small."""
        # as bytes, of which letters beyond ASCII are left alone: each file is held against many formats
        return words.upper().encode() in self.start.encode("utf-8", "replace").upper()

    def open(self) -> BinaryIO:
        """Its bytes from the beginning, in a stream to be closed."""
        self._stream = self._open()
        return self._stream

    def whole(self, most: int = MOST_WHOLE) -> bytes:
        """All its bytes, or an error where there are too many."""
        with self.open() as stream:
            content = stream.read(most + 1)  # an archive may lie about the size
        if len(content) > most:
            raise InvalidDataError(f"larger than {most // 2**20} MB: not read")
        return content

    @contextmanager
    def on_disk(self) -> Generator[Path]:
        """A copy of it in a folder of its own, for libraries that want a path and may write beside it."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy"
            with self.open() as stream, copy.open("wb") as target:
                shutil.copyfileobj(stream, target, 2**20)
            yield copy

    @property
    def beside(self) -> Path | None:
        """Where it lies on disk, so that what belongs to it can be looked for beside it."""
        return self._disk

    @property
    def done(self) -> int:
        """How many of its bytes have been read since it was last opened."""
        if self._stream is None:
            return 0
        return self.size if self._stream.closed else self._stream.tell()


def files_in(
    paths: Iterable[Path], only: Container[Path] | None = None
) -> Iterator[SourceFile | SkippedEntry]:
    """The files that are meant, folders and archives looked into, in the order of their names.

    With `only`, those files and archives on disk alone, by their whole paths.
    """
    for given in paths:
        path = Path(os.path.realpath(given))  # to which a loop of links is no error
        if not path.exists():
            raise InvalidDataError(f"{given}: no such file or folder")
        root = PurePosixPath(path.name or "files")
        yield from _folder(path, root, only) if path.is_dir() else _file(path, root, only)


def _folder(
    folder: Path, inside: PurePosixPath, only: Container[Path] | None
) -> Iterator[SourceFile | SkippedEntry]:
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        yield SkippedEntry(str(folder), f"cannot be read: {error.strerror}")
        return
    for entry in listed:
        path, name = Path(entry.path), inside / entry.name
        if entry.name.startswith(".") and not _is_mail_folder(entry):
            yield SkippedEntry(entry.path, "hidden")
        elif entry.is_symlink() and not path.is_file():
            yield SkippedEntry(entry.path, "a link to elsewhere")  # which may lead back here
        elif entry.is_dir():
            yield from _folder(path, name, only)
        else:
            yield from _file(path, name, only)


def _is_mail_folder(entry: os.DirEntry[str]) -> bool:
    """Maildir++ calls its folders .Sent and .Work.Invoices."""
    return entry.is_dir() and Path(entry.path, "cur").is_dir()


def _file(
    path: Path, inside: PurePosixPath, only: Container[Path] | None
) -> Iterator[SourceFile | SkippedEntry]:
    if only is not None and path not in only:
        return
    try:
        status = path.stat()
    except OSError as error:
        yield SkippedEntry(str(path), f"cannot be read: {error.strerror}")
        return
    if not path.is_file():
        yield SkippedEntry(str(path), "no plain file")  # reading a pipe would wait for ever
    elif path.suffix.lower() == ".zip":
        yield from _zip(path)
    elif path.name.lower().endswith(_TAR):
        yield from _tar(path)
    else:
        modified = datetime.fromtimestamp(status.st_mtime, UTC)
        yield SourceFile(str(path), inside, status.st_size, lambda: path.open("rb"), modified, path)


def _zip(path: Path) -> Iterator[SourceFile | SkippedEntry]:
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile):
        yield SkippedEntry(str(path), "no readable archive")
        return
    with archive:
        for entry in sorted(archive.infolist(), key=lambda entry: entry.filename):
            if entry.is_dir():
                continue
            where = f"{path}: {entry.filename}"
            if entry.flag_bits & 1:
                yield SkippedEntry(where, "encrypted: unpack it first")
            elif entry.filename.lower().endswith((".zip", *_TAR)):
                yield SkippedEntry(where, _NESTED)
            else:
                yield _zipped(archive, entry, where, path.stem)


def _zipped(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, where: str, root: str) -> SourceFile:
    try:
        modified = datetime(*entry.date_time)  # a wall clock, of whoever made the archive
    except ValueError:
        modified = datetime(1980, 1, 1)  # where time begins in archives
    opened = cast("Callable[[], BinaryIO]", lambda: archive.open(entry))
    parts = PurePosixPath(entry.filename).parts
    return SourceFile(where, PurePosixPath(root, *parts), entry.file_size, opened, modified)


def _tar(path: Path) -> Iterator[SourceFile | SkippedEntry]:
    """The files of a packed stream, each to be read before the next: going back would unpack it anew."""
    try:
        with tarfile.open(path) as archive:
            for entry in archive:
                where = f"{path}: {entry.name}"
                if entry.name.lower().endswith((".zip", *_TAR)):
                    yield SkippedEntry(where, _NESTED)
                elif entry.isfile():
                    yield _packed(archive, entry, where, path.name.partition(".")[0])
                elif not entry.isdir():
                    yield SkippedEntry(where, "no plain file")
    except (OSError, EOFError, tarfile.TarError, zlib.error):
        yield SkippedEntry(str(path), "no readable archive, or one that is cut off")


def _packed(archive: tarfile.TarFile, entry: tarfile.TarInfo, where: str, root: str) -> SourceFile:
    def source() -> BinaryIO:
        return cast("BinaryIO", archive.extractfile(entry))

    first = source()
    head = first.read(HEAD)
    unread = [cast("BinaryIO", io.BufferedReader(_PeekedStream(head, first)))]
    modified = datetime.fromtimestamp(entry.mtime, UTC)
    path = PurePosixPath(root, *PurePosixPath(entry.name).parts)
    return SourceFile(
        where, path, entry.size, lambda: unread.pop() if unread else source(), modified, head=head
    )


class _PeekedStream(io.RawIOBase):
    """A packed file whose first bytes have been read: they are not unpacked a second time."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest
        self._position = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """How much has been read."""
        return self._position

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """The next bytes."""
        view = memoryview(buffer).cast("B")
        left = self._head[self._position : self._position + len(view)]
        content = left or self._rest.read(len(view))
        view[: len(content)] = content
        self._position += len(content)
        return len(content)
