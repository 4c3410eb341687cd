"""The checksum of a file."""

from hashlib import file_digest
from pathlib import Path


def file_checksum(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as content:
        return file_digest(content, "sha256").hexdigest()
