"""Org files: headlines with a TODO keyword are reminders, dated ones are events, others are notes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.charsets import decode_text
from contextune.importers.parsing.html_text import tidy
from contextune.importers.reader import ImportContext, ImportRecord, iso_time, item_id, read_each, shorten
from contextune.types import Item

_MAX_SIZE = 16 * 2**20
_MAX_NOTES = 4000
_OPEN = frozenset(
    [
        "TODO",
        "NEXT",
        "STARTED",
        "WAITING",
        "WAIT",
        "HOLD",
        "PROJ",
        "STRT",
        "SOMEDAY",
        "MAYBE",
        "IDEA",
        "INPROGRESS",
        "DOING",
    ]
)
_DONE = frozenset(["DONE", "CANCELED", "CANCELLED", "KILL", "CLOSED", "NO"])
_HEADLINE = re.compile(r"(\*+)[ \t]+(.*)")
_TAGS = re.compile(r"(?<![ \t])[ \t]+(:[\w@#%:]+:)[ \t]*$")
_PRIORITY = re.compile(r"\[#[A-Za-z0-9]{1,2}\][ \t]*")
_COOKIE = re.compile(r"(?:(?<![ \t])[ \t]+)?\[\d*(?:/\d*|%)\]")
_TIMESTAMP = r"(\d{4}-\d\d-\d\d)(?: [^\d\s>\]]{1,30})?(?: (\d{1,2}:\d\d)(?:-(\d{1,2}:\d\d))?)?[^>\]\n]{0,100}"
_ACTIVE = re.compile(rf"<{_TIMESTAMP}>(?:--<{_TIMESTAMP}>)?")
_PLANNING = re.compile(rf"(SCHEDULED|DEADLINE|CLOSED):\s*[<\[]{_TIMESTAMP}[>\]]")
_INACTIVE = re.compile(rf"\[{_TIMESTAMP}\]")
_KEYWORDS = re.compile(r"#\+(?:TODO|SEQ_TODO|TYP_TODO):(.*)", re.IGNORECASE)
_TITLE = re.compile(r"#\+TITLE:(.*)", re.IGNORECASE)
_DRAWER_LINE = re.compile(r"[ \t]*:([\w-]+):[ \t]*")
_PROPERTY = re.compile(r"^[ \t]*:(ID|CREATED|CUSTOM_ID):[ \t]+(.+)$", re.MULTILINE | re.IGNORECASE)
_LINK = re.compile(r"\[\[[^\[\]]*\]\[([^\[\]]*)\]\]|\[\[([^\[\]]*)\]\]")
_META = re.compile(r"^[ \t]*#(?:\+.*| .*|)$\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Headline:
    line: int
    level: int
    keyword: str
    is_done: bool
    title: str
    tags: Sequence[str]
    path: tuple[str, ...]
    """The titles of the headlines above it."""
    body: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        return "\n".join(self.body)


class OrgReader:
    """Org mode files."""

    name = "org"
    apps = ("Reminders", "Calendar", "Notes")

    def can_read(self, file: SourceFile) -> bool:
        """Whether it is a text file with the suffix of Org mode."""
        return file.suffix in (".org", ".org_archive") and "\0" not in file.start

    def read(self, file: SourceFile, _context: ImportContext) -> Iterator[ImportRecord]:
        """The headlines of the file, and the text before the first."""
        text = decode_text(file.read_all(_MAX_SIZE))
        title = (match := _TITLE.search(text)) and tidy(match[1])
        name = title or file.path.stem
        if not text.strip():
            yield SkippedEntry(file.where, "empty note")
            return
        counts: dict[tuple[str, ...], int] = {}

        def read(headline: _Headline) -> Iterator[ImportRecord]:
            key = (*headline.path, headline.title)
            counts[key] = counts.get(key, 0) + 1
            yield from _records(headline, file, name, (*key, str(counts[key])))

        yield from read_each(
            _headlines(text, name), read, lambda headline: f"{file.where}, line {headline.line}"
        )


def _headlines(text: str, name: str) -> Iterator[_Headline]:
    """The headlines, each with the lines up to the next; the first is the file itself."""
    opened, done = set(_OPEN), set(_DONE)
    for match in _KEYWORDS.finditer(text):
        before, bar, after = match[1].partition("|")
        words = [word.partition("(")[0] for word in before.split()]
        finished = [word.partition("(")[0] for word in after.split()]
        opened.update(words if bar else words[:-1])
        done.update(finished if bar else words[-1:])
    current = _Headline(1, 0, "", False, name, (), ())
    path: list[tuple[int, str]] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        match = _HEADLINE.match(line)
        if not match:
            current.body.append(line)
            continue
        yield current
        level, rest = len(match[1]), match[2]
        tags = _TAGS.search(f" {rest}")
        rest = rest[: tags.start() - 1 if tags.start() else 0] if tags else rest
        word = rest.split(" ", 1)[0]
        keyword = word if word in opened | done else ""
        heading = _PRIORITY.sub("", rest[len(keyword) :].strip(), count=1)
        while path and path[-1][0] >= level:
            path.pop()
        above = tuple(entry for _, entry in path)
        heading_title = tidy(_plain(_COOKIE.sub("", heading)))
        words = [tag for tag in tags[1].split(":") if tag] if tags else []
        current = _Headline(number, level, keyword, keyword in done, heading_title, words, above)
        path.append((level, heading_title))
    yield current


def _records(
    headline: _Headline, file: SourceFile, name: str, key: tuple[str, ...]
) -> Iterator[ImportRecord]:
    where = f"{file.where}, line {headline.line}"
    if headline.title.startswith("COMMENT ") or "ARCHIVE" in headline.tags:
        yield SkippedEntry(where, "archived or commented headline")
        return
    raw = headline.text
    properties = {match[1].upper(): match[2].strip() for match in _PROPERTY.finditer(raw)}
    planning = {match[1]: match for match in _PLANNING.finditer(raw)}
    body = _without_drawers(raw)
    content = tidy(_plain(_META.sub("", _PLANNING.sub("", body))))
    identity = ("org", properties["ID"]) if "ID" in properties else ("org", file.identity, *key)
    event = _ACTIVE.search(headline.title) or _ACTIVE.search(_PLANNING.sub("", body))
    title = tidy(_ACTIVE.sub("", headline.title)) or name
    created = _created(properties.get("CREATED", ""))
    if headline.keyword:
        due = planning.get("DEADLINE") or planning.get("SCHEDULED") or event
        fields: dict[str, Any] = {
            "title": title,
            "list": headline.path[-1] if headline.path else name,
            "due": _time(due[2], due[3])
            if due and due.re is _PLANNING
            else _time(due[1], due[2])
            if due
            else "",
            "status": "done" if headline.is_done else "open",
            "created": created,
            "notes": shorten(content, _MAX_NOTES),
            "tags": list(headline.tags),
        }
        kind, app = "task", "Reminders"
    elif event or (planning and headline.level):
        start = event or planning.get("SCHEDULED") or planning.get("DEADLINE") or planning["CLOSED"]
        day, begin, end = start.groups()[:3] if event else start.groups()[1:4]
        last_day, last_time = (event[4], event[5]) if event and event[4] else (day, end)
        fields = {
            "event_name": title,
            "category": name,
            "participants": [],
            "start_time": _time(day, begin),
            "end_time": _time(last_day, last_time) if end or last_day != day else "",
            "notes": shorten(tidy(_ACTIVE.sub("", content)), _MAX_NOTES),
        }
        kind, app = "event", "Calendar"
    elif content:
        fields = {
            "title": title,
            "content": shorten(content),
            "folder": headline.path[-1] if headline.path else name if headline.level else file.folder,
            "modified": created or iso_time(file.modified),
            "tags": list(headline.tags),
        }
        kind, app = "note", "Notes"
    else:
        if headline.level:
            yield SkippedEntry(where, "headline without text")
        return
    present = {field_: value for field_, value in fields.items() if value or field_ == "participants"}
    yield Item(item_id(kind, *identity), app, present)


def _time(day: str, clock: str | None) -> str:
    return f"{day}T{clock.zfill(5)}" if clock else day


def _created(text: str) -> str:
    match = _INACTIVE.search(text) or _ACTIVE.search(text)
    return _time(match[1], match[2]) if match else ""


def _without_drawers(text: str) -> str:
    """The text without its drawers, each from a line such as ":PROPERTIES:" to the next ":END:"."""
    kept: list[str] = []
    opened: int | None = None
    for line in text.split("\n"):
        match = _DRAWER_LINE.fullmatch(line)
        if match and match[1].upper() == "END" and opened is not None:
            del kept[opened:]
            opened = None
            continue
        if match and opened is None:
            opened = len(kept)
        kept.append(line)
    return "\n".join(kept)


def _plain(text: str) -> str:
    """The text with links replaced by their descriptions."""
    return _LINK.sub(lambda link: link[1] or link[2] or "", text) if "[[" in text else text
