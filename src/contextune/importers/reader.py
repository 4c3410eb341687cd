"""What every reader of people's files shares: what it is given, what it may find, and how that is named.

A format is one module with one reader; `readers.READERS` lists them, `importing.import_into` runs them.
A reader yields what it finds as it goes and keeps no more than it must: files may be larger than memory.
What it cannot read it yields as `SkippedEntry`. Text out of a file is data: nothing in it is ever followed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import blake2b
from typing import Protocol, TypeVar

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.types import Contact, Item, UsageEvent, User, local_time

Part = TypeVar("Part")
MOST_TEXT = 10_000
"""Characters kept of one mail or note: more is seldom read, and would make every search slower."""


@dataclass(frozen=True)
class ImportContext:
    """What a reader has to know of the user: who they are, and when now is."""

    user: User
    now: datetime

    @cached_property
    def addresses(self) -> frozenset[str]:
        """The user's own mail addresses, as their profile has them under `email`: one, or a list."""
        given = self.user.profile.get("email") or ()
        found: tuple[object, ...] = (given,) if isinstance(given, str) else tuple(given)
        return frozenset(str(address).casefold() for address in found)

    @property
    def name(self) -> str:
        """What the user is called, or nothing."""
        return str(self.user.profile.get("name") or "")

    def clock(self, time: datetime) -> datetime:
        """A time on the user's wall clock."""
        return local_time(time, self.user.zone)


@dataclass(frozen=True, slots=True)
class ReplacedSeries:
    """The item of this id, and all those called `id-…`, have been read anew, from `since` on.

    What an earlier import knew of them and this one does not has been moved or called off, and goes.
    """

    id: str
    since: datetime


Found = Item | UsageEvent | Contact | ReplacedSeries | SkippedEntry


class Reader(Protocol):
    """One format people's files have."""

    @property
    def name(self) -> str:
        """What it is called on the command line, such as mbox."""
        ...

    @property
    def apps(self) -> tuple[str, ...]:
        """The applications its items belong to; "Contacts" for entries of the address book."""
        ...

    def reads(self, file: SourceFile, /) -> bool:
        """Whether a file is of this format, by its name and its first kilobytes."""
        ...

    def read(self, file: SourceFile, about: ImportContext, /) -> Iterator[Found]:
        """What the file holds.

        An item's id is made from what the source calls it (`item_id`), so that reading again changes
        nothing. Where an item is yielded twice the one made later counts, and of two made at the same
        moment the first. A use may come before its item.
        """
        ...


UNFORESEEN = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What libraries raise over data nobody foresaw."""


def each(
    parts: Iterable[Part], read: Callable[[Part], Iterable[Found]], where: Callable[[Part], str]
) -> Iterator[Found]:
    """All that is read out of parts of a file; one that cannot be made out does not end the others."""
    for part in parts:
        try:
            found = list(read(part))
        except UNFORESEEN as error:
            found = [SkippedEntry(where(part), f"cannot be made out ({type(error).__name__})")]
        yield from found


def item_id(kind: str, *source: object) -> str:
    """A name that the same thing has in every import: a word for what it is, and a digest of its source."""
    text = "\x1f".join(map(str, source))
    return f"{kind}-{blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=10).hexdigest()}"


def instant(seconds: float) -> str:
    """Seconds since 1970 as an item's time."""
    return iso(datetime.fromtimestamp(seconds, UTC))


def iso(time: datetime) -> str:
    """A time as items have it: to the second, with its offset if it has one."""
    return time.isoformat(timespec="seconds" if time.second else "minutes")


def shortened(text: str, most: int = MOST_TEXT) -> str:
    """As much of a text as is kept, cut between two words."""
    if len(text) <= most:
        return text
    cut = text[:most]
    return f"{cut[: max(cut.rfind(' '), cut.rfind(chr(10))) if ' ' in cut[most // 2 :] else most].rstrip()} …"
