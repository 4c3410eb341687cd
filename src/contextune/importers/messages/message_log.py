"""Messages of all services as items: one item per message, with sender, recipients and conversation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from contextune._internal.phrases import phrases
from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.html_text import tidy
from contextune.importers.phone_numbers import names_by_number, normalize_number
from contextune.importers.reader import (
    NO_TIME,
    ImportContext,
    ImportRecord,
    is_plausible_time,
    iso_time,
    item_id,
    shorten,
)
from contextune.types import Item, UsageEvent

_MAX_NAME = 300
_MAX_RECIPIENTS = 50
_MEDIA = frozenset(
    {
        "",
        *phrases("""
    .jpg, .jpeg, .png, .gif, .webp, .heic, .heif, .tiff, .bmp, .tgs, .webm, .mp4, .mov, .3gp, .m4v, .avi,
    .mkv, .mp3, .m4a, .aac, .amr, .caf, .ogg, .oga, .opus, .wav, .pluginpayloadattachment, .smil
"""),
    }
)
"""Suffixes of pictures, recordings and videos, whose names say nothing."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message as a service exports it."""

    identity: tuple[object, ...]
    """What identifies it in the source."""
    text: str
    time: datetime | None
    sender: str = ""
    """Name, number or address; not needed if it is the user's own."""
    is_own: bool = False
    chat: str = ""
    """The name of the group or channel, or of the other person."""
    recipients: Sequence[str] = ()
    attachments: Sequence[str] = ()
    """File names."""
    reply_to: tuple[object, ...] | None = None
    """The identity of the message that it answers."""


class MessageLog:
    """Converts the messages of one file to items, and answers of the user to usage events."""

    def __init__(self, service: str, context: ImportContext) -> None:
        self._service = service
        self._context = context

    def add(self, message: ChatMessage, where: str) -> Iterator[ImportRecord]:
        documents = [name for name in message.attachments if _is_document(name)]
        text = shorten(tidy(message.text))
        if not text and not documents:
            media = "picture, recording or sticker without text" if message.attachments else "empty message"
            yield SkippedEntry(where, media)
            return
        if message.time is None or not is_plausible_time(message.time, self._context):
            yield SkippedEntry(where, NO_TIME)
            return
        recipients = [self.name(person) for person in message.recipients[:_MAX_RECIPIENTS]]
        fields: dict[str, Any] = {
            "text": "\n".join(filter(None, (text, f"Attached: {', '.join(documents)}" if documents else ""))),
            "sender": self._own_name if message.is_own else self.name(message.sender),
            "recipients": list(dict.fromkeys(filter(None, recipients))),
            "chat": self.name(message.chat),
            "service": self._service,
            "date": iso_time(message.time),
            "attachments": documents,
        }
        present = {key: value for key, value in fields.items() if value}
        yield Item(self._id(message.identity), "Messages", present)
        if message.is_own and message.reply_to:
            yield UsageEvent(self._id(message.reply_to), message.time.replace(microsecond=0))

    def name(self, person: str) -> str:
        """The name of a person, from the contacts if it is a number that they have."""
        person = tidy(person)[:_MAX_NAME]
        digits = normalize_number(person) if person[-4:].isdecimal() else ""
        return self._names.get(digits, person) if len(digits) > 4 else person

    def _id(self, identity: tuple[object, ...]) -> str:
        return item_id("message", self._service, *identity)

    @cached_property
    def _own_name(self) -> str:
        return own_name(self._context)

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return names_by_number(self._context.user)


def own_name(context: ImportContext) -> str:
    """The sender of the user's own messages."""
    return context.name or next(iter(sorted(context.addresses)), "me")


def or_empty(records: Iterable[ImportRecord], file: SourceFile) -> Iterator[ImportRecord]:
    """The records of a file, or one that says that there are none."""
    is_empty = True
    for record in records:
        is_empty = False
        yield record
    if is_empty:
        yield SkippedEntry(file.where, "no messages in the file")


def is_own_name(name: str, context: ImportContext) -> bool:
    """Whether a sender's name is the user's."""
    return bool(context.name) and name.strip().casefold() == context.name.casefold()


def _is_document(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() not in _MEDIA


def is_in_group(item: Item) -> bool:
    """Whether an item is a message of a WhatsApp group."""
    return (
        item.app == "Messages" and bool(item.fields.get("chat")) and item.fields.get("service") == "WhatsApp"
    )


def as_known(item: Item, old: Item, context: ImportContext) -> Item:
    """A message that is read again, with the user as sender if an earlier import found that out."""
    sender = own_name(context)
    if not is_in_group(item) or old.fields.get("sender") != sender:
        return item
    return replace(item, fields={**item.fields, "sender": sender})


def with_own_name(items: Iterable[Item], context: ImportContext) -> list[Item]:
    """The messages under a name that the user has in chats with one person, with the user as sender."""
    return [
        replace(item, fields={**item.fields, "sender": own_name(context)})
        for item in items
        if item.fields.get("sender") in context.own_names
    ]
