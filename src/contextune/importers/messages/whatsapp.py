"""WhatsApp's text export of a chat (_chat.txt, "WhatsApp Chat with ….txt"), in any language.

Dates depend on the language of the phone.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from itertools import pairwise

from contextune._internal.phrases import phrases
from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.messages.message_log import ChatMessage, MessageLog, is_own_name
from contextune.importers.parsing.charsets import decode_text
from contextune.importers.parsing.localized_times import hour_of_day
from contextune.importers.reader import ImportContext, ImportRecord, read_each

_HEADER = re.compile(
    r"[\u200e\u200f\u202a-\u202e\ufeff]*(\[)?"
    r"(\d{1,4})\s?([./\-年])\s?(\d{1,2})\s?[./\-月]\s?(\d{1,4})[.日]?(?:\s?г\.)?[,،]?\s+"
    r"([^\d\[\]:,]{0,6}?)\s?(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?\s?([^\d\[\]:,<>\-–]{0,6}?)"
    r"(?(1)\]|\s[-–])\s",
)
"""The beginning of a message: "[16.05.24, 17:40:12] " (iPhone) or "5/16/24, 5:40 PM - " (Android)."""
_SENDER = re.compile(
    r"[\u200e\u200f\u202a-\u202e~ \u202f\xa0]*+([^:\"“„«\n]{1,80}?)[\u202c\u2069]{0,4}: (.*)", re.DOTALL
)
_EMPTY_SENDER = re.compile(r"[\u200e\u200f~ ]*([^:\"“„«\n]{1,80}):\s*$")
_MAX_SIZE = 128 * 2**20
_MARK = "\u200e"
"""Precedes what WhatsApp itself writes into an iPhone's export."""
_NAME = re.compile(r"(?i)\bwhatsapp\b")
_CHAT_NAME = re.compile(
    r"(?i)^.*\bwhatsapp\b\S*(?:\s+chat)?(?:\s+[-–]\s+|\s+(?:with|mit|con|avec|com|met|med|di|de|с|z)\s+)(.+?)"
    r"(?:\s?\(\d+\))?$"
)
"""File names: WhatsApp Chat with Marta, WhatsApp Chat - Marta, Chat de WhatsApp con Marta."""
_FOLDERS = frozenset(
    ("whatsapp", "chats", "chat", "messages", "downloads", "documents", "desktop", "files", "")
)
"""Folders that are not named after a chat."""
_PLACEHOLDER = re.compile(r"<[^<>\n:]{3,60}>|null")
_ATTACHED = re.compile(r"<[^<>\n:]{2,30}:\s*+([^<>\n]+)>\s*$")
_FILE = re.compile(r"([^\n<>]{1,200}\.\w{2,5}) \([^()\n]{3,40}\)(?:\n|$)")
_EDITED = re.compile(
    r"(?:(?<!\s)\s+)?<[^<>\n]{0,100}(?:edited|bearbeitet|editad|modifi|bewerkt|redigera|rediger|изменено|düzenlendi|已编辑)[^<>\n]{0,100}>$",
    re.I,
)
_DELETED = frozenset(
    phrases("""
        this message was deleted, you deleted this message, diese nachricht wurde gelöscht
        du hast diese nachricht gelöscht, se eliminó este mensaje, eliminaste este mensaje
        ce message a été supprimé, vous avez supprimé ce message, mensagem apagada
        você apagou esta mensagem, apagou esta mensagem, questo messaggio è stato eliminato
        hai eliminato questo messaggio, dit bericht is verwijderd, je hebt dit bericht verwijderd
        данное сообщение удалено, вы удалили данное сообщение
    """)
)


@dataclass(frozen=True, slots=True)
class ChatLine:
    """A message with the numbers of its date, in the order in which they are written."""

    number: int
    date: tuple[int, int, int]
    separator: str
    is_padded: bool
    """Whether day and month have two digits each, as 05."""
    clock: tuple[int, int, int]
    half: str
    """Before or after noon, in the language of the phone; "" for 24 hours."""
    sender: str
    text: str


def is_header(line: str) -> bool:
    """Whether a message begins in this line."""
    return bool(_HEADER.match(line))


