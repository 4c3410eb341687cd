"""Misspelt words: for days and frequent orders ("wensday", "remnd me"), and those that nobody knows.

Rules and models know these words by their spelling, so a letter too few changes what a request means: "move
it to wensday" would keep the day. Names and other English words are left.
"""

import re
from collections.abc import Collection
from functools import lru_cache

from contextune.plan.names import fold_accents
from contextune.plan.spelling import Knows, is_known, meant_word
from contextune.plan.words import is_one_edit

_KNOWN = (
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    *("tomorrow", "yesterday", "tonight", "remind", "reminder", "schedule", "reschedule", "cancel"),
)
_OFTEN = {
    **dict.fromkeys(["wensday", "wendsday", "wenesday", "wedensday", "wendesday", "wednessday"], "wednesday"),
    **dict.fromkeys(["tommorow", "tomarrow", "tomoro", "tommorrow", "2morrow", "2moro"], "tomorrow"),
    **dict.fromkeys(["tonite", "2nite"], "tonight"),
    **dict.fromkeys(["thurday", "thrusday", "thirsday", "thursdy"], "thursday"),
    **dict.fromkeys(["tuseday", "tuesdy", "teusday"], "tuesday"),
    **dict.fromkeys(["saterday", "satarday", "satruday"], "saturday"),
    "febuary": "february",
    "calender": "calendar",
    "shedual": "schedule",
    "cancell": "cancel",
    "reminde": "remind",
}
"""Misspellings with more than one wrong letter, or of one that may be wrong in a longer word, too."""
_SHORTEST = 5
_MOST = 20
"""Words of one request that nobody knows for which others are tried."""
_WORDS = frozenset(
    [
        *("rewind", "remand", "remainder", "reminded", "remaining", "cancer", "chancel", "scheduler"),
        *("munday", "mondal", "sundry"),
    ]
)
"""Words that differ in one letter from a known one, and mean something else."""
_WORD = re.compile(r"(?<![\w@.’'/-])(?:2\w+|[^\W\d_]{3,})(?![\w@/-]|\.\w)")
_QUOTED = re.compile(r"[\"“«„][^\"“”«»„]*[\"”»“]")


def respell(text: str, names: Collection[str] = (), knows: Knows | None = None) -> str:
    """The text with these words spelt right; not in quotes, and no word of `names`.

    `knows` says which words the user's items or tools have; without it, only days and orders are mended.
    """
    quotes = [match.span() for match in _QUOTED.finditer(text)]
    own: set[str] | None = None
    unknown: dict[str, str | None] = {}
    parts: list[str] = []
    end = 0
    for match in _WORD.finditer(text):
        if any(first <= match.start() < last for first, last in quotes):
            continue
        is_first = not text[: match.start()].strip()
        word = _meant(match.group(), is_first=is_first)
        if word is None and knows and (is_first or match.group().islower()):
            word = _respelt(match.group(), knows, unknown)
        if word is None:
            continue
        if own is None:
            own = {part for name in names for part in fold_accents(name).split()}
        if match.group().casefold() in own:
            continue
        parts += [text[end : match.start()], word]
        end = match.end()
    return "".join([*parts, text[end:]])


def _respelt(word: str, knows: Knows, unknown: dict[str, str | None]) -> str | None:
    """A word that nobody knows as it is meant; `unknown` has those that were looked up before."""
    low = word.lower()
    if not word[1:].islower() or is_known(low, knows):
        return None
    if low not in unknown:
        if len(unknown) == _MOST:
            return None
        unknown[low] = meant_word(low, knows)
    meant = unknown[low]
    return meant.capitalize() if meant and word[0].isupper() else meant


@lru_cache(maxsize=4096)
def _meant(word: str, *, is_first: bool) -> str | None:
    """The word that is meant, if this one is misspelt."""
    low = word.casefold()
    if len(low) < _SHORTEST or low in _KNOWN or low in _WORDS:
        return None
    meant = _OFTEN.get(low)
    # a capital within a sentence begins a name; a letter more at the end makes another form: "on Mondays"
    if meant is None and (is_first or word.islower()):
        near = [known for known in _KNOWN if low[:-1] != known and is_one_edit(low, known)]
        meant = near[0] if len(near) == 1 else None
    if meant is None:
        return None
    return meant.capitalize() if word[0].isupper() else meant
