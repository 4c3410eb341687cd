"""What was searched for, watched and heard at Google, as Takeout has it: My Activity, YouTube's history."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.music.song import song
from contextune.importers.parsing.html_text import tidy
from contextune.importers.parsing.json_stream import JsonEntry, entries
from contextune.importers.parsing.localized_times import written_time
from contextune.importers.reader import Found, ImportContext, each
from contextune.importers.repeated import NO_TIME, RepeatedItems, possible
from contextune.importers.web.google_activity_html import MARK, HtmlEntry, told
from contextune.importers.web.google_activity_titles import ENOUGH, TitleFrame, frame_of
from contextune.importers.web.urls import is_url, search_in, video, video_in

_SIGNS = ('"header"', '"time"', '"title"')
_PAGE_START = 2**19
"""Bytes within which a page of activity has its first entry: before it stands a long sheet of styles."""
_ADVERTISED = re.compile(r"Google.{0,3}(?:Ads|Anzeigen|Annonces|Advertenties|Anuncios|広告)", re.IGNORECASE)
_TOPIC = " - Topic"
_MUSIC = "YouTube Music"


@dataclass(frozen=True, slots=True)
class _ActivityEntry:
    """One entry: what was done, in a sentence or only what it was done to, where, and when."""

    where: str
    product: str
    said: str
    url: str
    channel: str
    time: datetime | None
    advertised: bool


class GoogleActivityReader:
    """My Activity, the watch and the search history of Google's Takeout, as JSON or HTML, in any language."""

    name = "activity"
    apps = ("Google", "YouTube", "Music")

    def reads(self, file: SourceFile) -> bool:
        """Whether it is a list of things done, or a page that shows one."""
        if file.suffix == ".json":
            start = file.start
            return start.lstrip().startswith("[") and all(sign in start for sign in _SIGNS)
        if file.suffix not in (".html", ".htm") or b"<style" not in file.head:
            return False
        with file.open() as stream:
            return MARK in stream.read(_PAGE_START)

    def read(self, file: SourceFile, about: ImportContext) -> Iterator[Found]:
        """Searches, videos and songs. An entry of another kind is counted, and not kept."""
        known = RepeatedItems(about)
        with file.open() as stream:
            if file.suffix == ".json":
                acts = _from_json(entries(stream), file.where)
                yield from _framed(acts, about, known)
            else:
                acts = (_from_page(one, file.where, about) for one in told(stream))
                yield from each(
                    acts, lambda act: _found(act, TitleFrame(), about, known), lambda act: act.where
                )
        yield from known.latest()


def _framed(
    acts: Iterable[_ActivityEntry | SkippedEntry], about: ImportContext, known: RepeatedItems
) -> Iterator[Found]:
    """What was done, after the first titles have shown in what sentence they stand."""
    frame: TitleFrame | None = None
    waiting: list[_ActivityEntry] = []

    def found(acts: Iterable[_ActivityEntry], frame: TitleFrame) -> Iterator[Found]:
        return each(acts, lambda act: _found(act, frame, about, known), lambda act: act.where)

    for act in acts:
        if isinstance(act, SkippedEntry):
            yield act
        elif frame is None and video_in(act.url):
            waiting.append(act)
            if len(waiting) == ENOUGH:
                frame = _frame(waiting)
                yield from found(waiting, frame)
        else:
            yield from found([act], frame or TitleFrame())
    if frame is None:
        yield from found(waiting, _frame(waiting))


def _frame(acts: Iterable[_ActivityEntry]) -> TitleFrame:
    return frame_of([act.said for act in acts])


def _found(
    act: _ActivityEntry, frame: TitleFrame, about: ImportContext, known: RepeatedItems
) -> Iterator[Found]:
    search, name = search_in(act.url), video_in(act.url)
    if not search and not name:
        yield SkippedEntry(act.where, _other(act))
    elif act.time is None or not possible(act.time, about):
        yield SkippedEntry(act.where, NO_TIME)
    elif search:
        yield from known.met(search.item(act.time), act.time)
    elif act.advertised:
        yield SkippedEntry(act.where, "an advertisement")
    elif not frame.holds(act.said):
        yield SkippedEntry(act.where, "something done with a video, but not watching it")
    elif name and not is_url(title := frame.title(act.said)):
        heard = act.product == _MUSIC or "//music." in act.url or act.channel.endswith(_TOPIC)
        item = (
            song(title, act.channel.removesuffix(_TOPIC), act.time)
            if heard
            else video(name, title, act.time, act.channel)
        )
        if item:
            yield from known.met(item, act.time)
    else:
        yield SkippedEntry(act.where, "a video that is gone")


def _other(act: _ActivityEntry) -> str:
    if act.url:
        return "neither a search nor a video"
    return "a video that is gone" if act.product.startswith("YouTube") else "neither a search nor a video"


def _from_json(listed: Iterable[JsonEntry], file: str) -> Iterator[_ActivityEntry | SkippedEntry]:
    for entry in listed:
        where = f"{file}, entry {entry.number}"
        if entry.values is None:
            yield SkippedEntry(where, "an entry that is broken or cut off")
            continue
        given = entry.values
        channel = next((one for one in _dicts(given.get("subtitles")) if one.get("url")), None)
        details = " ".join(_text(one.get("name")) for one in _dicts(given.get("details")))
        yield _ActivityEntry(
            where,
            _text(given.get("header")),
            tidy(_text(given.get("title"))),
            _text(given.get("titleUrl")),
            tidy(_text(channel.get("name"))) if channel else "",
            _time(_text(given.get("time"))),
            bool(_ADVERTISED.search(details)),
        )


def _from_page(one: HtmlEntry, file: str, about: ImportContext) -> _ActivityEntry:
    links = (*one.links, ("", ""), ("", ""))
    (url, said), (_, channel) = links[0], links[1]
    return _ActivityEntry(
        f"{file}, entry {one.number}",
        one.product,
        said,
        url,
        channel if video_in(url) else "",
        written_time(one.time, about.user.zone),
        bool(_ADVERTISED.search(one.small)),
    )


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dicts(value: object) -> Iterator[Mapping[str, Any]]:
    for one in cast("list[object]", value) if isinstance(value, list) else ():
        if isinstance(one, dict):
            yield cast("dict[str, Any]", one)
