"""Fences around what people and their applications wrote, so that a language model can tell it from the rest.

A fence is an opening and a closing tag of one name. What stands inside can hold neither: the
character that begins a tag is swapped for one that looks like it, and a line break becomes a
slash, so that no text begins a line either.
"""

import re
import unicodedata

_TAGS = str.maketrans(dict.fromkeys("<﹤＜", "‹"))
_JOINERS = "\u200c\u200d"
"""They show nothing, but Persian and Hindi words and many emoji are not spelled without them."""


def neutralize(text: str) -> str:
    """The text in one line in which no tag can begin; all else that can be seen stays as it is."""
    if not text.isprintable():
        lines = (_shown(line) for line in text.splitlines())
        text = " / ".join(filter(None, lines))
    return re.sub(r"\s+", " ", text).strip().translate(_TAGS)


def fence(name: str, text: str, *, kind: str = "") -> str:
    """Lines that `neutralize` gave, between `<name kind>` and `</name>`."""
    opening = f"{name} {neutralize(kind)}".strip().replace(">", "›")
    return f"<{opening}> {text} </{name}>\n"


def _shown(line: str) -> str:
    """Without the characters that show nothing, in which words can hide, and without halves of characters."""
    kinds = ((character, unicodedata.category(character)) for character in line)
    return "".join(
        " " if kind == "Cc" else character
        for character, kind in kinds
        if kind != "Cs" and (kind != "Cf" or character in _JOINERS)
    ).strip()
