"""English glosses of everyday words in other languages: "Zahnarzt" is a dentist.

The bundled embedder reads English. Calendars, reminders and mailboxes of people who ask in English are often
in their own language; with a gloss, "When is the dentist?" finds "Zahnarzt Ben". Words that are also English
are not in the list, so that English texts have no glosses.
"""

from functools import cache

from contextune._internal.assets import asset
from contextune.search.tokenize import tokenize

_MIN_COMPOUND = 9
_MIN_PART = 4
_LINKS = ("", "s", "n", "en", "es")
"""Letters between the parts of a compound: "Geburtstag-s-feier"."""
_MAX_TITLE = 200
"""Characters of a title that are read."""


def gloss(title: str) -> str:
    """English words for the words of a title in other languages, without those that it has; may be empty."""
    words = tokenize(title[:_MAX_TITLE])
    english = [word for foreign in words for word in word_gloss(foreign).split()]
    return " ".join(word for word in dict.fromkeys(english) if word not in words)


def word_gloss(word: str) -> str:
    """The gloss of a word, or of the parts of a compound; empty if it is not known."""
    known = _glosses()
    if word in known or len(word) < _MIN_COMPOUND:
        return known.get(word, "")
    for end in range(len(word) - _MIN_PART, _MIN_PART - 1, -1):
        if word[end:] in known:
            for link in _LINKS:
                start = word[:end].removesuffix(link) if word[:end].endswith(link) else ""
                if start in known:
                    return f"{known[start]} {known[word[end:]]}"
    return ""


@cache
def _glosses() -> dict[str, str]:
    glosses: dict[str, list[str]] = {}
    for line in asset("glosses/everyday.txt").read_text("utf-8").splitlines():
        english, separator, words = line.partition(":")
        for word in tokenize(words) if separator and not line.startswith("#") else ():
            glosses.setdefault(word, []).append(english)
    return {word: " ".join(dict.fromkeys(" ".join(english).split())) for word, english in glosses.items()}
