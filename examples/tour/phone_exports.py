"""What the same user exports from a phone and from services: messages, calls, tasks, notes and music."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

CHAT = (
    ("Rui Duarte", 26, "Can you bring the thermos on Sunday?"),
    ("Ines Duarte", 25, "Sure. The oars are with me, too."),
    ("Rui Duarte", 24, "The gate code of the boathouse is 4417"),
)
CALLS = (("+351 912 345 678", "Rui Duarte", 3, 50, 312), ("+351 910 000 020", "Barro Studio", 1, 5, 0))
TASKS = (("Buy cones for the kiln", 2), ("Renew the library card", 6))
NOTE = ("Wifi at the studio", "Network: barro. Password: celadon-1280.")
PLAYS = (("Amália Rodrigues", "Barco Negro", 30), ("Amália Rodrigues", "Lágrima", 6))
_INCOMING, _MISSED = 1, 3


def write_exports(folder: Path, now: datetime) -> None:
    """Write the files in the formats of the programs; times are relative to `now`, in hours unless said."""
    _write(folder / "WhatsApp Chat with Rui Duarte.txt", _whatsapp(now))
    _write(folder / "calls.xml", _calls(now))
    _write(folder / "Takeout/Tasks/Tasks.json", _tasks(now))
    _write(folder / "Takeout/Keep/Wifi.json", _keep(now))
    _write(folder / "Spotify Account Data/StreamingHistory_music_0.json", _plays(now))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _whatsapp(now: datetime) -> str:
    lines = [
        f"{now - timedelta(hours=hours):%d/%m/%Y, %H:%M} - {author}: {text}" for author, hours, text in CHAT
    ]
    return "\n".join(lines) + "\n"


def _calls(now: datetime) -> str:
    rows: list[str] = []
    for number, name, days, minutes, seconds in CALLS:
        date = _milliseconds(now - timedelta(days=days, minutes=minutes))
        kind = _INCOMING if seconds else _MISSED
        rows.append(
            f'<call number="{number}" contact_name="{name}" duration="{seconds}" '
            f'date="{date}" type="{kind}" />'
        )
    return (
        f"<?xml version='1.0' encoding='UTF-8'?>\n<calls count=\"{len(rows)}\">\n{''.join(rows)}\n</calls>\n"
    )


def _tasks(now: datetime) -> str:
    items = [
        {
            "kind": "tasks#task",
            "id": f"t{number}",
            "title": title,
            "status": "needsAction",
            "due": f"{now + timedelta(days=days):%Y-%m-%d}T00:00:00Z",
            "updated": f"{now:%Y-%m-%dT%H:%M:%SZ}",
        }
        for number, (title, days) in enumerate(TASKS)
    ]
    task_list = {"kind": "tasks#tasks", "id": "l1", "title": "My Tasks", "items": items}
    return json.dumps({"kind": "tasks#taskLists", "items": [task_list]})


def _keep(now: datetime) -> str:
    title, text = NOTE
    edited = 1000 * _milliseconds(now - timedelta(days=20))
    note = {"color": "DEFAULT", "isTrashed": False, "isPinned": False, "isArchived": False}
    return json.dumps(
        {
            **note,
            "title": title,
            "textContent": text,
            "userEditedTimestampUsec": edited,
            "createdTimestampUsec": edited,
        }
    )


def _plays(now: datetime) -> str:
    rows = [
        {
            "endTime": f"{now.astimezone(UTC) - timedelta(hours=hours):%Y-%m-%d %H:%M}",
            "artistName": artist,
            "trackName": track,
            "msPlayed": 210_000,
        }
        for artist, track, hours in PLAYS
    ]
    return json.dumps(rows)


def _milliseconds(time: datetime) -> int:
    return int(time.timestamp() * 1000)
