"""What a request orders to be done, and whether a tool does that: to archive a mail is not to flag it.

Rankers take the nearest tool for the right one. Some verbs, however, mean one action only: if no tool has the
verb or a synonym in its name or description, none of them serves the request.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from contextune.plan.calls.coverage import stem
from contextune.plan.opening_words import OPENING
from contextune.search.tokenize import identifier_words, tokenize
from contextune.time_phrases.number_words import HOUR
from contextune.types import Tool

_SYNONYMS = """
accept approve: accept approve confirm respond rsvp
archive: archive
buy purchase order: buy purchase order checkout
clear erase wipe: clear erase empty wipe delete remove cancel reset trash dismiss
copy duplicate: copy duplicate clone
crop rotate resize: crop rotate resize edit
decline reject: decline reject respond rsvp cancel
download: download export save
draw sketch: draw sketch generate create
empty: empty clear purge wipe
encrypt: encrypt
export: export download
hang: hang end
highlight underline: highlight underline format mark
install uninstall: install uninstall
join: join
lock: lock
merge combine: merge combine join
mute unmute silence: mute unmute silence volume
paste: paste insert
pay wire donate refund: pay wire donate refund payment transfer money
post publish: post publish tweet share
print: print
record: record
rename retitle: rename retitle
rent hire: rent hire book reserve
reserve: reserve book
scan: scan
sell: sell sale auction marketplace
snooze: snooze reschedule postpone
sort: sort arrange organise organize order
subscribe: subscribe
tweet: tweet post
type transcribe: type transcribe write create append dictate recognise recognize
unarchive: unarchive restore
unblock: unblock
undo revert: undo revert
update edit: update edit change modify rename reschedule move append add set
unflag unstar: unflag unstar
unlock: unlock
unpin: unpin
unsubscribe: unsubscribe
upload: upload
weigh: weigh
zoom scroll: zoom scroll
"""
_ACTIONS = {
    verb: frozenset(map(stem, words.split()))
    for verbs, _, words in (line.partition(":") for line in _SYNONYMS.strip().splitlines())
    for verb in verbs.split()
}
"""By verb, the stems of words one of which a tool needs in its name or description."""
_NOUNS_TOO = frozenset(tokenize("copy lock order pay post print record rent scan sort type wire"))
_ORDER = re.compile(rf"{OPENING}(?P<verb>[a-z]+)\b(?! *[:=])(?:\s+(?P<next>[^\s,.;:!?]+))?", re.IGNORECASE)
_SEARCHING = re.compile(rf"{OPENING}scan\b.{{1,300}}\bfor\b", re.IGNORECASE)
_OBJECTS = frozenset(
    tokenize("""
    a an the my our your his her their this that these those it them me us him all both every some any another
    more one two three four five six ten for
    """)
)
_MARK = re.compile(rf"{OPENING}mark\s+.{{1,300}}?\s+as\s+(?:an?\s+|not\s+)?(?P<state>[\w-]+)", re.IGNORECASE)
_STATES = {
    **dict.fromkeys(["read", "unread", "seen"], frozenset(["unread", "seen"])),
    **dict.fromkeys(["spam", "junk", "phishing"], frozenset(["spam", "junk", "phish"])),
    **dict.fromkeys(["private", "public"], frozenset(["privat", "public", "visibiliti"])),
}
"""By the word after "mark as", the stems one of which a tool needs: others stand for a flag or for done."""
_BOOKED = re.compile(
    rf"{OPENING}(?:book|reserve)\b.{{0,300}}?\b(?:tables?|flights?|hotels?|rooms?|taxis?|cabs?|tickets?|rides?|trains?"
    r"|seats?|cars?|ubers?|lyfts?|trips?|ferry|ferries|boats?|bus(?:es)?)\b"
    rf"|{OPENING}book (?:me|us)\b(?!.{{0,300}}\b(?:at|from|on|for)\b.{{0,300}}(?:\d|noon|half past"
    rf"|quarter|{HOUR})\b)",
    re.IGNORECASE,
)
_BOOKING = frozenset(map(stem, ["book", "reserve", "order", "ride", "reservation", "booking"]))
_SWITCH = re.compile(
    rf"{OPENING}(?:turn|switch)\s+(?:(?:on|off|up|down)\b|(?:[^.,;!?]{{1,300}}?\s)(?:on|off|up|down)\W*$)",
    re.IGNORECASE,
)
_SWITCHING = frozenset(map(stem, ["turn", "switch", "toggle", "enable", "disable", "volume", "power"]))
_DEVICES = (
    r"lights?|lamps?|kettle|heat(?:ing|er)|oven|stove|cooker|boiler|radiators?|fan|dishwasher|washer|dryer"
    r"|air ?con(?:dition(?:ing|er))?|tv|telly|television|projector|subtitles|captions|washing machine|mower"
    r"|sprinklers?|vacuum(?: cleaner)?|engine|car|computer|laptop|router|printer|wi-?fi|bluetooth|hotspot"
    r"|camera|torch|flashlight|alarm|timer|stopwatch|doors?|gates?|garage|windows?|blinds?|curtains?"
    r"|shutters?|volume|brightness|temperature|thermostat|recording"
)
_OPERATE = re.compile(
    rf"{OPENING}(?:put|start|stop|open|close|shut|dim|lower|raise|run|restart|reboot|charge|pause|pull)"
    rf"(?: (?:on|out|up|down))? (?:(?:(?:the|my|our|all|those|these) ){{1,8}}(?:[\w-]+ )?"
    rf"(?P<device>{_DEVICES})"
    r"|(?P<plain>subtitles|captions|lights|heating|wi-?fi|bluetooth))"
    r"(?:,? (?:on|off|out|up|down|again|now|please)){0,8}\W*$",
    re.IGNORECASE,
)
"""An order to a thing in the house: "Put the kettle on" is not to play "Kettle"."""
_OPERATING = frozenset(map(stem, ["device", "appliance", "turn", "switch", "toggle"]))
_CONNECTED = re.compile(rf"{OPENING}put .{{1,300}} on (?P<mode>speaker|hold|air|mute)\W*$", re.IGNORECASE)
_PUT_AWAY = re.compile(rf"{OPENING}put .{{1,300}} away\W*$", re.IGNORECASE)
_PHOTO = re.compile(
    rf"{OPENING}take (?:(?:me|us|him|her|them) )?(?:an?|another|some|one|the) (?:[\w-]+ )?"
    r"(?:photos?|photographs?|pictures?|pics?|selfies?|screenshots?|snapshots?|close-ups?)\b",
    re.IGNORECASE,
)
_PHOTOGRAPHING = frozenset(map(stem, ["camera", "photo", "photograph", "capture", "screenshot", "snapshot"]))
_PAGE = re.compile(
    rf"{OPENING}(?:read|turn|type|translate|bookmark|close|save|share|copy|reload|refresh)\b(?: \w+)?"
    r" (?:this|the|that)(?: \w+)? (?P<shown>page|screen|website|tab)"
    r"(?: (?:aloud|out loud|out|for me|to me|please)){0,8}\W*$",
    re.IGNORECASE,
)
"""What the user has before them, which no item is."""
_SETTING = re.compile(
    rf"{OPENING}(?:change|set|adjust|switch) (?:the|my|your) (?:[\w-]+ )?"
    r"(?P<setting>language|ringtone|wallpaper|background|theme|brightness|font|password|pin|keyboard|voice)\b"
    r"(?! (?:of|in) )",
    re.IGNORECASE,
)
_SETTINGS = frozenset(map(stem, ["setting", "settings", "preference", "configure", "option"]))
_SALE = re.compile(
    rf"{OPENING}(?:list|offer|advertise|put) .{{1,300}} (?:for sale|on ebay"
    r"|(?:in|on) (?:the|my|our) (?:[\w-]+ )?(?:shop|store|marketplace))\W*$",
    re.IGNORECASE,
)
_MONEY = re.compile(
    rf"{OPENING}(?:send|give|lend|transfer|e-?transfer|venmo|zelle|paypal)\b(?!.{{0,300}}\b(?:mail|message|note|that)\b)"
    r"[^:,]{0,300}?(?:[$€£¥]\s?\d[\d.,]*|\b\d[\d.,]*\s?(?:[$€£¥]|dollars?|euros?|pounds?|bucks|quid|eur|usd|gbp)\b)"
    r"[^:,]*$",
    re.IGNORECASE,
)
_LOUDNESS = re.compile(
    rf"{OPENING}(?:(?:make|turn) (?:it|that|this|the \w+|my \w+) )?(?:a (?:bit|little) |much )?"
    r"(?:louder|quieter|softer)(?: please)?\W*$",
    re.IGNORECASE,
)
_UNITS = (
    r"(?:ounces?|pounds?|grams?|kilos?|kilograms?|stones?|litres?|liters?|gallons?|pints?|cups?|(?:table|tea)?spoons?"
    r"|inch(?:es)?|feet|foot|yards?|miles?|(?:centi|milli|kilo)?met(?:re|er)s?|minutes|hours|seconds|days|weeks)"
)
_SUM = re.compile(
    rf"{OPENING}(?:what(?:['’]s| is)|how much is|calculate|compute|work out) [\d.,]+ ?"
    r"(?:%|percent|x|\*|/|\+|-|times|plus|minus|divided|multiplied)"
    rf"|{OPENING}how many {_UNITS} (?:are (?:there )?)?in (?:an?|one|\d+) {_UNITS}\W*$",
    re.IGNORECASE,
)
_CALCULATING = frozenset(map(stem, ["calculate", "calculator", "compute", "convert", "math", "unit", "web"]))
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
    if (needed := _needed_for_thing(text)) is not None:
        return needed
    match = _ORDER.match(text)
    verb = match["verb"].casefold() if match else ""
    if match is None or verb not in _ACTIONS or _SEARCHING.match(text):
        return None
    following = match["next"] or ""
    is_object = following.casefold() in _OBJECTS or following[:1].isupper() or following[:1].isdigit()
    if not is_object and (verb in _NOUNS_TOO or text.rstrip().endswith("?")):
        return None  # "Print shop near me", "Order number?"
    return _ACTIONS[verb]


def _needed_for_thing(text: str) -> frozenset[str] | None:
    """The same for orders that are told by their object: a device, a photo, the page on the screen, a sum."""
    for pattern, words in (
        (_OPERATE, _OPERATING),
        (_CONNECTED, frozenset[str]()),
        (_PUT_AWAY, _ACTIONS["archive"]),
        (_PHOTO, _PHOTOGRAPHING),
        (_PAGE, frozenset[str]()),
        (_SETTING, _SETTINGS),
        (_SALE, _ACTIONS["sell"]),
        (_MONEY, _ACTIONS["pay"]),
        (_LOUDNESS, frozenset(map(stem, ["volume", "loudness"]))),
        (_SUM, _CALCULATING),
    ):
        if match := pattern.match(text):
            things = " ".join(filter(None, match.groupdict().values())).casefold()
            # tools that translate say "language", too
            return words | frozenset(map(stem, tokenize(things))) - {"languag"}
    return None


@lru_cache(maxsize=4096)
def _tool_words(name: str, description: str) -> frozenset[str]:
    return frozenset(map(stem, [*identifier_words(name), *tokenize(description)]))
