"""A chat server that acts as the model: it writes valid answers, or invalid ones on request.

Answers depend on the question only, so the same question gets the same answer.
"""

import json
import random
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha256
from threading import Lock
from typing import Any

from tests.openai_server import OpenAIServer, Reply

Answer = dict[str, Any]
Spoil = Callable[[str, Answer, int], "Reply | Answer | None"]
"""(part, valid answer, how often the part was asked) -> another answer, or None to keep it."""

COMMON = [
    "about", "again", "any", "are", "back", "before", "call", "can", "check", "could", "day", "did", "do",
    "find", "for", "get", "give", "go", "have", "help", "here", "how", "if", "is", "it", "just", "know",
    "last", "later", "leave", "let", "long", "make", "me", "mine", "more", "my", "need", "new", "next",
    "now", "of", "off", "old", "on", "one", "open", "out", "over", "play", "please", "put", "read",
    "right", "same", "see", "send", "set", "should", "show", "some", "soon", "still", "take", "tell",
    "than", "that", "the", "them", "then", "there", "they", "thing", "this", "time", "to", "today",
    "tomorrow", "up", "us", "want", "was", "we", "what", "when", "where", "which", "who", "will", "with",
    "work",
]  # fmt: skip
TITLES = {
    "Calendar": ("get_event", ["list_events", "find_free_time"], "event_name"),
    "Mail": ("read_email", ["search_emails", "flag_email"], "subject"),
    "Reminders": ("get_reminder", ["list_reminders", "complete_reminder"], "title"),
    "Notes": ("read_note", ["search_notes", "pin_note"], "title"),
    "Google": ("get_search_history", ["search_web", "search_news"], "query"),
    "Music": ("play_song", ["play_album", "play_artist"], "song_name"),
    "PhoneCall": ("call_contact", ["call_number", "get_call_history"], "contact"),
}


