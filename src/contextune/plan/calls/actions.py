"""What a request orders to be done, and whether a tool does that: to archive a mail is not to flag it.

Rankers take the nearest tool for the right one. Some verbs, however, mean one action only: if no tool has the
verb or a synonym in its name or description, none of them serves the request.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from contextune.plan.calls.coverage import stem
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Tool

FILLER = (
    r"\W*(?:(?:please|can you|could you|would you|will you|just|now|hey|ok|okay|and|go ahead and"
    r"|i(?:['’]d like| want| need)(?: you)? to)\b,? ?)*"
)
"""Words before the verb of an order, as a regular expression."""
_SYNONYMS = """
accept approve: accept approve confirm respond rsvp
archive: archive
buy purchase order: buy purchase order checkout
clear erase empty wipe: clear erase empty wipe delete remove cancel reset trash dismiss
copy duplicate: copy duplicate clone
crop rotate resize: crop rotate resize edit
decline reject: decline reject respond rsvp cancel
download: download export save
draw sketch: draw sketch generate create
encrypt: encrypt
export: export download
install uninstall: install uninstall
join: join
lock: lock
mute unmute silence: mute unmute silence volume
pay wire donate refund: pay wire donate refund payment transfer money
print: print
record: record
rename retitle: rename retitle
rent hire: rent hire book reserve
reserve: reserve book
scan: scan
snooze: snooze reschedule postpone
subscribe: subscribe
unarchive: unarchive restore
unblock: unblock
undo revert: undo revert
update edit: update edit change modify rename reschedule move append add set
unflag unstar: unflag unstar
unlock: unlock
unpin: unpin
unsubscribe: unsubscribe
upload: upload
"""
_ACTIONS = {
    verb: frozenset(map(stem, words.split()))
    for verbs, _, words in (line.partition(":") for line in _SYNONYMS.strip().splitlines())
    for verb in verbs.split()
}
"""By verb, the stems of words one of which a tool needs in its name or description."""
_NOUNS_TOO = frozenset(["copy", "lock", "order", "pay", "print", "record", "rent", "scan", "wire"])
_ORDER = re.compile(rf"{FILLER}(?P<verb>[a-z]+)\b(?! *[:=])(?:\s+(?P<next>[^\s,.;:!?]+))?", re.IGNORECASE)
_SEARCHING = re.compile(rf"{FILLER}scan\b.+\bfor\b", re.IGNORECASE)
_OBJECTS = frozenset(
    tokenize("""
    a an the my our your his her their this that these those it them me us him all both every some any another
    more one two three four five six ten for
    """)
)
_MARK = re.compile(rf"{FILLER}mark\s+.+?\s+as\s+(?:an?\s+|not\s+)?(?P<state>[\w-]+)", re.IGNORECASE)
_STATES = {
    **dict.fromkeys(["read", "unread", "seen"], frozenset(["unread", "seen"])),
    **dict.fromkeys(["spam", "junk", "phishing"], frozenset(["spam", "junk", "phish"])),
    **dict.fromkeys(["private", "public"], frozenset(["privat", "public", "visibiliti"])),
}
"""By the word after "mark as", the stems one of which a tool needs: others stand for a flag or for done."""
_BOOKED = re.compile(
    rf"{FILLER}(?:book|reserve)\b.*?\b(?:tables?|flights?|hotels?|rooms?|taxis?|cabs?|tickets?|rides?|trains?"
    r"|seats?|cars?|ubers?|lyfts?|trips?|ferry|ferries|boats?|bus(?:es)?)\b"
    rf"|{FILLER}book (?:me|us)\b",
    re.IGNORECASE,
)
_BOOKING = frozenset(map(stem, ["book", "reserve", "order", "ride", "reservation", "booking"]))
_SWITCH = re.compile(
    rf"{FILLER}(?:turn|switch)\s+(?:(?:on|off|up|down)\b|(?:[^.,;!?]+?\s)(?:on|off|up|down)\W*$)",
    re.IGNORECASE,
)
_SWITCHING = frozenset(map(stem, ["turn", "switch", "toggle", "enable", "disable", "volume", "power"]))
SOUND = frozenset(
    [
        *("music", "song", "songs", "track", "playlist", "album", "radio", "sound", "tune", "tunes", "noise"),
        *("player", "playback", "record", "band", "singer", "volume"),
    ]
)
"""Words for what is played."""
_PLAYBACK = frozenset(map(stem, ["play", "pause", "stop", "start", "resume"]))
_REMIND = re.compile(r"\bremind(?:er)?s?\b", re.IGNORECASE)
_PHRASES = """
ok, okay, ah, oh, well, so, and, hey, hi, hello, hiya, howdy, there, then, again, please, good morning
good day, good evening, good afternoon, good night, bye, goodbye, see you, see you later, see you soon
see you tomorrow, thanks, thank you, thx, ta, cheers, much appreciated, a lot, a bunch, very much, so much
for that, for now, for everything, for your help, for the help, you're welcome, you are welcome
you're great, you're the best, no problem, my pleasure, great, perfect, nice, cool, good, fine, super
awesome, excellent, wonderful, brilliant, lovely, alright, all right, all good, that's it, that's all
that's great, that's fine, that's good, that's right, that's wrong, yes, yeah, yep, yup, no, nope, nah
sure, right, exactly, sorry, oops, my bad, my mistake, wrong one, never mind, nevermind, forget it
forget that, forget about it, don't worry, don't worry about it, haha, lol, wow, hm, hmm, how are you
how are you doing, how are you today, what's up, who are you, what are you, what can you do
"""
_SMALL_TALK = re.compile(
    r"\W*(?:(?:"
    + "|".join(re.escape(phrase.strip()) for phrase in re.split(r"[,\n]", _PHRASES.strip()))
    + r")\b[\s,.!?…]*)+",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"\W*(?:(?:so|and|hey),? )?(?:(?:can you |could you |please )?tell me )?"
    r"(?:what(?:['’]s| is)? (?:the )?(?:time|day|date|year|month)(?: of the (?:week|month))?"
    r"(?: is it| is today| today)?|what (?:time|day|date) it is)(?: right)?(?: now| today)?\W*",
    re.IGNORECASE,
)


def is_small_talk(text: str) -> bool:
    """Whether a request asks for nothing that a tool could do: thanks, greetings, "never mind", the time."""
    text = text.replace("’", "'")
    return bool(_SMALL_TALK.fullmatch(text) or _CLOCK.fullmatch(text))


def does_action(tool: Tool, text: str) -> bool:
    """Whether a tool does what the verb of the request orders; True if the request has no such verb."""
    needed = _needed_words(text)
    return needed is None or not needed.isdisjoint(_tool_words(tool.name, tool.description))


def is_unserved(text: str, tools: Iterable[Tool]) -> bool:
    """Whether the request orders an action that none of the tools does."""
    return _needed_words(text) is not None and not any(does_action(tool, text) for tool in tools)


@lru_cache(maxsize=512)
def _needed_words(text: str) -> frozenset[str] | None:
    """The stems one of which a tool needs; None if the request does not order one of the known actions."""
    if _REMIND.search(text):
        return None
    if match := _MARK.match(text):
        return _STATES.get(match["state"].casefold())
    if _BOOKED.match(text):
        return _BOOKING
    if _SWITCH.match(text):
        return _SWITCHING if SOUND.isdisjoint(tokenize(text)) else _SWITCHING | _PLAYBACK
    match = _ORDER.match(text)
    verb = match["verb"].casefold() if match else ""
    if match is None or verb not in _ACTIONS or _SEARCHING.match(text):
        return None
    following = match["next"] or ""
    is_object = following.casefold() in _OBJECTS or following[:1].isupper() or following[:1].isdigit()
    if not is_object and (verb in _NOUNS_TOO or text.rstrip().endswith("?")):
        return None  # "Print shop near me", "Order number?"
    return _ACTIONS[verb]


@lru_cache(maxsize=4096)
def _tool_words(name: str, description: str) -> frozenset[str]:
    return frozenset(map(stem, [*identifier_words(name), *tokenize(description)]))
