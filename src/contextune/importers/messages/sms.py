"""Text messages of the Android app SMS Backup & Restore (sms-….xml), whose format others write too."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.messages.message_log import ChatMessage, MessageLog, or_empty
from contextune.importers.parsing.xml_elements import XmlElement, xml_elements
from contextune.importers.phone_numbers import normalize_number
from contextune.importers.reader import ImportContext, ImportRecord, read_each, unix_time

_RECEIVED, _SENT = "1", "2"
_FROM, _RECIPIENTS = "137", ("151", "130", "129")
"""Kinds of addresses of a multimedia message."""
_UNKNOWN = frozenset(("", "null", "(unknown)", "unknown", "insert-address-token"))
_ELEMENTS = ("sms", "mms", "part", "addr")


class SmsReader:
    """SMS and MMS of SMS Backup & Restore; old versions of Signal export the same format."""

    name = "sms"
    apps = ("Messages",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether it is a backup of messages."""
        return bool(re.search(r"<smses[\s>]", file.start))

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The messages in the file."""
        log = MessageLog("SMS", context)

        def where(group: Sequence[XmlElement]) -> str:
            return f"{file.where}, line {group[0].line}"

        def message(group: Sequence[XmlElement]) -> Iterator[ImportRecord]:
            first = group[0]
            attributes = first.attributes or {}
            kind = attributes.get("type") or attributes.get("msg_box")
            if not first.name:
                yield SkippedEntry(where(group), "broken XML from here on")
            elif kind not in (_RECEIVED, _SENT):
                yield SkippedEntry(where(group), "draft or unsent message")
            elif first.name == "sms":
                yield from log.add(_sms(attributes, is_own=kind == _SENT), where(group))
            else:
                yield from log.add(_mms(attributes, group[1:], is_own=kind == _SENT), where(group))

        with file.open() as stream:
            yield from or_empty(read_each(_messages(xml_elements(stream, _ELEMENTS)), message, where), file)


def _messages(elements: Iterable[XmlElement]) -> Iterator[Sequence[XmlElement]]:
    """The elements of each message: its own, and those of its parts and addresses."""
    group: list[XmlElement] = []
    for element in elements:
        if element.attributes is None:
            if element.name in ("sms", "mms") and group:
                yield tuple(group)
                group.clear()
        elif element.name in ("sms", "mms"):
            group = [element]
        elif not element.name:
            yield (element,)
        elif group:
            group.append(element)


def _sms(attributes: Mapping[str, str], *, is_own: bool) -> ChatMessage:
    text = _text(attributes.get("body"))
    person = _person(attributes)
    number = _text(attributes.get("address"))
    # the kind is part of it: somebody may write to themselves
    identity = (normalize_number(number) or number, attributes.get("date"), is_own, text)
    return ChatMessage(
        identity,
        text,
        unix_time(attributes.get("date")),
        sender=person,
        is_own=is_own,
        recipients=[person] if is_own else (),
    )


def _mms(attributes: Mapping[str, str], parts: Sequence[XmlElement], *, is_own: bool) -> ChatMessage:
    texts: list[str] = []
    files: list[str] = []
    addresses: dict[str, list[str]] = {}
    for element in parts:
        values = element.attributes or {}
        if element.name == "addr":
            addresses.setdefault(values.get("type", ""), []).append(_text(values.get("address")))
        elif values.get("ct") == "text/plain":
            texts.append(_text(values.get("text")))
        elif values.get("ct") != "application/smil":
            files.append(_text(values.get("cl")) or _text(values.get("name")) or "part")
    text = "\n".join(filter(None, (_subject(attributes), *texts)))
    people = [person for person in _text(attributes.get("address")).split("~") if person not in _UNKNOWN]
    is_group = len(people) > 1
    senders = [address for address in addresses.get(_FROM, ()) if address.lower() not in _UNKNOWN]
    sender = senders[0] if is_group and senders else _person(attributes)
    recipients = [address for kind in _RECIPIENTS for address in addresses.get(kind, ())]
    names = _text(attributes.get("contact_name"))
    identity = ("mms", ",".join(sorted(map(normalize_number, people))), attributes.get("date"), is_own, text)
    return ChatMessage(
        identity,
        text,
        unix_time(attributes.get("date")),
        sender=sender,
        is_own=is_own,
        chat=names if is_group and names.lower() not in _UNKNOWN else "",
        recipients=(recipients or people) if is_own else (),
        attachments=files,
    )


def _subject(attributes: Mapping[str, str]) -> str:
    subject = _text(attributes.get("sub"))
    return "" if subject.startswith("proto:") else subject  # a technical subject of RCS


def _person(attributes: Mapping[str, str]) -> str:
    name = _text(attributes.get("contact_name"))
    return name if name.lower() not in _UNKNOWN else _text(attributes.get("address"))


def _text(value: str | None) -> str:
    return "" if value is None or value == "null" else value.strip()
