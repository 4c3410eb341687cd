"""Recognise search and video URLs, which are the same in every language."""

import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qs, unquote_plus, urlsplit

from contextune.importers.parsing.html_text import tidy
from contextune.importers.reader import iso_time, item_id, shorten
from contextune.types import Item

_MAX_QUERY = 300
_MAX_TITLE = 300
_MAX_URL = 8000


@dataclass(frozen=True, slots=True)
class _SearchEngine:
    host: re.Pattern[str]
    path: re.Pattern[str]
    """Path of the results page; its group is the query, if the path contains it."""
    query: str = ""
    """URL parameter of the query."""
    site: str = ""
    """The site that is searched; "" for the web."""


def _engine(host: str, path: str, query: str = "", site: str = "") -> _SearchEngine:
    return _SearchEngine(re.compile(host), re.compile(path), query, site)


_GOOGLE = r"(?:www\.)?google\.(?:com?\.)?[a-z]{2,3}"
_ENGINES = (
    _engine(_GOOGLE, "/search$", "q"),
    _engine(rf"{_GOOGLE}|maps\.google\..*", "/maps/search/([^/@]+)", site="Google Maps"),
    _engine(r"(?:www\.|m\.)?youtube\.com", "/results$", "search_query", "YouTube"),
    _engine(r"music\.youtube\.com", "/search$", "q", "YouTube Music"),
    _engine(r"(?:www\.|cn\.)?bing\.com", "/search$", "q"),
    _engine(r"(?:html\.|lite\.)?duckduckgo\.com", "/(?:html/?|lite/?)?$", "q"),
    _engine(r"search\.brave\.com", "/search$", "q"),
    _engine(r"(?:[a-z]+\.)?search\.yahoo\.com", "/search", "p"),
    _engine(r"(?:www\.)?ecosia\.org", "/search$", "q"),
    _engine(r"(?:www\.)?startpage\.com", "/(?:sp|do)/", "query"),
    _engine(r"(?:www\.)?qwant\.com", "/$", "q"),
    _engine(r"kagi\.com", "/search$", "q"),
    _engine(r"(?:www\.)?yandex\.[a-z.]+|ya\.ru", "/search", "text"),
    _engine(r"(?:www\.)?baidu\.com", "/s$", "wd"),
    _engine(r"search\.naver\.com", "/search\\.naver$", "query"),
    _engine(r"play\.google\.com", "/store/search$", "q", "Google Play"),
)
_YOUTUBE = re.compile(r"(?:www\.|m\.|music\.)?youtube(?:-nocookie)?\.com")
_VIDEO = re.compile(r"[\w-]{11}")
_VIDEO_PATH = re.compile(r"/(?:shorts|live|embed|v)/([\w-]{11})(?:/|$)")


@dataclass(frozen=True, slots=True)
class WebSearch:
    """A search query, and the site that was searched ("" for the web)."""

    words: str
    site: str = ""

    def item(self, time: datetime) -> Item:
        """The item of a search made at this time; case does not matter for its id."""
        fields = {"query": self.words, "date": iso_time(time), "site": self.site}
        search_id = item_id("search", self.site, self.words.casefold())
        return Item(search_id, "Google", {key: value for key, value in fields.items() if value})


def parse_search(url: str) -> WebSearch | None:
    """The search of a results page; None for any other URL."""
    page = _page(url)
    if page is None:
        return None
    for engine in _engines(page.host):
        if match := engine.path.match(page.path):
            text = unquote_plus(match[1]) if engine.path.groups else page.query(engine.query)
            words = shorten(tidy(text).replace("\n", " "), _MAX_QUERY)
            return WebSearch(words, engine.site) if words else None
    return None


def parse_video_id(url: str) -> str | None:
    """The YouTube id of a video page; None for any other URL."""
    page = _page(url)
    if page is None:
        return None
    if page.host == "youtu.be":
        match = _VIDEO.match(page.path[1:])
        return match[0] if match else None
    if not _YOUTUBE.fullmatch(page.host):
        return None
    if page.path == "/watch":
        video_id = page.query("v")
        return video_id if _VIDEO.fullmatch(video_id) else None
    match = _VIDEO_PATH.match(page.path)
    return match[1] if match else None


def video_item(video_id: str, title: str, time: datetime, channel: str = "") -> Item:
    """The item of a video watched at this time."""
    fields = {"title": shorten(tidy(title), _MAX_TITLE), "channel": tidy(channel), "date": iso_time(time)}
    return Item(item_id("video", video_id), "YouTube", {key: value for key, value in fields.items() if value})


def is_url(text: str) -> bool:
    """Whether a title is a URL, as for a removed video."""
    return text.startswith(("https://", "http://", "www."))


class _PageUrl(NamedTuple):
    """The parts of a URL."""

    host: str
    path: str
    query_string: str

    def query(self, name: str) -> str:
        """The value of a URL parameter, or ""."""
        if f"{name}=" not in self.query_string:
            return ""
        try:
            parameters = parse_qs(self.query_string, max_num_fields=200)
        except ValueError:
            return ""
        return parameters.get(name, [""])[0]


@lru_cache(maxsize=16)  # each URL is checked several times in a row
def _page(url: str) -> _PageUrl | None:
    if not url.startswith(("https://", "http://")) or len(url) > _MAX_URL:
        return None
    try:
        parts = urlsplit(url)
        return _PageUrl((parts.hostname or "").lower(), parts.path, parts.query)
    except ValueError:
        return None


@lru_cache(maxsize=64)
def _engines(host: str) -> tuple[_SearchEngine, ...]:
    return tuple(engine for engine in _ENGINES if engine.host.fullmatch(host))
