"""Misspelt words for days and for frequent orders: "tomorow", "wensday", "remnd me".

Rules and models know these words by their spelling, so a letter too few changes what a request means: "move
it to wensday" would keep the day. Names and other English words are left.
"""

import re
from collections.abc import Collection
from functools import lru_cache

from contextune.plan.names import fold_accents
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
_WORDS = frozenset(
    [
        *("rewind", "remand", "remainder", "reminded", "remaining", "cancer", "chancel", "scheduler"),
        *("munday", "mondal", "sundry"),
    ]
)
"""Words that differ in one letter from a known one, and mean something else."""
_WORD = re.compile(r"(?<![\w@.’'/-])(?:2\w+|[^\W\d_]{5,})(?![\w@/-]|\.\w)")
_QUOTED = re.compile(r"[\"“«„][^\"“”«»„]*[\"”»“]")


def respell(text: str, names: Collection[str] = ()) -> str:
    """The text with these words spelt right; not in quotes, and no word of `names`."""
    quotes = [match.span() for match in _QUOTED.finditer(text)]
    own: set[str] | None = None
    parts: list[str] = []
    end = 0
    for match in _WORD.finditer(text):
        word = _meant(match.group(), is_first=not text[: match.start()].strip())
        if word is None or any(first <= match.start() < last for first, last in quotes):
            continue
        if own is None:
            own = {part for name in names for part in fold_accents(name).split()}
        if match.group().casefold() in own:
            continue
        parts += [text[end : match.start()], word]
        end = match.end()
    return "".join([*parts, text[end:]])


@lru_cache(maxsize=4096)
def _meant(word: str, *, is_first: bool) -> str | None:
    """The word that is meant, if this one is misspelt."""
    low = word.casefold()
    if low in _KNOWN or low in _WORDS:
        return None
    meant = _OFTEN.get(low)
    # a capital within a sentence begins a name; a letter more at the end makes another form: "on Mondays"
    if meant is None and (is_first or word.islower()):
        near = [known for known in _KNOWN if low[:-1] != known and is_one_edit(low, known)]
        meant = near[0] if len(near) == 1 else None
    if meant is None:
        return None
    return meant.capitalize() if word[0].isupper() else meant
