"""Tell copies, versions and other events of the same UID apart, across the files of an import."""

from collections.abc import Iterable
from enum import Enum, auto
from hashlib import blake2b

Version = tuple[int, str]
"""Sort key that grows with every revision of an event."""
_VOLATILE = ("DTSTAMP", "CREATED", "LAST-MODIFIED", "SEQUENCE", "X-", "BEGIN", "END")
"""Properties that differ between two exports of the same event."""


class Relation(Enum):
    """How an event relates to the one of the same UID that was read before."""

    FIRST = auto()
    COPY = auto()
    OLDER = auto()
    NEWER = auto()
    OTHER = auto()
    """Same version, other content: some programs give one UID to many events."""


class EventVersions:
    """The events of an import by item id, each with its version and digests of its content."""

    def __init__(self) -> None:
        self._events: dict[str, tuple[Version, set[bytes]]] = {}

    def add(self, item: str, version: Version, content: bytes) -> Relation:
        """Record an event, and tell how it relates to earlier ones with this item id."""
        before = self._events.get(item)
        if before is None:
            self._events[item] = version, {content}
            return Relation.FIRST
        newest, contents = before
        if content in contents:
            return Relation.COPY
        if version < newest:
            return Relation.OLDER
        if version > newest:
            self._events[item] = version, {content}
            return Relation.NEWER
        contents.add(content)
        return Relation.OTHER


def content_digest(lines: Iterable[str]) -> bytes:
    """A digest of the content lines of an event, whatever their order, without what each export changes."""
    content = sorted(line for line in lines if not line.upper().startswith(_VOLATILE))
    return blake2b("\n".join(content).encode("utf-8", "surrogatepass"), digest_size=12).digest()
