"""Untrusted text: bounded for patterns, neutralized and fenced for prompts.

Patterns skip spaces and punctuation in several places, so a text of thousands of them makes each pattern try
thousands of ways to share them out. Nobody needs more than a few in a row to say what is meant.

A fence is an opening and a closing tag. Neutralized text cannot close it: "<" is replaced by a character that
looks like it, and line breaks by slashes, so that no text can start a line.
"""

import re
import unicodedata

MAX_RUN = 32
"""Characters in a row that are neither letters nor digits."""
_RUN = re.compile(rf"[^\w]{{{MAX_RUN + 1},}}")
_TAGS = str.maketrans(dict.fromkeys("<﹤＜", "‹"))
_JOINERS = "\u200c\u200d"
"""Invisible, but part of the spelling of Persian and Hindi words and of many emoji."""


def without_long_runs(text: str) -> str:
    """The text with at most `MAX_RUN` spaces and punctuation marks in a row."""
    return _RUN.sub(lambda match: match.group()[:MAX_RUN], text) if len(text) > MAX_RUN else text


def bounded_text(text: str, most: int) -> str:
    """The first `most` characters of a text, without long runs of spaces and punctuation."""
    return without_long_runs(text[:most])


def neutralize(text: str) -> str:
    """The text on one line, without tags and invisible characters; everything else is unchanged."""
    if not text.isprintable():
        lines = (_visible(line) for line in text.splitlines())
        text = " / ".join(filter(None, lines))
    return re.sub(r"\s+", " ", text).strip().translate(_TAGS)


def without_thinking(text: str) -> str:
    """The text without the `<think>…</think>` blocks that some models write before their answer."""
    kept: list[str] = []
    position = 0
    while (start := text.find("<think>", position)) >= 0 and (end := text.find("</think>", start)) >= 0:
        kept.append(text[position:start])
        position = end + len("</think>")
    return "".join(kept) + text[position:]


def fence(name: str, text: str, *, kind: str = "") -> str:
    """Neutralized text between `<name kind>` and `</name>`."""
    opening = f"{name} {neutralize(kind)}".strip().replace(">", "›")
    return f"<{opening}> {text} </{name}>\n"


def _visible(line: str) -> str:
    """Remove invisible characters, which can hide words, and lone surrogates."""
    categories = ((character, unicodedata.category(character)) for character in line)
    return "".join(
        " " if category == "Cc" else character
        for character, category in categories
        if category != "Cs" and (category != "Cf" or character in _JOINERS)
    ).strip()
