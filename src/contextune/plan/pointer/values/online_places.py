"""Recognise locations that are no places: calls, video services and links."""

import re
from functools import lru_cache

from contextune.search import tokenize

_ONLINE = frozenset(
    tokenize("""
    bridge call conference dial discord facetime hangout hangouts meet messenger online phone remote remotely
    signal skype slack teams telegram telephone video virtual web webcast webex webinar whatsapp zoom
    """)
)
_BESIDE = frozenset(
    tokenize(
        "a by google id in link meeting microsoft ms on or over room the to url via chat group audio voice"
    )
)
_HOST = re.compile(
    r"\b(?:[\w-]{1,63}\.){1,8}(?:com|org|net|us|me|io|app|gov|edu"
    r"|tv)\b(?:/\S*)?",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def is_online(location: str) -> bool:
    """Whether a location is a service or a link and no place: "Zoom", "Teams, link follows", "video call"."""
    if _HOST.search(location):
        return True
    words = tokenize(re.split(r"[,;(]| - ", location, maxsplit=1)[0])
    services = [word for word in words if word in _ONLINE]
    return bool(services) and all(word in _ONLINE or word in _BESIDE or word.isdigit() for word in words)
