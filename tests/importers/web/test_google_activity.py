"""Google Takeout: searches, videos and songs, as JSON and HTML, in many languages."""

import json
from html import escape
from pathlib import Path
from typing import Any

import pytest
from tests.importers.reading_files import INES, NOW, items_in, only_file, read_path, skipped_in, utc

from contextune.importers import import_into
from contextune.importers.files import SkippedEntry
from contextune.importers.registry import detect_reader
from contextune.importers.web.google_activity import detect_frame
from contextune.importers.web.urls import parse_search, parse_video_id
from contextune.store import SQLiteStore
from contextune.types import Item, UsageEvent

WATCH = "https://www.youtube.com/watch?v\u003d"
TOPIC = [{"name": "Amália Rodrigues - Topic", "url": "https://www.youtube.com/channel/UC1"}]
GONE = "removed video"
OTHER = "neither a search nor a video"


def searched(words: str, time: str = "2024-05-14T21:10:00.123Z", **more: Any) -> dict[str, Any]:
    return {
        "header": "Search",
        "title": f"Searched for {words}",
        "titleUrl": f"https://www.google.com/search?q={words.replace(' ', '+')}",
        "time": time,
        "products": ["Search"],
        "activityControls": ["Web & App Activity"],
        **more,
    }


def watched(title: str, number: int = 0, /, **more: Any) -> dict[str, Any]:
    return {
        "header": "YouTube",
        "title": f"Watched {title}",
        "titleUrl": f"{WATCH}{number:011}",
        "subtitles": [{"name": "Barro Studio", "url": "https://www.youtube.com/channel/UC0"}],
        "time": "2024-05-14T20:00:00Z",
        "products": ["YouTube"],
        "activityControls": ["YouTube watch history"],
        **more,
    }


def activity(folder: Path, *done: dict[str, Any], name: str = "MyActivity.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(done, ensure_ascii=False), encoding="utf-8")
    return path


def test_repeated_search_is_one_item_with_several_uses(tmp_path: Path, store: SQLiteStore) -> None:
    path = activity(
        tmp_path,
        searched("celadon crazing why", "2024-05-14T21:10:00.123Z"),
        searched("Celadon  Crazing why", "2024-05-12T09:00:00Z"),
        searched("kiln wash", "2024-05-11T09:00:00Z"),
    )
    store.put_user(INES)
    report = import_into(store, "ines", [path], now=NOW)
    items = {item.title: item for item in store.items("ines")}
    assert {title: item.fields for title, item in items.items()} == {
        "celadon crazing why": {"query": "celadon crazing why", "date": "2024-05-14T21:10+00:00"},
        "kiln wash": {"query": "kiln wash", "date": "2024-05-11T09:00+00:00"},
    }
    uses = store.uses("ines", item=items["celadon crazing why"].id)
    assert [use.time for use in uses] == [utc(2024, 5, 12, 9), utc(2024, 5, 14, 21, 10)]
    assert [(row.app, row.new) for row in report.rows] == [("Google", 2)]
    assert import_into(store, "ines", [path], now=NOW).changed == 0


def test_watched_videos_are_videos_or_songs(tmp_path: Path) -> None:
    path = activity(
        tmp_path,
        watched("Throwing a tall vase", 1),
        watched("Lágrima", 2, header="YouTube Music", subtitles=TOPIC),
        watched("Barco Negro", 3, subtitles=TOPIC),
    )
    date = "2024-05-14T20:00+00:00"
    assert [(item.app, item.fields) for item in items_in(path)] == [
        ("YouTube", {"title": "Throwing a tall vase", "channel": "Barro Studio", "date": date}),
        ("Music", {"song_name": "Lágrima", "artist": "Amália Rodrigues", "played_time": date}),
        ("Music", {"song_name": "Barco Negro", "artist": "Amália Rodrigues", "played_time": date}),
    ]
    assert skipped_in(path) == []


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (watched("Buy clay", 4, details=[{"name": "From Google Ads"}]), "advertisement"),
        (watched(f"{WATCH}00000000005", 5, subtitles=None), GONE),
        ({"header": "YouTube", "title": "Watched a removed video", "time": "2024-05-14T20:00:00Z"}, GONE),
        (watched("", 6, title="Liked Glaze basics"), "video activity other than watching"),
        (watched("No time", 7, time="14 days ago"), "no valid time"),
        (watched("Of the future", 8, time="2044-05-14T20:00:00Z"), "no valid time"),
        (
            searched("x", titleUrl="https://www.google.com/url?q=https://clay.example.com/&usg=A"),
            OTHER,
        ),
        ({"header": "Android", "title": "Used Clock", "time": "2024-05-14T20:00:00Z"}, OTHER),
        ({"header": "Maps", "title": None, "titleUrl": 5, "time": None, "subtitles": "x"}, OTHER),
    ],
)
def test_other_activity_is_skipped_with_a_reason(tmp_path: Path, entry: dict[str, Any], reason: str) -> None:
    titles = ["A vase", "A bowl", "A jug", "A cup", "A lid"]  # enough to detect "Watched …"
    path = activity(tmp_path, *(watched(title, number) for number, title in enumerate(titles, 20)), entry)
    assert [item.title for item in items_in(path)] == titles
    assert skipped_in(path) == [reason]


