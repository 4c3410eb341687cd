"""What the headers of a mail say: who, to whom, when, in which thread, in which folder."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from email.utils import getaddresses, parsedate_to_datetime
from functools import lru_cache

from contextune.importers.mail.mime import Headers, header_text
from contextune.importers.reader import item_id

_ONE = re.compile(
    r"\s*\"?([^\"<>,;:@()\\]*)\"?\s*<([^<>\s,;\"]+@[^<>\s,;\"]+)>\s*$|\s*([^<>\s,;:\"()]+@[^<>\s,;:\"()]+)\s*$"
)
_BARE = re.compile(r"[^\s<>,;:\"'()]+@[^\s<>,;:\"'()]+")
_SHORT, _MOST = 300, 65_536
"""Bytes of a header: of one address, and of as many as are read."""
_MESSAGE_ID = re.compile(rb"<([^<>\s]+)>")
_USUAL = re.compile(
    rb"(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) ([12]\d{3}) (\d\d):(\d\d):(\d\d) ([+-]\d{4})"
    rb"(?: \([A-Z]+\))?$"
)
"""A date as nearly all mails write it: the library takes five times as long."""
_MONTHS = {
    name: number for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)
}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split("|"))


_SENT = _names(
    "sent|sent mail|sent items|sent messages|gesendet|gesendete elemente|gesendete objekte|envoyés"
    "|messages envoyés|éléments envoyés|enviados|enviadas|itens enviados|posta inviata|inviati"
    "|verzonden|verzonden items|skickat|wysłane|отправленные"
)
_INBOX = _names(
    "inbox|mbox|posteingang|boîte de réception|bandeja de entrada|recibidos|caixa de entrada"
    "|posta in arrivo|postvak in|inkorg|odebrane|входящие|all mail including spam and trash"
)
THROWN_AWAY = _names(
    "trash|bin|spam|junk|bulk mail|junk e-mail|junk email|deleted|deleted items|deleted messages"
    "|papierkorb|spamverdacht|corbeille|indésirables|courrier indésirable|papelera|correo no deseado"
    "|lixo|lixeira|cestino|posta indesiderata|prullenbak|ongewenste e-mail|kosz|корзина|спам"
)
_STATES = re.compile(
    r"(?:important|starred|unread|opened|archived|chat|wichtig|markiert|ungelesen|geöffnet|archiviert"
    r"|category .*|kategorie .*)$"
)


def addresses(headers: Headers, *names: str) -> list[tuple[str, str]]:
    """Names and addresses that these headers hold, each address once."""
    found: dict[str, str] = {}
    for header in names:
        if value := headers.get(header):
            for name, address in _addresses(value):
                found.setdefault(address, name)
    return [(name, address) for address, name in found.items()]


def _addresses(value: bytes) -> Iterator[tuple[str, str]]:
    text = value[:_MOST].decode("utf-8", "surrogateescape")
    # most headers hold one: the library takes ten times as long
    one = _ONE.match(text) if len(text) < _SHORT else None
    if one and value.isascii() and b"=?" not in value:
        yield " ".join((one[1] or "").split()), (one[2] or one[3]).strip("'\" ")
        return
    try:
        given = [(one[1] or "", one[2] or one[3])] if one else getaddresses([text])
    except RecursionError:  # thousands of brackets
        given = []
    if not any("@" in address for _, address in given):  # the library has given up on them
        given = [("", address) for address in _BARE.findall(text)]
    for name, address in given:
        if "@" in address:
            shown = header_text(name.strip().encode("utf-8", "surrogateescape")) if name else ""
            yield shown, header_text(address.encode("utf-8", "surrogateescape")).strip("'\" ")


def sent_time(headers: Headers, envelope: str = "") -> datetime | None:
    """When a mail was sent: as it says, else when it was received."""
    for given in _dates(headers, envelope):
        try:
            time = _usual_time(given) or parsedate_to_datetime(given.decode("latin-1").strip())
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


def _usual_time(given: bytes) -> datetime | None:
    found = _USUAL.match(given)
    if not found:
        return None
    day, month, year, hour, minute, second, offset = found.groups()
    number = _MONTHS.get(month)
    if number is None:
        return None
    return datetime(int(year), number, int(day), int(hour), int(minute), int(second), tzinfo=_zone(offset))


@lru_cache(maxsize=128)
def _zone(offset: bytes) -> timezone:
    ahead = timedelta(hours=int(offset[1:3]), minutes=int(offset[3:]))
    return timezone(-ahead if offset[:1] == b"-" else ahead)


def message_ids(value: bytes) -> list[str]:
    """The names of messages in a header."""
    return [found.decode("latin-1") for found in _MESSAGE_ID.findall(value)]


def mail_id(message_id: str) -> str:
    """What the item of a message is called."""
    return item_id("mail", message_id)


def thread_of(headers: Headers) -> str:
    """The item that the thread began with, or nothing for a mail that answers none."""
    earlier = message_ids(headers.get("references", b"")) or message_ids(headers.get("in-reply-to", b""))
    return mail_id(earlier[0]) if earlier else ""


def folder_name(given: str) -> str:
    """A folder as people call it; those every mailbox has are Inbox and Sent, whatever the language."""
    plain = given.strip().casefold()
    return "Sent" if plain in _SENT else "Inbox" if plain in _INBOX else given.strip()


def labels(headers: Headers) -> list[str]:
    """The labels Gmail gives a mail, less those that only say how it stands with it."""
    text = header_text(headers.get("x-gmail-labels", b""))
    given = [label.strip().strip('"') for label in text.split(",")]
    return [label for label in given if label and not _STATES.match(label.casefold())]


def folder_of_labels(given: list[str]) -> str:
    """One of them: Sent, else one of the user's own, else Inbox."""
    names = [folder_name(label) for label in given]
    own = [name for name in names if name not in ("Sent", "Inbox")]
    return "Sent" if "Sent" in names else own[0] if own else "Inbox" if names else "Archive"
