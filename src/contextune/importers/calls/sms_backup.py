"""Call logs of the Android app SMS Backup & Restore (calls-….xml), parsed as a stream."""

import re
from collections.abc import Iterator, Mapping

from contextune.importers.calls.call_log import (
    BLOCKED,
    INCOMING,
    MISSED,
    OUTGOING,
    REJECTED,
    VOICEMAIL,
    CallLog,
    LoggedCall,
)
from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.xml_elements import XmlElement, xml_elements
from contextune.importers.reader import ImportContext, ImportRecord, read_each, unix_time

_KINDS = {
    "1": INCOMING,
    "2": OUTGOING,
    "3": MISSED,
    "4": VOICEMAIL,
    "5": REJECTED,
    "6": BLOCKED,
    "7": INCOMING,  # answered on another device
}
_WITHHELD = frozenset("234")


class SmsBackupReader:
    """Call logs of SMS Backup & Restore."""

    name = "calls"
    apps = ("PhoneCall",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether it is a backup of calls."""
        return bool(re.search(r"<calls[\s>]", file.start))

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The calls in the file."""
        log = CallLog(context)

        def where(element: XmlElement) -> str:
            return f"{file.where}, line {element.line}"

        def call(element: XmlElement) -> Iterator[ImportRecord]:
            if not element.name:
                yield SkippedEntry(where(element), "broken XML from here on")
            elif element.attributes is not None:
                yield from log.add(_call(element.attributes), where(element))

        with file.open() as stream:
            yield from log.with_items(read_each(xml_elements(stream, ("call",)), call, where))


def _call(attributes: Mapping[str, str]) -> LoggedCall:
    duration = attributes.get("duration", "")
    return LoggedCall(
        attributes.get("number", ""),
        attributes.get("contact_name", ""),
        _KINDS.get(attributes.get("type", "")),
        unix_time(attributes.get("date", "")),
        int(duration) if duration.isdecimal() else 0,
        attributes.get("presentation") in _WITHHELD,
    )
