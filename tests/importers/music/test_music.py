"""Spotify histories and Last.fm CSV files: songs with their plays, and skipped entries."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.importers.reading_files import CONTEXT, INES, NOW, items_in, only_file, read_path, skipped_in, utc

from contextune.importers import import_into
from contextune.importers.registry import detect_reader
from contextune.store import SQLiteStore
from contextune.types import UsageEvent


def play(name: str | None = "Lágrima", ts: str = "2024-05-15T06:24:00Z", **more: Any) -> dict[str, Any]:
    """A play as the extended history has it."""
    return {
        "ts": ts,
        "username": "ines",
        "platform": "Android OS 14 API 34",
        "ms_played": 240_000,
        "conn_country": "PT",
        "ip_addr_decrypted": "192.0.2.7",
        "master_metadata_track_name": name,
        "master_metadata_album_artist_name": "Amália Rodrigues" if name else None,
        "master_metadata_album_album_name": "Lágrima" if name else None,
        "spotify_track_uri": "spotify:track:0" if name else None,
        "episode_name": None,
        "episode_show_name": None,
        "spotify_episode_uri": None,
        "reason_start": "clickrow",
        "reason_end": "trackdone",
        "shuffle": False,
        "skipped": None,
        "offline": False,
        "offline_timestamp": 1715754000,
        "incognito_mode": False,
        **more,
    }


def history(folder: Path, *plays: dict[str, Any], name: str = "Streaming_History_Audio_2024_0.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(plays, ensure_ascii=False, indent=2), encoding="utf-8")
    return path


def uses_in(path: Path) -> list[UsageEvent]:
    return [record for record in read_path(path) if isinstance(record, UsageEvent)]


def test_plays_of_a_song_are_one_item_with_many_uses(tmp_path: Path, store: SQLiteStore) -> None:
    days = ["2024-05-13", "2024-05-15", "2024-05-14"]
    path = history(tmp_path, *(play(ts=f"{day}T06:24:00Z") for day in days), play("LÁGRIMA"))
    store.put_user(INES)
    report = import_into(store, "ines", [path], now=NOW)
    (item,) = store.items("ines")
    assert item.app == "Music"
    assert item.fields == {
        "song_name": "Lágrima",
        "artist": "Amália Rodrigues",
        "album_title": "Lágrima",
        "played_time": "2024-05-15T06:20+00:00",  # it began four minutes before it ended
    }
    # the play of 15 May is in the file twice
    assert [use.time for use in store.uses("ines")] == [utc(2024, 5, day, 6, 20) for day in (13, 14, 15)]
    assert (report.items, report.new, report.uses, report.new_uses) == (1, 1, 4, 3)
    assert not report.skipped


@pytest.mark.parametrize("backwards", [False, True])
def test_importing_plays_again_changes_nothing(tmp_path: Path, store: SQLiteStore, backwards: bool) -> None:
    plays = [play(f"Song {n % 7}", f"2024-05-{n % 15 + 1:02}T06:24:{n % 60:02}Z") for n in range(60)]
    path = history(tmp_path, *sorted(plays, key=lambda record: record["ts"], reverse=backwards))
    first = import_into(store, "ines", [path], now=NOW)
    before = store.revision("ines"), store.items("ines"), store.uses("ines")
    again = import_into(store, "ines", [path], now=NOW)
    assert (first.items, first.new, first.skipped) == (7, 7, ())
    assert (again.items, again.new, again.changed, again.new_uses, again.skipped) == (7, 0, 0, 0, ())
    assert (store.revision("ines"), store.items("ines"), store.uses("ines")) == before


def test_newer_export_continues_the_older(tmp_path: Path, store: SQLiteStore) -> None:
    old, new = play(ts="2023-12-31T23:59:00Z"), play(ts="2024-05-15T06:24:00Z", ms_played=200_000)
    import_into(store, "ines", [history(tmp_path, new, name="endsong_1.json")], now=NOW)
    report = import_into(store, "ines", [history(tmp_path, old, name="endsong_0.json")], now=NOW)
    assert (report.new, report.changed, report.new_uses) == (0, 0, 1)
    assert store.items("ines")[0].fields["played_time"] == "2024-05-15T06:20:40+00:00"
    assert len(store.uses("ines")) == 2


def test_podcasts_and_skipped_songs_are_reported(tmp_path: Path) -> None:
    path = history(
        tmp_path,
        play(ms_played=2_100, reason_end="fwdbtn", skipped=True),
        play("Interlude", ms_played=21_000),  # a short song that was heard to its end
        play(None, episode_name="The kiln", episode_show_name="Clay talk"),
        play(None, audiobook_title="Pots", audiobook_chapter_title="One"),
        play(None),
        play(incognito_mode=True),
        play(ts="1970-01-01T00:00:00Z"),
        play(ts="2031-05-15T06:24:00Z"),
        play(ts="yesterday"),
        play(ts=None),  # pyright: ignore[reportArgumentType]
        play(ms_played="a while"),
        {"ts": "2024-05-15T06:24:00Z", "ms_played": 99_000},
    )
    assert [item.title for item in items_in(path)] == ["Interlude"]
    assert skipped_in(path) == [
        "played for less than 30 seconds",
        "podcast episode",
        "audiobook chapter",
        "song without a name (removed from the service)",
        "private session",
        *["no valid time"] * 4,
        "cannot be parsed (TypeError)",
        "song without a name (removed from the service)",
    ]


def test_short_spotify_history(tmp_path: Path) -> None:
    heard = {"artistName": "Amália Rodrigues", "trackName": "Lágrima"}
    episode = {"podcastName": "Clay talk", "episodeName": "The kiln"}
    book = {"audiobookName": "Clay", "chapterName": "One"}
    plays = [{"endTime": "2024-05-15 06:24", "msPlayed": 240_000, **what} for what in (heard, episode, book)]
    path = history(tmp_path, *plays, name="StreamingHistory_music_0.json")
    assert items_in(path)[0].id == items_in(history(tmp_path, play()))[0].id
    assert skipped_in(path) == ["podcast episode", "audiobook chapter"]


def test_truncated_history_is_read_to_its_end(tmp_path: Path) -> None:
    path = history(tmp_path, *(play(f"Song {n}") for n in range(50)))
    path.write_bytes(path.read_bytes()[:-400])
    assert len(items_in(path)) == 49
    assert skipped_in(path) == ["broken or truncated entry"]


def test_repeated_hour_in_autumn_keeps_two_plays_apart(tmp_path: Path) -> None:
    first = play(ts="2023-10-29T00:34:00Z")  # 01:34 in Lisbon, and an hour later again
    path = history(tmp_path, first, play(ts="2023-10-29T01:34:00Z"))
    first, second = uses_in(path)
    assert second.time - first.time == timedelta(hours=1)
    assert CONTEXT.to_local(first.time) == CONTEXT.to_local(second.time)


TABLES = {
    "uts": 'uts,utc_time,artist,artist_mbid,album,album_mbid,track,track_mbid\n'
    '"1715754000","15 May 2024, 06:20","Amália Rodrigues","","Lágrima","","Lágrima",""\n',
    "bare": '"Amália Rodrigues","Lágrima","Lágrima","15 May 2024 06:20"\n',
    "stats": "Artist;Album;AlbumId;Track;Date#ines\n"
    '"Amália Rodrigues";"Lágrima";"";"Lágrima";"1715754000000"\n',
    "iso": "\ufeffArtist Name\tTrack Name\tAlbum Name\tTimestamp\n"
    "Amália Rodrigues\tLágrima\tLágrima\t2024-05-15T06:20:00+00:00\n",
    "two columns": ",Username,Artist,Track,Album,Date,Time\n"
    "0,ines,Amália Rodrigues,Lágrima,Lágrima,15 May 2024, 06:20\n",
    "uts and time": "uts,time,artist,album,name\n1715754000,06:20,Amália Rodrigues,Lágrima,Lágrima\n",
}  # fmt: skip


@pytest.mark.parametrize("shape", TABLES)
def test_lastfm_csv_variants_give_the_same_plays(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "scrobbles.csv"
    path.write_text(TABLES[shape], encoding="utf-8")
    (item,) = items_in(path)
    assert item == items_in(history(tmp_path, play()))[0]
    assert [use.time for use in uses_in(path)] == [utc(2024, 5, 15, 6, 20)]


def test_lastfm_json_of_lastfmstats(tmp_path: Path) -> None:
    plays = [
        {"track": "Lágrima", "artist": "Amália Rodrigues", "album": "Lágrima", "date": 1715754000000},
        {"track": "", "artist": "Nobody", "album": "", "date": 1715754000000},
    ]
    path = tmp_path / "lastfmstats-ines.json"
    path.write_text(json.dumps({"username": "ines", "scrobbles": plays}))
    assert items_in(path) == items_in(history(tmp_path, play()))
    assert skipped_in(path) == ["play without a song name"]


def test_plays_without_time_or_song_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "scrobbles.csv"
    rows = [
        "A,B,,1715754000",
        "A,B,C,",
        "A,B,C,soon",
        "",
        "A",
        '"x',
        "y" * 200_000 + '"',
        "A,B,after it,1715754000",
    ]
    path.write_text("artist,album,track,uts\n" + "\n".join(rows), encoding="utf-8")
    assert skipped_in(path) == [
        "play without a song name",
        *["no valid time"] * 3,
        "unreadable row",
    ]
    assert [item.title for item in items_in(path)] == ["after it"]


def test_csv_that_is_not_utf8_is_read_as_windows_1252(tmp_path: Path) -> None:
    path = tmp_path / "scrobbles.csv"
    path.write_bytes("artist,album,track,uts\nAmália,Ó,Lágrima,1715754000\n".encode("cp1252"))
    assert [item.fields["artist"] for item in items_in(path)] == ["Amália"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("table.csv", "artist,painting,year\nA,B,1999\n"),
        ("list.csv", "one,two,three,four\n"),
        ("list.json", '[{"ts": "x", "ms": 5}]'),
        ("object.json", '{"ts": 1, "ms_played": 2}'),
    ],
)
def test_other_csv_and_json_files_are_not_music(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert detect_reader(only_file(tmp_path / name)) is None
