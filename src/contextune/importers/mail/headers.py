"""Addresses, dates, threads and folders from mail headers."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from email.utils import getaddresses, parsedate_to_datetime
from functools import lru_cache

from contextune.importers.mail.mime import Headers, header_to_text
from contextune.importers.reader import item_id

_SINGLE_ADDRESS = re.compile(
    r"\s*+\"?([^\"<>,;:@()\\]*+)\"?\s*<([^<>\s,;\"@]+@[^<>\s,;\"]+)>\s*$"
    r"|\s*+([^<>\s,;:\"()@]+@[^<>\s,;:\"()]+)\s*$"
)
_BARE_ADDRESS = re.compile(r"(?<![^\s<>,;:\"'()@])[^\s<>,;:\"'()@]+@[^\s<>,;:\"'()]+")
_MAX_SINGLE, _MAX_HEADER = 300, 65_536
"""Bytes of a header with a single address, and of any header."""
_MESSAGE_ID = re.compile(rb"<([^<>\s]+)>")
_COMMON_DATE = re.compile(
    rb"(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) ([12]\d{3}) (\d\d):(\d\d):(\d\d) ([+-]\d{4})"
    rb"(?: \([A-Z]+\))?$"
)
"""The date format of nearly all mails; parsing it here is five times as fast as the standard library."""
_MONTHS = {
    name: number for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)
}


def _name_set(text: str) -> frozenset[str]:
    return frozenset(text.split("|"))


_SENT = _name_set(
    "sent|sent mail|sent items|sent messages|gesendet|gesendete elemente|gesendete objekte|envoyés"
    "|messages envoyés|éléments envoyés|enviados|enviadas|itens enviados|posta inviata|inviati"
    "|verzonden|verzonden items|skickat|wysłane|отправленные"
)
_INBOX = _name_set(
    "inbox|mbox|posteingang|boîte de réception|bandeja de entrada|recibidos|caixa de entrada"
    "|posta in arrivo|postvak in|inkorg|odebrane|входящие|all mail including spam and trash"
)
TRASH_FOLDERS = _name_set(
    "trash|bin|spam|junk|bulk mail|junk e-mail|junk email|deleted|deleted items|deleted messages"
    "|papierkorb|spamverdacht|corbeille|indésirables|courrier indésirable|papelera|correo no deseado"
    "|lixo|lixeira|cestino|posta indesiderata|prullenbak|ongewenste e-mail|kosz|корзина|спам"
)
_UNREAD = _name_set("unread|ungelesen|non lus|no leídos|não lidas|da leggere|ongelezen|olästa|nieprzeczytane")
_BULK_LABEL = re.compile(
    "category (?:promotions|social|updates|forums)"
    "|kategorie (?:werbung|soziale netzwerke|benachrichtigungen|foren)"
    "|catégorie (?:promotions|réseaux sociaux|notifications|forums)"
)
"""Gmail's labels of its tabs; the first tab is for mails from people."""
IN_TRASH = "mail in trash or spam"
"""Why mails are skipped."""
_STATE_LABELS = re.compile(
    r"(?:important|starred|unread|opened|archived|chat|wichtig|markiert|ungelesen|geöffnet|archiviert"
    r"|category .*|kategorie .*)$"
)


def addresses(headers: Headers, *names: str) -> list[tuple[str, str]]:
    """Names and addresses in these headers, each address once."""
    names_by_address: dict[str, str] = {}
    for header in names:
        if value := headers.get(header):
            for name, address in _addresses(value):
                names_by_address.setdefault(address, name)
    return [(name, address) for address, name in names_by_address.items()]


def _addresses(value: bytes) -> Iterator[tuple[str, str]]:
    text = value[:_MAX_HEADER].decode("utf-8", "surrogateescape")
    # most headers have one address; the standard library takes ten times as long
    single = _SINGLE_ADDRESS.match(text) if len(text) < _MAX_SINGLE else None
    if single and value.isascii() and b"=?" not in value:
        yield " ".join((single[1] or "").split()), (single[2] or single[3]).strip("'\" ")
        return
    try:
        pairs = [(single[1] or "", single[2] or single[3])] if single else getaddresses([text])
    except RecursionError:  # thousands of brackets
        pairs = []
    if not any("@" in address for _, address in pairs):  # the standard library found none
        pairs = [("", address) for address in _BARE_ADDRESS.findall(text)]
    for name, address in pairs:
        if "@" in address:
            decoded = header_to_text(name.strip().encode("utf-8", "surrogateescape")) if name else ""
            yield decoded, header_to_text(address.encode("utf-8", "surrogateescape")).strip("'\" ")