@pytest.mark.parametrize(
    "frame",
    [
        "Watched {}",
        "{} angesehen",
        "Vous avez regardé {}",
        "Has visto {}",
        "{} を視聴しました",
        "Je hebt naar {} gekeken",
        "Ha mirat {}",  # not in the table: told by what all have in common
        "{} megnézve",
        "Você assistiu a\u00a0{}",
    ],
)
def test_title_frame_is_stripped_in_every_language(tmp_path: Path, frame: str) -> None:
    titles = ["Throwing a tall vase", "Three glazes", "Kiln wash, and why", "angesehen", "Raku at night"]
    path = activity(tmp_path, *(watched("", n, title=frame.format(title)) for n, title in enumerate(titles)))
    assert [item.title for item in items_in(path)] == titles
    assert skipped_in(path) == []


def test_few_titles_in_an_unknown_language_are_kept_whole() -> None:
    assert detect_frame(["Ha mirat A", "Ha mirat B"]).title("Ha mirat A") == "Ha mirat A"
    assert detect_frame([]).title("x") == "x"


def test_long_and_truncated_histories(tmp_path: Path) -> None:
    done = [watched(f"Video {n}", n) if n % 2 else searched(f"word {n}") for n in range(2000)]
    path = activity(tmp_path, *done)
    assert len(items_in(path)) == 2000
    path.write_bytes(path.read_bytes()[:-30])
    assert len(items_in(path)) == 1999
    assert skipped_in(path) == ["broken or truncated entry"]


def cell(product: str, content: str, small: str = "") -> str:
    """An entry of a Takeout page."""
    kind = "mdl-cell mdl-cell--6-col mdl-typography--body-1"
    return (
        '<div class="outer-cell mdl-cell mdl-cell--12-col mdl-shadow--2dp"><div class="mdl-grid">'
        '<div class="header-cell mdl-cell mdl-cell--12-col"><p class="mdl-typography--title">'
        f'{product}<br></p></div><div class="content-cell {kind}">{content}</div>'
        f'<div class="content-cell {kind} mdl-typography--text-right"></div>'
        '<div class="content-cell mdl-cell mdl-cell--12-col mdl-typography--caption"><b>Products:</b><br>'
        f"&emsp;{product}<br>{small}</div></div></div>"
    )


def link(url: str, words: str) -> str:
    return f'<a href="{escape(url)}">{escape(words)}</a>'


def page(folder: Path, *cells: str, name: str = "MyActivity.html") -> Path:
    style = ".mdl-button{background:0 0}" * 6000  # more than is looked at first
    path = folder / name
    path.write_text(
        f'<html><head><meta charset="utf-8"><title>My Activity History</title><style>{style}</style></head>'
        f'<body><div class="mdl-grid">{"".join(cells)}</div></body></html>',
        encoding="utf-8",
    )
    return path


def test_html_pages_give_the_same_items_as_json(tmp_path: Path) -> None:
    channel = link("https://www.youtube.com/channel/UC0", "Barro Studio")
    vase = link(f"{WATCH}00000000001", "Throwing a tall vase")
    gone = link(f"{WATCH}00000000003", f"{WATCH}00000000003")
    time = "May 14, 2024, 9:00:00\u202fPM WEST<br>"
    search = link("https://www.google.com/search?q=celadon+crazing+why&hl=pt", "celadon crazing why")
    path = page(
        tmp_path,
        cell("YouTube", f"Watched&nbsp;{vase}<br>{channel}<br>{time}"),
        cell("Search", f"Searched for&nbsp;{search}<br>May 14, 2024, 10:10:00 PM WEST<br>"),
        cell("YouTube", f"Watched&nbsp;{gone}<br>{time}"),
        cell("YouTube", f"Watched a video that has been removed<br>{time}"),
        cell("YouTube", f"Watched&nbsp;{vase}<br>{time}", "<b>Details:</b><br>&emsp;From Google Ads<br>"),
        cell("Search", f"Searched for&nbsp;{search}<br>gestern<br>"),
        cell("Search", ""),
    )
    same = activity(tmp_path, watched("Throwing a tall vase", 1), searched("celadon crazing why"))
    assert sorted(items_in(path), key=lambda item: item.id) == sorted(
        (
            type(item)(item.id, item.app, {**item.fields, "date": _lisbon(item.fields["date"])})
            for item in items_in(same)
        ),
        key=lambda item: item.id,
    )
    assert skipped_in(path) == [
        GONE,
        GONE,
        "advertisement",
        "no valid time",
        OTHER,
    ]