def said(text: str, *, finish: str = "stop") -> Reply:
    message = {"role": "assistant", "content": text}
    return 200, {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "author",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


class Author(OpenAIServer):
    """Counts requests in `parts`; `spoil` replaces answers."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: dict[str, int] = {}
        self.spoil: Spoil = keep
        self._counting = Lock()

    def reply(self, body: dict[str, Any]) -> Reply:
        properties = wanted(body)["properties"]
        question = "\n".join(message["content"] for message in body["messages"][1:2])
        part, answer = _answer(properties, question)
        with self._counting:
            count = self.parts[part] = self.parts.get(part, 0) + 1
        worse = self.spoil(part, answer, count)
        if isinstance(worse, tuple):
            return worse
        return said(json.dumps(worse if worse is not None else answer))


def keep(_part: str, _answer: Answer, _count: int) -> None:
    """Keep the valid answer."""


def wanted(body: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of the answer, from the request or, in a retry, from its text."""
    if "response_format" in body:
        return body["response_format"]["json_schema"]["schema"]
    return json.loads(body["messages"][-1]["content"].rpartition("fits this JSON Schema: ")[2])


def _answer(properties: dict[str, Any], question: str) -> tuple[str, Answer]:
    draw = random.Random(int.from_bytes(sha256(question.encode()).digest()[:8], "big"))
    if "threads" in properties:
        return "person", _person(draw)
    if "items" in properties:
        return "items", _items(question, draw)
    if "requests" in properties:
        return "requests", _requests(question, draw)
    if "others" in properties:
        return "choice", _choice(question)
    if "thought" in properties:
        apps = re.search(r"Applications: (.*)", question)
        assert apps
        return "thought", {"thought": f"I look in {draw.choice(apps[1].split(', '))} for what is meant."}
    if "apis" in properties:
        return "apis", _apis(question)
    return "plan", _plan(properties, question)


def nonsense(draw: random.Random) -> str:
    return "".join(draw.choice("bdfgklmnprstvz") + draw.choice("aeiou") for _ in range(4))


def _person(draw: random.Random) -> Answer:
    names = [nonsense(draw).title() for _ in range(8)]
    family = nonsense(draw).title()
    return {
        "name": f"{names[0]} {family}",
        "profession": f"{names[1].lower()} maker",
        "city": names[2],
        "favorite_music_genre": "fado",
        "favorite_movie_genre": "thriller",
        "favorite_cuisine": "Goan",
        "favorite_sport": "rowing",
        "hobbies": ["pottery", "birding"],
        "places": [
            {"name": place, "latitude": 41 + number / 100, "longitude": -8.0}
            for number, place in enumerate(("home", "work", "club", "harbour"))
        ],
        "contacts": [
            {
                "name": f"{name} {family}",
                "relation": relation,
                "email": f"{name.lower()}@example.com",
                "phone": f"555-01{number:02}",
            }
            for number, (name, relation) in enumerate(
                zip(names[3:8], ("brother", "boss", "dentist", "neighbour", "aunt"), strict=True)
            )
        ],
        "threads": [f"The {name} affair goes on." for name in names[:4]],
    }


def _items(question: str, draw: random.Random) -> Answer:
    app, count = _one(r"Application: (\w+)", question), int(_one(r"Write exactly (\d+) entries", question))
    now = datetime.fromisoformat(_one(r"Now: \w+ (\S+)", question))
    people = re.findall(r"^- (.+?), [^:]*: (\S+@\S+), (555-\d+)$", question, re.MULTILINE)
    return {"items": [_item(app, number, now, people, draw) for number in range(count)]}


def _item(app: str, number: int, now: datetime, people: list[Any], draw: random.Random) -> Answer:
    def at(hours: float) -> str:
        return (now + timedelta(hours=hours)).isoformat(timespec="minutes")

    title = f"{nonsense(draw)} {nonsense(draw)}"
    name, email, _ = people[number % len(people)]
    back = at(-10 * (number + 1))
    fields: dict[str, Answer] = {
        "Calendar": {
            "event_name": title,
            "category": "Work",
            "organizer": email,
            "participants": [email],
            "location": nonsense(draw),
            "start_time": at(number * 20 - 40),
            "end_time": at(number * 20 - 39),
            "status": "Confirmed",
            "notes": None,
            "place": "home",
        },
        "Mail": {
            "author": email,
            "recipients": ["me@example.org"],
            "subject": title,
            "content": f"{nonsense(draw)} is ready. Come soon.",
            "date": back,
            "folder": "Inbox",
        },
        "Reminders": {
            "title": title,
            "list": "Home",
            "due": at(30) if number else None,
            "status": "open",
            "created": back,
            "place": None,
        },
        "Notes": {
            "title": title,
            "content": nonsense(draw),
            "folder": "Me",
            "modified": back,
            "place": "home",
        },
        "Google": {"query": title, "date": back, "place": None},
        "Music": {
            "song_name": title,
            "artist": nonsense(draw),
            "album_title": nonsense(draw),
            "playlist": "Early",
            "played_time": back,
        },
        "PhoneCall": {"contact": name, "direction": "incoming", "date": back, "duration_s": 60},
    }
    use = [{"when": "evening", "where": "home", "times": 3}] if number == 0 else []
    return {**fields[app], "use": use}


def _requests(question: str, draw: random.Random) -> Answer:
    start = datetime.fromisoformat(_one(r"said between \w+ (\S+) and", question))
    slots = re.findall(r"^slot (\d+): (\w+):", question, re.MULTILINE)
    ids = re.findall(r"^- ([a-z]\d+): \w+:", question, re.MULTILINE)
    used = re.findall(r"^- ([a-z]\d+): (?!Google).*used evening at home", question, re.MULTILINE)
    requests: list[Answer] = []
    for slot, kind in slots:
        chosen = [used[int(slot) % len(used)]] if kind in ("place", "habit") else [ids[int(slot) % len(ids)]]
        if kind == "cross":
            chosen = ["c1", "m1"]
        requests.append(
            {
                "slot": int(slot),
                "kind": kind,
                "query": " ".join(draw.sample(COMMON, 9)).capitalize(),
                "time": (start + timedelta(minutes=int(slot))).isoformat(timespec="minutes"),
                "place": "home",
                "relevant": [{"id": name, "grade": 2} for name in chosen],
            }
        )
    return {"requests": requests}


def _about(question: str) -> tuple[str, str]:
    """The first entry of a request: its application and fields."""
    entries = question[question.index("Entries it is about:") :]
    found = re.search(r"^- (\w+): (.*)$", entries, re.MULTILINE)
    assert found
    return found[1], found[2]


def _choice(question: str) -> Answer:
    api, others, _ = TITLES[_about(question)[0]]
    return {"api": api, "others": others}


def _plan(properties: dict[str, Any], question: str) -> Answer:
    app, fields = _about(question)
    title = _one(rf"(?:^|; ){TITLES[app][2]}=([^;]*)", fields)
    required = {name for name, schema in properties.items() if "null" not in str(schema["type"])}
    return {name: title if name in required else None for name in properties}


def _apis(question: str) -> Answer:
    app, count = _one(r"Application: (.+)", question), int(_one(r"Write exactly (\d+) APIs", question))
    draw = random.Random(question)
    argument = {
        "name": "title",
        "type": "string",
        "required": True,
        "free_text": False,
        "description": "which one",
    }
    return {
        "apis": [
            {
                "api": f"{app.lower()}_{nonsense(draw)}",
                "description": f"{nonsense(draw)} {nonsense(draw)} {nonsense(draw)}",
                "arguments": [argument] if number % 2 else [],
            }
            for number in range(count)
        ]
    }


def _one(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found, pattern
    return found[1]
