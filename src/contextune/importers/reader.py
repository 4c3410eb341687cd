"""`Reader`, the protocol every importer implements, and helpers that readers share.

Each format is one module with one reader; `registry.READERS` lists them and `run.import_into` runs them.
A reader yields records as it reads and holds little in memory, because files may be larger than memory. It
yields whatever it cannot read as `SkippedEntry`. Text from a file is data: nothing in it is ever executed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import blake2b
from typing import Protocol, TypeVar

from contextune.importers.calendar.versions import EventVersions
from contextune.importers.files import SkippedEntry, SourceFile
from contextune.types import Contact, Item, UsageEvent, User, local_time

Entry = TypeVar("Entry")
Values = TypeVar("Values")
MAX_TEXT = 10_000
"""Characters kept of a mail or note. Longer texts are rarely useful and slow down every search."""
_FIRST_YEAR = 1995
_MAX_AHEAD = timedelta(days=5 * 365)
"""How far after the moment of the import a recorded time may be: that clock may be wrong, too."""
NO_TIME = "no valid time"
PARSE_ERRORS = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What parsing libraries raise for malformed data."""
_SMALLEST = 10**11
"""The milliseconds of March 1973, and the seconds of the year 5138."""


@dataclass(frozen=True)
class ImportContext:
    """Whose files are read, and the moment of the import."""

    user: User
    now: datetime
    """The machine's clock, or what `--as-of` says. Recurring events are expanded around it."""
    archived: bool = False
    """Whether archived notes are read, too."""
    attachments: bool = False
    """Whether the text of documents attached to mails is read."""
    events: EventVersions = field(default_factory=EventVersions, init=False, compare=False)
    """The events that were read so far."""
    own_names: set[str] = field(default_factory=set[str], init=False, compare=False)
    """Names under which the user writes in WhatsApp, as chats with one person show them."""
    mailbox_sharers: set[str] = field(default_factory=set[str], init=False, compare=False)
    """Names, in lower case, of other people whose address is one of the user's: a family mailbox."""

    def __post_init__(self) -> None:
        for contact in self.user.contacts:
            self.add_contact(contact)

    def add_contact(self, contact: Contact) -> None:
        """Remember a contact that shares a mailbox with the user."""
        emails = (contact.email, *contact.more.get("emails", ()))
        if any(email and email.casefold() in self.addresses for email in emails):
            self.mailbox_sharers.add(contact.name.casefold())

    @cached_property
    def addresses(self) -> frozenset[str]:
        """The user's mail addresses in lower case."""
        return self.user.addresses

    @property
    def name(self) -> str:
        """The user's name, or an empty string."""
        return str(self.user.profile.get("name") or "")

    def to_local(self, time: datetime) -> datetime:
        """The time on the user's clock, without a zone."""
        return local_time(time, self.user.zone)


@dataclass(frozen=True, slots=True)
class ReplacedSeries:
    """The item with this id and all items called `id-…` from `since` on were read completely.

    Items of an earlier import that are missing in this one were moved or cancelled, and are deleted. The
    record precedes its items. A second one with the same id is a newer version, and its items replace the
    others.
    """

    id: str
    since: datetime


ImportRecord = Item | UsageEvent | Contact | ReplacedSeries | SkippedEntry


class Reader(Protocol):
    """Reads one file format."""

    @property
    def name(self) -> str:
        """Its name on the command line, such as mbox."""
        ...

    @property
    def apps(self) -> tuple[str, ...]:
        """The applications of its items; "Contacts" for contacts."""
        ...

    def can_read(self, file: SourceFile, /) -> bool:
        """Whether the file has this format, judged by its name and its first kilobytes."""
        ...

    def read(self, file: SourceFile, context: ImportContext, /) -> Iterator[ImportRecord]:
        """The records in the file.

        Item ids derive from the ids in the source (`item_id`), so that importing again changes nothing. If an
        item is yielded twice, the later made one wins; of two made at the same time, the first. A usage event
        may precede its item.
        """
        ...


