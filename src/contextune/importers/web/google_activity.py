"""Google Takeout: My Activity and the YouTube history, as JSON or HTML, which may have hundreds of megabytes.

Titles in JSON stand within a sentence in the user's language, such as "Watched X" or "X angesehen".
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from html import unescape
from typing import Any, BinaryIO, NamedTuple, cast

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.music import song_item
from contextune.importers.parsing.html_text import html_text, tidy
from contextune.importers.parsing.json_stream import JsonEntry, json_entries
from contextune.importers.parsing.localized_times import parse_localized_time
from contextune.importers.reader import (
    NO_TIME,
    ImportContext,
    ImportRecord,
    RepeatedItems,
    is_plausible_time,
    read_each,
)
from contextune.importers.web.urls import is_url, parse_search, parse_video_id, video_item

SAMPLE_SIZE = 40
"""Titles from which the phrase is detected."""
_MIN_TITLES = 4
ENTRY_MARK = b'<div class="outer-cell'
_CHUNK = 2**18
_MAX_ENTRY = 2**16
"""Bytes of one entry; the rest of a longer one is dropped."""
_HEADER, _CONTENT, _END = '<div class="header-cell', '<div class="content-cell', "</div>"
_LINK = re.compile(r'<a [^<>]*?href="([^"<>]*)"[^<>]*>')
_BREAK = re.compile(r"<br ?/?>")
_KEYS = ('"header"', '"time"', '"title"')
_PAGE_START = 2**19
"""Bytes that contain the first entry of an activity page, which starts with a long style sheet."""
_AD_CAPTION = re.compile(r"Google.{0,3}(?:Ads|Anzeigen|Annonces|Advertenties|Anuncios|広告)", re.IGNORECASE)
_TOPIC = " - Topic"
_MUSIC = "YouTube Music"


class TitleFrame(NamedTuple):
    """The text before and after every title."""

    before: str = ""
    after: str = ""

    def title(self, sentence: str) -> str:
        """The title without the frame."""
        if not self.matches(sentence):
            return sentence
        return sentence[len(self.before) : len(sentence) - len(self.after)].strip()

    def matches(self, sentence: str) -> bool:
        """Whether the sentence has this frame."""
        long_enough = len(sentence) > len(self.before) + len(self.after)
        return long_enough and sentence.startswith(self.before) and sentence.endswith(self.after)


_KNOWN_FRAMES = (
    *(TitleFrame(before) for before in (
        "Watched ", "Vous avez regardé ", "Has visto ", "Viste ", "Hai guardato ", "Assistiu a ",
        "Você assistiu a ", "Visualizou ", "Bekeken: ", "Tittade på ", "Så ", "Så på ", "Obejrzano: ",
        "Zhlédli jste video ", "Ați vizionat ", "Просмотрено видео ", "Ви дивилися відео ",
    )),
    *(TitleFrame("", after) for after in (
        " angesehen", " adlı videoyu izlediniz", " を視聴しました", " katsottiin",
    )),
    TitleFrame("Je hebt naar ", " gekeken"),
)  # fmt: skip


def detect_frame(sentences: Sequence[str]) -> TitleFrame:
    """The frame of these sentences: a known one, else their common prefix and suffix."""
    distinct = list(dict.fromkeys(sentences))
    candidates = [frame for frame in _KNOWN_FRAMES if _matches_most(frame, distinct)]
    if candidates:
        return max(candidates, key=lambda frame: len(frame.before) + len(frame.after))
    if len(distinct) < _MIN_TITLES:
        return TitleFrame()
    before = _common_prefix(distinct)
    after = _common_prefix([sentence[::-1] for sentence in distinct])[::-1]
    # titles may start with the same letters: whole words only
    before = before[: before.rfind(" ") + 1]
    after = after[after.find(" ") :] if " " in after else ""
    return TitleFrame(before, after)


def _matches_most(frame: TitleFrame, sentences: Sequence[str]) -> bool:
    """Whether it matches more than 80 % of the sentences; removed videos have a different one."""
    return sum(map(frame.matches, sentences)) > 0.8 * len(sentences)


def _common_prefix(texts: Sequence[str]) -> str:
    """The common prefix, which is that of the first and the last text in sorted order."""
    first, last = min(texts), max(texts)
    same = next(
        (position for position, (left, right) in enumerate(zip(first, last, strict=False)) if left != right),
        None,
    )
    return first[:same]


class HtmlEntry(NamedTuple):
    """An entry of the page: product, links with their texts, localised time, and the caption."""

    number: int
    product: str
    links: tuple[tuple[str, str], ...]
    time: str
    caption: str
    """HTML below the entry, which marks advertisements."""


def read_entries(stream: BinaryIO) -> Iterator[HtmlEntry]:
    """The entries of a page."""
    for number, block in enumerate(_blocks(stream)):
        if number:  # before the first entry there are only styles
            yield _parse_entry(number, block[:_MAX_ENTRY].decode("utf-8", "replace"))


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    buffer = b""
    while chunk := stream.read(_CHUNK):
        *complete, buffer = (buffer + chunk).split(ENTRY_MARK)
        yield from complete
        if len(buffer) > _MAX_ENTRY:
            buffer = (
                buffer[:_MAX_ENTRY] + buffer[-len(ENTRY_MARK) :]
            )  # the end may be the start of the next mark
    yield buffer


def _parse_entry(number: int, text: str) -> HtmlEntry:
    cells = list(_cells(text, _CONTENT))
    content = cells[0] if cells else ""
    lines = (html_text(part) for part in reversed(_BREAK.split(content)))
    return HtmlEntry(
        number,
        " ".join(_product(header) for header in _cells(text, _HEADER)),
        tuple(_links(content)),
        next((line for line in lines if line), ""),
        cells[-1] if len(cells) > 1 else "",
    )


@lru_cache(maxsize=64)  # there are few products
def _product(header: str) -> str:
    return html_text(header)


def _cells(text: str, mark: str) -> Iterator[str]:
    """The contents of these cells, by plain search in linear time."""
    at = 0
    while (begin := text.find(mark, at)) >= 0:
        inside = text.find(">", begin) + 1
        at = text.find(_END, inside)
        if not inside or at < 0:
            return
        yield text[inside:at]


def _links(text: str) -> Iterator[tuple[str, str]]:
    for link in _LINK.finditer(text):
        end = text.find("</a>", link.end())
        if end < 0:
            return
        yield unescape(link[1]), html_text(text[link.end() : end])


@dataclass(frozen=True, slots=True)
class _ActivityEntry:
    """An activity: a title, which may be part of a sentence, its address and its time."""

    where: str
    product: str
    text: str
    url: str
    channel: str
    time: datetime | None
    is_ad: bool


class GoogleActivityReader:
    """My Activity, watch and search history of Google Takeout, in any language."""

    name = "activity"
    apps = ("Google", "YouTube", "Music")

    def can_read(self, file: SourceFile) -> bool:
        """Whether it is a JSON list of activities or an HTML activity page."""
        if file.suffix == ".json":
            start = file.start
            return start.lstrip().startswith("[") and all(key in start for key in _KEYS)
        if file.suffix not in (".html", ".htm") or b"<style" not in file.head:
            return False
        with file.open() as stream:
            return ENTRY_MARK in stream.read(_PAGE_START)

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """Searches, videos and songs; other activities are skipped."""
        repeated = RepeatedItems(context)
        with file.open() as stream:
            if file.suffix == ".json":
                entries = _from_json(json_entries(stream), file.where)
                yield from _with_detected_frame(entries, context, repeated)
            else:
                entries = (_from_page(page_entry, file.where, context) for page_entry in read_entries(stream))
                yield from read_each(
                    entries,
                    lambda entry: _records(entry, TitleFrame(), context, repeated),
                    lambda entry: entry.where,
                )
        yield from repeated.latest()


def _with_detected_frame(
    entries: Iterable[_ActivityEntry | SkippedEntry], context: ImportContext, repeated: RepeatedItems
) -> Iterator[ImportRecord]:
    """The records, after detecting the sentence around the titles from the first ones."""
    frame: TitleFrame | None = None
    sample: list[_ActivityEntry] = []

    def records(entries: Iterable[_ActivityEntry], frame: TitleFrame) -> Iterator[ImportRecord]:
        return read_each(
            entries, lambda entry: _records(entry, frame, context, repeated), lambda entry: entry.where
        )

    for entry in entries:
        if isinstance(entry, SkippedEntry):
            yield entry
        elif frame is None and parse_video_id(entry.url):
            sample.append(entry)
            if len(sample) == SAMPLE_SIZE:
                frame = _frame(sample)
                yield from records(sample, frame)
        else:
            yield from records([entry], frame or TitleFrame())
    if frame is None:
        yield from records(sample, _frame(sample))


def _frame(entries: Iterable[_ActivityEntry]) -> TitleFrame:
    return detect_frame([entry.text for entry in entries])


def _records(
    entry: _ActivityEntry, frame: TitleFrame, context: ImportContext, repeated: RepeatedItems
) -> Iterator[ImportRecord]:
    search, video_id = parse_search(entry.url), parse_video_id(entry.url)
    if not search and not video_id:
        yield SkippedEntry(entry.where, _skip_reason(entry))
    elif entry.time is None or not is_plausible_time(entry.time, context):
        yield SkippedEntry(entry.where, NO_TIME)
    elif search:
        yield from repeated.add(search.item(entry.time), entry.time)
    elif entry.is_ad:
        yield SkippedEntry(entry.where, "advertisement")
    elif not frame.matches(entry.text):
        yield SkippedEntry(entry.where, "video activity other than watching")
    elif video_id and not is_url(title := frame.title(entry.text)):
        is_music = entry.product == _MUSIC or "//music." in entry.url or entry.channel.endswith(_TOPIC)
        item = (
            song_item(title, entry.channel.removesuffix(_TOPIC), entry.time)
            if is_music
            else video_item(video_id, title, entry.time, entry.channel)
        )
        if item:
            yield from repeated.add(item, entry.time)
    else:
        yield SkippedEntry(entry.where, "removed video")


def _skip_reason(entry: _ActivityEntry) -> str:
    if entry.url:
        return "neither a search nor a video"
    return "removed video" if entry.product.startswith("YouTube") else "neither a search nor a video"


def _from_json(json_list: Iterable[JsonEntry], file: str) -> Iterator[_ActivityEntry | SkippedEntry]:
    for entry in json_list:
        where = f"{file}, entry {entry.number}"
        if entry.values is None:
            yield SkippedEntry(where, "broken or truncated entry")
            continue
        data = entry.values
        channel = next((part for part in _dicts(data.get("subtitles")) if part.get("url")), None)
        details = " ".join(_text(part.get("name")) for part in _dicts(data.get("details")))
        yield _ActivityEntry(
            where,
            _text(data.get("header")),
            tidy(_text(data.get("title"))),
            _text(data.get("titleUrl")),
            tidy(_text(channel.get("name"))) if channel else "",
            _time(_text(data.get("time"))),
            bool(_AD_CAPTION.search(details)),
        )


def _from_page(page_entry: HtmlEntry, file: str, context: ImportContext) -> _ActivityEntry:
    links = (*page_entry.links, ("", ""), ("", ""))
    (url, text), (_, channel) = links[0], links[1]
    return _ActivityEntry(
        f"{file}, entry {page_entry.number}",
        page_entry.product,
        text,
        url,
        channel if parse_video_id(url) else "",
        parse_localized_time(page_entry.time, context.user.zone),
        bool(_AD_CAPTION.search(page_entry.caption)),
    )


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dicts(value: object) -> Iterator[Mapping[str, Any]]:
    for part in cast("list[object]", value) if isinstance(value, list) else ():
        if isinstance(part, dict):
            yield cast("dict[str, Any]", part)