def _lisbon(date: str) -> str:
    hour = int(date[11:13]) + 1
    return f"{date[:11]}{hour:02}{date[13:16]}+01:00"


@pytest.mark.parametrize(
    ("sentence", "time"),
    [
        ("{} angesehen", "16.05.2024, 17:40:12 MESZ"),
        ("Vous avez regardé&nbsp;{}", "16 mai 2024, 17:40:12 CEST"),
        ("Has visto {}", "16 may 2024, 17:40:12 CEST"),
        ("{}&nbsp;を視聴しました", "2024/05/17 0:40:12 JST"),
    ],
)
def test_html_pages_in_other_languages(tmp_path: Path, sentence: str, time: str) -> None:
    content = sentence.format(link(f"{WATCH}00000000001", "Vase & “bowl” <1>"))
    path = page(tmp_path, cell("YouTube", f"{content}<br>{time}<br>"), name="Wiedergabeverlauf.html")
    (item,) = items_in(path)
    assert item.title == "Vase & “bowl” <1>"
    (use,) = [record for record in read_path(path) if isinstance(record, UsageEvent)]
    assert use.time == utc(2024, 5, 16, 15, 40, 12)


def test_long_pages_and_unclosed_entries_are_streamed(tmp_path: Path) -> None:
    time = "May 14, 2024, 9:00:00 PM WEST<br>"
    cells = [
        cell("YouTube", f"Watched {link(f'{WATCH}{n:011}', f'Video {n}')}<br>{time}") for n in range(1200)
    ]
    cells[600] = '<div class="outer-cell">' + '<div class="content-cell">' * 40_000
    path = page(tmp_path, *cells)
    records = read_path(path)
    assert sum(isinstance(record, Item) for record in records) == 1199
    assert [record.why for record in records if isinstance(record, SkippedEntry)] == [OTHER]


def test_web_page_is_not_an_activity_page(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("<html><style>a{}</style><script>1</script><div class='outer'>x</div></html>")
    assert detect_reader(only_file(path)) is None


@pytest.mark.parametrize(
    ("url", "words", "site"),
    [
        ("https://www.google.com/search?q=kiln+wash&tbm=isch", "kiln wash", ""),
        ("https://www.google.co.uk/search?hl=en&q=caf%C3%A9%20na%20esquina", "café na esquina", ""),
        ("https://duckduckgo.com/?q=kiln+wash&ia=web", "kiln wash", ""),
        ("https://www.bing.com/search?q=kiln+wash&form=QBLH", "kiln wash", ""),
        ("https://de.search.yahoo.com/search?p=kiln", "kiln", ""),
        ("https://www.startpage.com/sp/search?query=kiln", "kiln", ""),
        ("https://yandex.ru/search/?text=%D0%B3%D0%BB%D0%B8%D0%BD%D0%B0", "глина", ""),
        ("https://www.youtube.com/results?search_query=raku", "raku", "YouTube"),
        ("https://www.google.com/maps/search/clay+shop/@41.1,-8.6,14z", "clay shop", "Google Maps"),
    ],
)  # fmt: skip
def test_search_urls_are_recognised(url: str, words: str, site: str) -> None:
    search = parse_search(url)
    assert search
    assert (search.words, search.site) == (words, site)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "not an address",
        "https://www.google.com/search",
        "https://www.google.com/search?q=",
        "https://www.google.com/search?q=%20%20",
        "https://www.google.com/url?q=https://example.com",
        "https://google.com.evil.example/search?q=x",
        "https://evil.example/search?q=x",
        "javascript:alert(1)//www.google.com/search?q=x",
        "https://[::1/search?q=x",
        "https://www.google.com/search?q=" + "&a=1" * 300,
        "https://www.google.com/search?" + "q" * 9000,
    ],
)
def test_other_urls_are_not_searches(url: str) -> None:
    assert parse_search(url) is None


def test_all_forms_of_video_urls_are_recognised() -> None:
    name = "dQw4w9WgXcQ"
    for url in (
        f"https://www.youtube.com/watch?v={name}&t=10s",
        f"https://m.youtube.com/watch?app=desktop&v={name}",
        f"https://youtu.be/{name}?si=x",
        f"https://www.youtube.com/shorts/{name}",
        f"https://music.youtube.com/watch?v={name}",
    ):
        assert parse_video_id(url) == name
    for url in ("https://www.youtube.com/watch?v=short", "https://www.youtube.com/", "https://youtu.be/"):
        assert parse_video_id(url) is None