def read_file(reader: Reader, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
    """The records that the reader finds in the file; if there are none, a skipped entry that says so."""
    is_empty = True
    for record in reader.read(file, context):
        is_empty = False
        yield record
    if is_empty:
        yield SkippedEntry(file.where, "no entries in the file")


def read_each(
    entries: Iterable[Entry], read: Callable[[Entry], Iterable[ImportRecord]], where: Callable[[Entry], str]
) -> Iterator[ImportRecord]:
    """The records of every entry; an entry that fails to parse is skipped and does not affect the others."""
    for entry in entries:
        try:
            records = list(read(entry))
        except PARSE_ERRORS as error:
            records = [SkippedEntry(where(entry), f"cannot be parsed ({type(error).__name__})")]
        yield from records


def read_values(
    entries: Iterable[tuple[int, Values | None]],
    read: Callable[[Values, str], Iterable[ImportRecord]],
    where: str,
    broken: str = "broken or truncated entry",
) -> Iterator[ImportRecord]:
    """As `read_each`, for numbered entries; those without values are skipped as `broken`.

    `read` is called with the values and the place of an entry: `where` and its number.
    """

    def place(entry: tuple[int, Values | None]) -> str:
        return f"{where} {entry[0]}"

    def records(entry: tuple[int, Values | None]) -> Iterable[ImportRecord]:
        values = entry[1]
        return [SkippedEntry(place(entry), broken)] if values is None else read(values, place(entry))

    return read_each(entries, records, place)


def item_id(kind: str, *source: object) -> str:
    """An id that is the same in every import: the kind and a digest of what identifies it in the source."""
    text = "\x1f".join(map(str, source))
    return f"{kind}-{blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=10).hexdigest()}"


def iso_timestamp(seconds: float) -> str:
    """Unix time as the time of an item."""
    return iso_time(datetime.fromtimestamp(seconds, UTC))


def unix_time(milliseconds: object) -> datetime | None:
    """The time of a number of milliseconds since 1970; None if it is not a number or out of range.

    Some programs write seconds: a number that is too small for milliseconds is read as such.
    """
    try:
        number = int(str(milliseconds))
        return datetime.fromtimestamp(number if 0 < number < _SMALLEST else number // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def iso_time(time: datetime) -> str:
    """A time in the format of items: to the second, with an offset if it has one."""
    return time.isoformat(timespec="seconds" if time.second else "minutes")


def shorten(text: str, limit: int = MAX_TEXT) -> str:
    """The beginning of a text, cut between two words."""
    if len(text) <= limit:
        return text
    cut = text[:limit]
    return (
        f"{cut[: max(cut.rfind(' '), cut.rfind(chr(10))) if ' ' in cut[limit // 2 :] else limit].rstrip()} …"
    )


class RepeatedItems:
    """The recurring items of one file.

    An item is yielded at its first occurrence, so that its usage events have an item, and again at the end if
    a later occurrence followed: files are in ascending or descending order. Only items are kept in memory.
    """

    def __init__(self, context: ImportContext) -> None:
        self._context = context
        self._last: dict[str, datetime] = {}
        self._later: dict[str, Item] = {}

    def add(self, item: Item, time: datetime) -> Iterator[ImportRecord]:
        """Add an occurrence of an item at a time."""
        local = self._context.to_local(time)
        last = self._last.get(item.id)
        if last is None:
            yield item
        elif local > last:
            self._later[item.id] = item
        if last is None or local > last:
            self._last[item.id] = local
        yield UsageEvent(item.id, time.replace(microsecond=0))

    def latest(self) -> Iterator[ImportRecord]:
        """The items that occurred again after they were yielded, in their latest form."""
        yield from self._later.values()
        self._later.clear()


def is_plausible_time(time: datetime, context: ImportContext) -> bool:
    """Whether a recorded time can be right: devices with a wrong clock write 1970, or years far ahead."""
    if time.tzinfo is None or context.now.tzinfo is None:
        time, now = context.to_local(time), context.to_local(context.now)
    else:
        now = context.now  # two instants compare directly, which is faster
    return time.year >= _FIRST_YEAR and time <= now + _MAX_AHEAD
