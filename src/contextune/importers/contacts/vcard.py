"""One entry of an address book: a name, addresses, numbers, and who is related to it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from contextune.importers.parsing.content_lines import (
    MOST_LINE,
    ContentLine,
    parse_line,
    unescaped,
    unfolded,
)
from contextune.importers.parsing.html_text import tidy

_LABEL = re.compile(r"_\$!<(.*)>!\$_")
_ANDROID = {
    "1": "assistant",
    "2": "brother",
    "3": "child",
    "4": "partner",
    "5": "father",
    "6": "friend",
    "7": "manager",
    "8": "mother",
    "9": "parent",
    "10": "partner",
    "12": "relative",
    "13": "sister",
    "14": "spouse",
}
"""The kinds of relations, by the numbers Android has for them."""
_MOST_NOTE = 500
_MOST_NAME = 500
_HEAVY = ("PHOTO", "LOGO", "SOUND", "KEY")


@dataclass(frozen=True, slots=True)
class VCardRelation:
    """Somebody, by name or by the id of their card, and what they are to whoever the card is about."""

    kind: str
    name: str = ""
    uid: str = ""


@dataclass(frozen=True, slots=True)
class VCard:
    """One entry as it is written."""

    line: int
    lines: Mapping[str, Sequence[ContentLine]]
    """Its properties by name; those that say nothing are left out."""
    ended: bool
    cut: bool = False
    """Whether a line of it is longer than what is kept of one."""

    def all(self, name: str) -> Sequence[ContentLine]:
        """The properties of this name, the preferred first."""
        found = self.lines.get(name, ())
        if len(found) < 2:
            return found
        return sorted(found, key=lambda line: "pref" not in line.types() and "PREF" not in line.parameters)

    def text(self, name: str) -> str:
        """The first value of this name, or nothing."""
        return next((tidy(line.text()) for line in self.all(name)), "")

    @property
    def uid(self) -> str:
        """The address book's own name for it."""
        return self.text("UID").removeprefix("urn:uuid:")

    @property
    def name(self) -> str:
        """What the person is called; a firm, where there is no person."""
        if full := self.text("FN"):
            return full[:_MOST_NAME]
        for line in self.all("N"):
            family, given, middle, *_ = [*line.parts(), "", "", ""]
            if whole := tidy(" ".join(filter(None, (given, middle, family)))):
                return whole[:_MOST_NAME]
        firm = next((line.parts()[0] for line in self.all("ORG")), "")
        return (firm or self.text("NICKNAME") or next(iter(self.emails), ""))[:_MOST_NAME]

    @property
    def emails(self) -> list[str]:
        """Mail addresses."""
        return _once(tidy(line.text()).removeprefix("mailto:") for line in self.all("EMAIL"))

    @property
    def phones(self) -> list[str]:
        """Numbers, as they are written."""
        return _once(tidy(line.text()).removeprefix("tel:") for line in self.all("TEL"))

    @property
    def is_group(self) -> bool:
        """Whether it stands for several people."""
        return "group" in (self.text("KIND").lower(), self.text("X-ADDRESSBOOKSERVER-KIND").lower())

    @property
    def relations(self) -> list[VCardRelation]:
        """Who is related to the person."""
        return [*self._related(), *self._apple(), *self._android()]

    def more(self) -> dict[str, Any]:
        """Whatever else is worth keeping."""
        found: dict[str, Any] = {
            "uid": self.uid,
            "emails": self.emails[1:],
            "phones": self.phones[1:],
            "nickname": self.text("NICKNAME"),
            "organization": next((", ".join(filter(None, line.parts())) for line in self.all("ORG")), ""),
            "title": self.text("TITLE"),
            "birthday": self.text("BDAY"),
            "addresses": _once(", ".join(filter(None, line.parts())) for line in self.all("ADR")),
            "groups": [
                tidy(unescaped(one)) for line in self.all("CATEGORIES") for one in line.raw().split(",")
            ],
            "note": self.text("NOTE")[:_MOST_NOTE],
        }
        return {name: value for name, value in found.items() if value}

    def _related(self) -> Iterator[VCardRelation]:
        for line in self.all("RELATED"):
            kind = next((kind for kind in line.types() if kind not in ("pref", "home", "work")), "relative")
            value = tidy(line.text())
            if value.lower().startswith("urn:uuid:"):
                yield VCardRelation(kind, uid=value[9:])
            elif not value.lower().startswith(("http:", "https:", "data:", "mailto:", "tel:")):
                yield VCardRelation(kind, name=value)

    def _apple(self) -> Iterator[VCardRelation]:
        labels = {line.group: line.text() for line in self.all("X-ABLABEL") if line.group}
        for line in self.all("X-ABRELATEDNAMES"):
            label = labels.get(line.group, "")
            known = _LABEL.match(label)
            kind = tidy(known[1] if known else label).lower() or next(iter(line.types()), "relative")
            yield VCardRelation(kind, name=tidy(line.text()))

    def _android(self) -> Iterator[VCardRelation]:
        for line in self.all("X-ANDROID-CUSTOM"):
            what, name, number, label, *_ = [*line.parts(), "", "", "", ""]
            if what.endswith("/relation") and name:
                yield VCardRelation(_ANDROID.get(number) or label.lower() or "relative", name=tidy(name))


def cards(stream: BinaryIO) -> Iterator[VCard]:
    """The entries of a file, without their pictures."""
    lines: dict[str, list[ContentLine]] = {}
    started, cut = 0, False
    for number, raw in unfolded(stream):
        line = parse_line(raw)
        if line is None:
            continue
        mark = (line.name, line.value.strip().upper())
        if mark == ("BEGIN", "VCARD"):
            if started:
                yield VCard(started, lines, ended=False)
            lines, started, cut = {}, number, False
        elif mark == ("END", "VCARD"):
            if started:
                yield VCard(started, lines, ended=True, cut=cut)
            started = 0
        elif started and line.value and line.name not in _HEAVY:
            lines.setdefault(line.name, []).append(line)
            cut = cut or len(raw) >= MOST_LINE
    if started:
        yield VCard(started, lines, ended=False)


def _once(values: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, values)))