def split_lines(text: str) -> Iterator[ChatLine]:
    """The messages of a chat; a line without a date continues the message before it."""
    header: re.Match[str] | None = None
    start = 0
    parts: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if match := _HEADER.match(line):
            if header:
                yield _chat_line(header, start, parts)
            header, start, parts = match, number, [line[match.end() :]]
        elif header:
            parts.append(line)
    if header:
        yield _chat_line(header, start, parts)


def _chat_line(header: re.Match[str], number: int, parts: Sequence[str]) -> ChatLine:
    _, first, separator, second, third, before, hour, minute, seconds, after = header.groups()
    content = "\n".join(parts).rstrip()
    named = _SENDER.match(content) or _EMPTY_SENDER.match(content)
    return ChatLine(
        number,
        (int(first), int(second), int(third)),
        separator,
        min(len(first), len(second)) > 1,
        (int(hour), int(minute), int(seconds or 0)),
        (before or after).strip(),
        named[1].strip() if named else "",
        named[2] if named and named.re is _SENDER else "" if named else content,
    )


class DateOrder(Enum):
    """Positions of year, month and day in the dates of a chat."""

    YEAR_FIRST = (0, 1, 2)
    DAY_FIRST = (2, 1, 0)
    MONTH_FIRST = (2, 0, 1)

    @classmethod
    def detect(cls, lines: Sequence[ChatLine]) -> "DateOrder":
        """The order in which all dates are valid and follow each other; else the custom of the language."""
        if lines and lines[0].date[0] > 31:
            return cls.YEAR_FIRST
        valid = [order for order in (cls.DAY_FIRST, cls.MONTH_FIRST) if all(map(order.fits, lines))]
        if not valid:
            return cls.YEAR_FIRST if all(map(cls.YEAR_FIRST.fits, lines)) else cls.DAY_FIRST
        if len(valid) == 1:
            return valid[0]
        steps_back = {order: order.steps_back(lines) for order in valid}
        if steps_back[cls.DAY_FIRST] != steps_back[cls.MONTH_FIRST]:
            return min(valid, key=lambda order: steps_back[order])
        # 5/6/24 is American; others write 05/06/2024, 5.6.24 or 5-6-24
        american = any(not line.is_padded and line.separator == "/" and line.date[2] < 100 for line in lines)
        return cls.MONTH_FIRST if american else cls.DAY_FIRST

    def fits(self, line: ChatLine) -> bool:
        """Whether month and day of a date are possible in this order."""
        _, month, day = self._date(line)
        return 1 <= month <= 12 and 1 <= day <= 31

    def steps_back(self, lines: Sequence[ChatLine]) -> int:
        """How often a message would be older than the one before it."""
        dates = [self._date(line) for line in lines]
        return sum(later < earlier for earlier, later in pairwise(dates))

    def time(self, line: ChatLine) -> datetime | None:
        """The local time of a message; None if there is no such time."""
        hour, minute, seconds = line.clock
        hour_of_24 = hour_of_day(hour, line.half)
        if hour_of_24 is None:
            return None
        try:
            return datetime(*self._date(line), hour_of_24, minute, seconds)
        except ValueError:
            return None

    def _date(self, line: ChatLine) -> tuple[int, int, int]:
        year, month, day = (line.date[position] for position in self.value)
        return year + 2000 if year < 100 else year, month, day


