"""Playlists of Spotify's account data and of YouTube in Google Takeout."""

import json
from pathlib import Path
from typing import Any

from tests.importers.reading_files import fields_in, items_in, skipped_in


def track(name: str, artist: str) -> dict[str, Any]:
    return {
        "track": {
            "trackName": name,
            "artistName": artist,
            "albumName": "Live",
            "trackUri": "spotify:track:4cOdK2wGLETKBW3PvgPWqT",
        },
        "episode": None,
        "audiobook": None,
        "localTrack": None,
        "addedDate": "2024-03-11",
    }


def spotify(folder: Path, *playlists: dict[str, Any]) -> Path:
    path = folder / "Playlist1.json"
    path.write_text(json.dumps({"playlists": playlists}, indent=2, ensure_ascii=False), encoding="utf-8")
    return path


def playlist(name: str, *items: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "lastModifiedDate": "2024-05-05",
        "collaborators": [],
        "items": items,
        "description": None,
        "numberOfFollowers": 0,
    }


def test_playlists_of_spotify(tmp_path: Path) -> None:
    episode = {"track": None, "episode": {"episodeName": "Glazes"}, "localTrack": None}
    path = spotify(
        tmp_path,
        playlist("Throwing", track("Lágrima", "Amália Rodrigues"), episode, track("Jinx", "Tuxedomoon")),
        playlist(" "),
        playlist("Empty"),
    )
    first, empty = items_in(path)
    assert first.fields == {
        "playlist": "Throwing",
        "songs": ["Lágrima – Amália Rodrigues", "Jinx – Tuxedomoon"],
        "service": "spotify",
    }
    assert "playlist: Throwing" in first.text
    assert first.time is None  # it is always there
    assert empty.fields == {"playlist": "Empty", "service": "spotify"}
    assert skipped_in(path) == ["playlist without a name"]
    longer = spotify(tmp_path, playlist("Throwing", track("Naima", "John Coltrane")))
    assert items_in(longer)[0].id == first.id


def test_broken_playlists_are_reported(tmp_path: Path) -> None:
    whole = spotify(tmp_path, playlist("Throwing")).read_text(encoding="utf-8")
    (tmp_path / "Playlist1.json").write_text(whole[:-9], encoding="utf-8")
    assert skipped_in(tmp_path) == ["invalid JSON"]


def test_playlists_of_youtube(tmp_path: Path) -> None:
    folder = tmp_path / "Takeout/YouTube and YouTube Music/playlists"
    folder.mkdir(parents=True)
    (folder / "playlists.csv").write_text(
        "Playlist ID,Add new videos to top,Playlist Title (Original),Playlist Title (Original) Language,"
        "Playlist Create Timestamp,Playlist Update Timestamp,Playlist Video Order,Playlist Visibility\n"
        "PL1,False,Kiln songs,en,2024-01-20T20:00:00+00:00,2024-05-10T20:00:00+00:00,Manual,Private\n"
        "PL2,False,,,2024-01-20T20:00:00+00:00,2024-05-10T20:00:00+00:00,Manual,Private\n"
    )
    (folder / "Kiln songs-videos.csv").write_text(
        "Video ID,Playlist Video Creation Timestamp\n00000000001,2024-05-10T20:00:00+00:00\n"
    )
    assert fields_in(tmp_path) == [{"playlist": "Kiln songs", "service": "youtube"}]
    assert sorted(skipped_in(tmp_path)) == [
        "playlist without a name",
        "videos of a playlist, without their titles",
    ]
