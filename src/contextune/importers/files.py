"""Iterate over files on disk, in folders and in archives, as streams."""

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
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast

from contextune.errors import InvalidDataError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Entry = TypeVar("Entry")
HEAD = 8192
_TAR = (".tgz", ".tar.gz", ".tar")
_NESTED = "nested archive: unpack it first"
MAX_WHOLE = 256 * 2**20
"""Bytes of a file that is read at once; larger formats are streamed."""


@dataclass(frozen=True, slots=True)
class SkippedEntry:
    """An entry that was not imported: its location and the reason.

    `why` contains no text from the file, so that reasons can be counted and shown.
    """

    where: str
    why: str


class SourceFile:
    """A file on disk or in an archive."""

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
        """Its name in reports."""
        self.path = path
        """Its path, starting with the name of the folder or archive that is imported."""
        self.size = size
        self.modified = modified
        """When it was last modified."""
        self.identity = str(disk) if disk else str(PurePosixPath(*path.parts[1:]))
        """The same in every import, even if the archive has another name."""
        self._open = open_
        self._disk = disk
        self._stream: BinaryIO | None = None
        self._share: float | None = None
        if head is not None:
            self.head = head

    @property
    def name(self) -> str:
        """The file name without folders."""
        return self.path.name

    @property
    def suffix(self) -> str:
        """The file name extension in lower case: .ics, .json."""
        return self.path.suffix.lower()

    @property
    def folder(self) -> str:
        """The name of its folder."""
        if len(self.path.parts) > 1:
            return self.path.parts[-2]
        return self._disk.parent.name if self._disk else ""

    @cached_property
    def head(self) -> bytes:
        """The first 8 KB."""
        with self._open() as stream:
            return stream.read(HEAD)

    @cached_property
    def start(self) -> str:
        """The first 8 KB as text, even if it is a binary file."""
        for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
            if self.head.startswith(mark):
                return self.head[2:].decode(encoding, "replace")
        return self.head.decode("utf-8-sig", "replace")

    def contains(self, text: str) -> bool:
        """Whether the first 8 KB contain this text, ignoring the case of ASCII letters."""
        # bytes.upper is fast, and each file is checked against many formats
        return text.upper().encode() in self.start.encode("utf-8", "replace").upper()

    def open(self) -> BinaryIO:
        """Open a stream of its bytes; the caller closes it."""
        self._stream = self._open()
        return self._stream

    def read_all(self, limit: int = MAX_WHOLE) -> bytes:
        """All its bytes; raises `InvalidDataError` if there are more than `limit`."""
        with self.open() as stream:
            content = stream.read(limit + 1)  # the size in an archive may be wrong
        if len(content) > limit:
            raise InvalidDataError(f"larger than {limit // 2**20} MB: not read")
        return content

    @contextmanager
    def on_disk(self) -> Generator[Path]:
        """A temporary copy in a folder of its own, for libraries that need a path and may write beside it."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy"
            with self.open() as stream, copy.open("wb") as target:
                shutil.copyfileobj(stream, target, 2**20)
            yield copy

    @property
    def disk_path(self) -> Path | None:
        """Its path on disk, to find files that belong to it; None in an archive."""
        return self._disk

    def counted(self, entries: Iterable[Entry], total: int) -> Iterator[Entry]:
        """The entries; `bytes_read` follows their number, in a file that is not read from start to end."""
        for number, entry in enumerate(entries, 1):
            yield entry
            self._share = min(1.0, number / max(1, total))

    @property
    def bytes_read(self) -> int:
        """Number of bytes read since it was last opened, for progress."""
        if self._share is not None:
            return int(self.size * self._share)
        if self._stream is None:
            return 0
        return self.size if self._stream.closed else self._stream.tell()


def iter_files(
    paths: Iterable[Path], only: Container[Path] | None = None, *, follow_links: bool = False
) -> Iterator[SourceFile | SkippedEntry]:
    """The files at these paths, including those in folders and archives, sorted by name.

    `only` restricts them to these files and archives, given by their absolute paths. Symbolic links in
    folders are skipped, unless `follow_links` is set and they lead to a file. A path that is a link itself is
    followed.
    """
    for source in paths:
        path = Path(os.path.realpath(source))  # no error for a loop of links
        if not path.exists():
            raise InvalidDataError(f"{source}: no such file or folder")
        root = PurePosixPath(path.name or "files")
        yield from _folder(path, root, only, follow_links) if path.is_dir() else _file(path, root, only)


def _folder(
    folder: Path, virtual_path: PurePosixPath, only: Container[Path] | None, follow_links: bool
) -> Iterator[SourceFile | SkippedEntry]:
    try:
        with os.scandir(folder) as entries:
            sorted_entries = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        yield SkippedEntry(str(folder), f"cannot be read: {error.strerror}")
        return
    for entry in sorted_entries:
        path, name = Path(entry.path), virtual_path / entry.name
        if entry.name.startswith(".") and not _is_mail_folder(entry):
            yield SkippedEntry(entry.path, "hidden")
        elif entry.is_symlink() and not path.is_file():
            yield SkippedEntry(entry.path, "symbolic link")  # may be a loop
        elif entry.is_symlink() and not follow_links:
            yield SkippedEntry(entry.path, "symbolic link to a file: import it with --follow-links")
        elif entry.is_dir():
            yield from _folder(path, name, only, follow_links)
        else:
            yield from _file(path, name, only, follow_links)


def _is_mail_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is a Maildir++ folder, such as .Sent or .Work.Invoices."""
    return entry.is_dir() and Path(entry.path, "cur").is_dir()


