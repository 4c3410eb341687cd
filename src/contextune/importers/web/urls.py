"""What was searched for and watched on the web, as addresses tell: they are the same in every language."""

import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qs, unquote_plus, urlsplit

from contextune.importers.parsing.html_text import tidy
from contextune.importers.reader import iso, item_id, shortened
from contextune.types import Item

_MOST_QUERY = 300
_MOST_TITLE = 300
_MOST_URL = 8000


@dataclass(frozen=True, slots=True)
class _SearchEngine:
    host: re.Pattern[str]
    path: re.Pattern[str]
    """Of the page with what was found; the words themselves, if they stand in it, are its group."""
    query: str = ""
    """What the words are called in the address."""
    site: str = ""
    """Where it was searched, unless all over the web."""


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
    """Words that were searched for, and where, unless all over the web."""

    words: str
    site: str = ""

    def item(self, time: datetime) -> Item:
        """The search as it was last made; letters large or small make no difference."""
        fields = {"query": self.words, "date": iso(time), "site": self.site}
        own = item_id("search", self.site, self.words.casefold())
        return Item(own, "Google", {key: value for key, value in fields.items() if value})


def search_in(url: str) -> WebSearch | None:
    """The search that a page of results answers; None for any other page."""
    page = _page(url)
    if page is None:
        return None
    for engine in _engines(page.host):
        if found := engine.path.match(page.path):
            text = unquote_plus(found[1]) if engine.path.groups else page.query(engine.query)
            words = shortened(tidy(text).replace("\n", " "), _MOST_QUERY)
            return WebSearch(words, engine.site) if words else None
    return None


def video_in(url: str) -> str | None:
    """What YouTube calls the video that a page shows; None for any other page."""
    page = _page(url)
    if page is None:
        return None
    if page.host == "youtu.be":
        found = _VIDEO.match(page.path[1:])
        return found[0] if found else None
    if not _YOUTUBE.fullmatch(page.host):
        return None
    if page.path == "/watch":
        name = page.query("v")
        return name if _VIDEO.fullmatch(name) else None
    found = _VIDEO_PATH.match(page.path)
    return found[1] if found else None


def video(name: str, title: str, time: datetime, channel: str = "") -> Item:
    """A video as it was last watched."""
    fields = {"title": shortened(tidy(title), _MOST_TITLE), "channel": tidy(channel), "date": iso(time)}
    return Item(item_id("video", name), "YouTube", {key: value for key, value in fields.items() if value})


def is_url(text: str) -> bool:
    """Whether it is an address: that is what stands in place of the title of a video that is gone."""
    return text.startswith(("https://", "http://", "www."))


class _PageUrl(NamedTuple):
    """An address in its parts."""

    host: str
    path: str
    rest: str

    def query(self, name: str) -> str:
        """What the address says under this name, or nothing."""
        if f"{name}=" not in self.rest:
            return ""
        try:
            found = parse_qs(self.rest, max_num_fields=200)
        except ValueError:
            return ""
        return found.get(name, [""])[0]


@lru_cache(maxsize=16)  # the same address is asked about several times in a row
def _page(url: str) -> _PageUrl | None:
    if not url.startswith(("https://", "http://")) or len(url) > _MOST_URL:
        return None
    try:
        parts = urlsplit(url)
        return _PageUrl((parts.hostname or "").lower(), parts.path, parts.query)
    except ValueError:
        return None


@lru_cache(maxsize=64)
def _engines(host: str) -> tuple[_SearchEngine, ...]:
    return tuple(engine for engine in _ENGINES if engine.host.fullmatch(host))