class WhatsAppReader:
    """Chats that WhatsApp exported as text."""

    name = "whatsapp"
    apps = ("Messages",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether its lines begin as WhatsApp's; without its name or marks, several people must write."""
        if file.suffix not in (".txt", ".text", ""):
            return False
        lines = [line for line in file.start.splitlines() if line.strip()]
        if not lines or not is_header(lines[0]):
            return False
        named = file.name == "_chat.txt" or _NAME.search(file.name) or _MARK in file.start
        chat = [line for line in split_lines("\n".join(lines)) if line.sender]
        if named:
            return bool(chat)
        people = {line.sender for line in chat}
        if " - " in lines[0]:
            return len(chat) > 2
        # logs have a level where a chat has a person
        return len(chat) > 4 and len(people) > 1 and not all(map(str.isupper, people))

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The messages of the chat."""
        text = decode_text(file.read_all(_MAX_SIZE))
        lines = list(split_lines(text))
        chat = _Chat(file, lines, context)
        log = MessageLog("WhatsApp", context)
        yield from read_each(
            lines,
            lambda line: chat.records(line, log, f"{file.where}, line {line.number}"),
            lambda line: f"{file.where}, line {line.number}",
        )


@dataclass(frozen=True, slots=True)
class _Content:
    """The parts of a message."""

    text: str
    attachments: Sequence[str] = ()
    notice: str = ""
    """Why it is skipped."""


class _Chat:
    """The people and the date order of a chat."""

    def __init__(self, file: SourceFile, lines: Sequence[ChatLine], context: ImportContext) -> None:
        name = self._name = _chat_name(file)
        self._order = DateOrder.detect(lines)
        # WhatsApp's own lines in an iPhone's export have the name of the group as sender
        names = Counter(line.sender for line in lines if line.sender and not line.text.startswith(_MARK))
        senders = [name for name in names if not _is_notice(name, names)]
        self._senders = frozenset(senders)
        self._is_group = len(senders) > 2
        if not self._name:
            self._name = _title(lines, senders, file) if self._is_group else _folder_name(file)
            name = self._name
        own = (sender for sender in senders if is_own_name(sender, context) or sender in context.own_names)
        self._own = next(own, "")
        others = [sender for sender in senders if sender != name]
        if not self._own and not self._is_group and name in senders and len(others) == 1:
            self._own = others[0]
            context.own_names.add(self._own)
        self._other = next((sender for sender in senders if sender != self._own), name)
        self._copies: Counter[tuple[object, ...]] = Counter()

    def records(self, line: ChatLine, log: MessageLog, where: str) -> Iterator[ImportRecord]:
        """The item of a message."""
        is_sent = line.sender in self._senders or (line.sender and line.text.startswith(_MARK))
        content = _content(line.text) if is_sent else _Content("", notice="notice of the service")
        if content.notice:
            yield SkippedEntry(where, content.notice)
            return
        time = self._order.time(line)
        is_own = line.sender == self._own
        key = (self._name or self._other, time, line.sender, content.text, *content.attachments)
        self._copies[key] += 1  # the same word twice in a minute
        yield from log.add(
            ChatMessage(
                (*key, self._copies[key]),
                content.text,
                time,
                sender=line.sender,
                is_own=is_own,
                chat=self._name if self._is_group else "",
                recipients=[self._other] if is_own and not self._is_group else (),
                attachments=content.attachments,
            ),
            where,
        )


def _title(lines: Sequence[ChatLine], senders: Sequence[str], file: SourceFile) -> str:
    """The title of a group: the sender of WhatsApp's own lines in an iPhone's export, else its folder."""
    own_lines = (line.sender for line in lines if line.text.startswith(_MARK))
    return next((name for name in own_lines if name and name not in senders), "") or _folder_name(file)


def _folder_name(file: SourceFile) -> str:
    """The folder into which an iPhone's export was unpacked, which has the name of the chat."""
    return file.folder if file.name == "_chat.txt" and file.folder.casefold() not in _FOLDERS else ""


def _is_notice(name: str, names: Collection[str]) -> bool:
    """Whether it is not a sender but a notice with a colon: "Marta changed the subject to: …"."""
    if ". " in name.replace("Dr. ", ""):
        return True
    return any(name.startswith(f"{other} ") and name.count(" ") > other.count(" ") + 2 for other in names)


def _content(text: str) -> _Content:
    marked = text.startswith(_MARK)
    plain = text.replace(_MARK, "").strip()
    if attached := _ATTACHED.search(plain):
        caption = plain[: attached.start()].strip()
        return _Content("" if "•" in caption else caption, [attached[1].strip()])
    if file := _FILE.match(plain):
        return _Content(plain[file.end() :].strip(), [file[1]])
    plain = _EDITED.sub("", plain)
    if plain.rstrip(".").casefold() in _DELETED:
        return _Content("", notice="deleted message")
    if _PLACEHOLDER.fullmatch(plain) or (marked and "\n" not in plain and len(plain) < 40):
        return _Content("", notice="picture, recording or sticker without text")
    if marked and "\n" not in plain:
        return _Content("", notice="notice of the service")
    return _Content(plain)


def _chat_name(file: SourceFile) -> str:
    """The name of the chat, from the name of the file, or of its archive or folder."""
    for name in (file.path.stem, *reversed(file.path.parts[:-1]), file.folder):
        if match := _CHAT_NAME.match(name):
            return match[1].strip()
    return ""