def _file(
    path: Path, virtual_path: PurePosixPath, only: Container[Path] | None, follow_links: bool = False
) -> Iterator[SourceFile | SkippedEntry]:
    if only is not None and path not in only:
        return
    try:
        status = path.stat()
    except OSError as error:
        yield SkippedEntry(str(path), f"cannot be read: {error.strerror}")
        return
    if not path.is_file():
        yield SkippedEntry(str(path), "not a regular file")  # reading a pipe would block
    elif path.suffix.lower() == ".zip":
        yield from _zip(path)
    elif path.name.lower().endswith(_TAR):
        yield from _tar(path)
    else:
        modified = datetime.fromtimestamp(status.st_mtime, UTC)
        opened = partial(_open, path, follow_links)
        yield SourceFile(str(path), virtual_path, status.st_size, opened, modified, path)


def _open(path: Path, follow_links: bool) -> BinaryIO:
    """Open a file; fails if it has been replaced by a link since the folder was listed."""
    return open(path, "rb", opener=None if follow_links else _open_no_link)


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))  # not on Windows


def _zip(path: Path) -> Iterator[SourceFile | SkippedEntry]:
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile):
        yield SkippedEntry(str(path), "unreadable archive")
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
                yield _zip_entry(archive, entry, where, path.stem)


def _zip_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, where: str, root: str) -> SourceFile:
    try:
        modified = datetime(*entry.date_time)  # a wall clock, of whoever made the archive
    except ValueError:
        modified = datetime(1980, 1, 1)  # the earliest date in a zip archive
    open_entry = cast("Callable[[], BinaryIO]", lambda: archive.open(entry))
    parts = PurePosixPath(entry.filename).parts
    return SourceFile(where, PurePosixPath(root, *parts), entry.file_size, open_entry, modified)


def _tar(path: Path) -> Iterator[SourceFile | SkippedEntry]:
    """The files of a tar archive. Read each before the next: going back decompresses from the start."""
    try:
        with tarfile.open(path) as archive:
            for entry in archive:
                where = f"{path}: {entry.name}"
                if entry.name.lower().endswith((".zip", *_TAR)):
                    yield SkippedEntry(where, _NESTED)
                elif entry.isfile():
                    yield _tar_entry(archive, entry, where, path.name.partition(".")[0])
                elif not entry.isdir():
                    yield SkippedEntry(where, "not a regular file")
    except (OSError, EOFError, tarfile.TarError, zlib.error):
        yield SkippedEntry(str(path), "unreadable or truncated archive")


def _tar_entry(archive: tarfile.TarFile, entry: tarfile.TarInfo, where: str, root: str) -> SourceFile:
    def open_stream() -> BinaryIO:
        return cast("BinaryIO", archive.extractfile(entry))

    stream = open_stream()
    head = stream.read(HEAD)
    first_open = [cast("BinaryIO", io.BufferedReader(_PeekedStream(head, stream)))]
    modified = datetime.fromtimestamp(entry.mtime, UTC)
    path = PurePosixPath(root, *PurePosixPath(entry.name).parts)
    return SourceFile(
        where,
        path,
        entry.size,
        lambda: first_open.pop() if first_open else open_stream(),
        modified,
        head=head,
    )


class _PeekedStream(io.RawIOBase):
    """A stream whose first bytes were read already, to avoid decompressing them again."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest
        self._position = 0

    def readable(self) -> bool:
        """Always true."""
        return True

    def tell(self) -> int:
        """Number of bytes read."""
        return self._position

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Read the next bytes."""
        view = memoryview(buffer).cast("B")
        buffered = self._head[self._position : self._position + len(view)]
        content = buffered or self._rest.read(len(view))
        view[: len(content)] = content
        self._position += len(content)
        return len(content)