def sent_time(headers: Headers, envelope: str = "") -> datetime | None:
    """When a mail was sent, or else received."""
    for value in _dates(headers, envelope):
        try:
            time = _parse_common_date(value) or parsedate_to_datetime(value.decode("latin-1").strip())
            if not 1980 <= time.year <= 2100:  # a clock that was never set
                continue
            return time if time.tzinfo else time.replace(tzinfo=UTC)
        except (ValueError, TypeError, LookupError, OverflowError):
            continue
    return None


def _dates(headers: Headers, envelope: str) -> Iterator[bytes]:
    yield headers.get("date", b"")
    yield headers.get("delivery-date", b"")
    yield headers.get("received", b"").rpartition(b";")[2]
    yield envelope.removeprefix("From ").partition(" ")[2].encode()


def _parse_common_date(value: bytes) -> datetime | None:
    match = _COMMON_DATE.match(value)
    if not match:
        return None
    day, month, year, hour, minute, second, offset = match.groups()
    number = _MONTHS.get(month)
    if number is None:
        return None
    return datetime(int(year), number, int(day), int(hour), int(minute), int(second), tzinfo=_zone(offset))


@lru_cache(maxsize=128)
def _zone(offset: bytes) -> timezone:
    ahead = timedelta(hours=int(offset[1:3]), minutes=int(offset[3:]))
    return timezone(-ahead if offset[:1] == b"-" else ahead)


def message_ids(value: bytes) -> list[str]:
    """The message ids in a header."""
    return [match.decode("latin-1") for match in _MESSAGE_ID.findall(value)]


def mail_id(message_id: str) -> str:
    """The item id for a message id."""
    return item_id("mail", message_id)


def thread_id(headers: Headers) -> str:
    """The item id of the first mail of the thread, or "" for a mail that is not a reply."""
    earlier = message_ids(headers.get("references", b"")) or message_ids(headers.get("in-reply-to", b""))
    return mail_id(earlier[0]) if earlier else ""


def folder_name(name: str) -> str:
    """The name of a folder, with Inbox and Sent in English whatever the language."""
    plain = name.strip().casefold()
    return "Sent" if plain in _SENT else "Inbox" if plain in _INBOX else name.strip()


def is_read(headers: Headers) -> bool | None:
    """Whether a mail was read, by Gmail's labels or headers of mail programs; None if none says so."""
    if "x-gmail-labels" in headers:
        return _UNREAD.isdisjoint(label.casefold() for label in _labels(headers))
    if status := headers.get("status", b"").strip().upper():
        return b"R" in status
    flags = headers.get("x-mozilla-status", b"").strip()
    try:
        return bool(int(flags, 16) & 1) if flags else None
    except ValueError:
        return None


def is_bulk(headers: Headers) -> bool:
    """Whether a mail went to many people: a newsletter, a promotion, a notice of a website."""
    if headers.get("precedence", b"").strip().lower() in (b"bulk", b"junk") or "list-unsubscribe" in headers:
        return True
    return any(_BULK_LABEL.fullmatch(label.casefold()) for label in _labels(headers))


def gmail_labels(headers: Headers) -> list[str]:
    """The Gmail labels of a mail, without those for states such as unread."""
    return [label for label in _labels(headers) if label and not _STATE_LABELS.match(label.casefold())]


def _labels(headers: Headers) -> list[str]:
    text = header_to_text(headers.get("x-gmail-labels", b""))
    return [label.strip().strip('"') for label in text.split(",")]


def folder_from_labels(labels: list[str]) -> str:
    """The folder for these Gmail labels: Sent, else the user's own label, else Inbox."""
    names = [folder_name(label) for label in labels]
    own = [name for name in names if name not in ("Sent", "Inbox")]
    return "Sent" if "Sent" in names else own[0] if own else "Inbox" if names else "Archive"
