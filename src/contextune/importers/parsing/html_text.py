"""HTML as the text a person reads.

Patterns, no parser: half of all mail is HTML, and a parser in Python would be most of an import. No
pattern looks back, so that a page made to be slow is not.
"""

import re
from html import unescape

_HIDDEN = re.compile(r"<(style|script|title)\b|<!--", re.IGNORECASE)
_CLOSING = {
    "style": re.compile(r"</style[^<>]*>", re.IGNORECASE),
    "script": re.compile(r"</script[^<>]*>", re.IGNORECASE),
    "title": re.compile(r"</title[^<>]*>", re.IGNORECASE),
    "": re.compile(r"-->"),
}
_LINE = re.compile(r"<(?:br|/p|/div|/tr|/h[1-6]|/table|/ul|/ol|/blockquote|hr)\b[^<>]*>", re.IGNORECASE)
_ENTRY = re.compile(r"<li\b[^<>]*>", re.IGNORECASE)
_CELL = re.compile(r"</t[dh]\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z!?][^<>]*>")
_QUOTED = re.compile(
    r"<(?:blockquote\b[^<>]*\btype=.?cite|div\b[^<>]*\bclass=.?gmail_quote)[^<>]*>", re.IGNORECASE
)
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u00ad\u034f\u200b\u200c\u200e\u200f\u2060\ufeff]+")
_JOINER = "\u034f"
"""The one among them that counts as printable."""
_ODD_SPACES = re.compile(r"[\u00a0\u2000-\u200a\u202f\u3000]")
_SPACES = re.compile(r" {2,}")
_EDGES = re.compile(r" ?\n ?")
_EMPTY_LINES = re.compile(r"\n{3,}")


def html_text(html: str) -> str:
    """What stands in it to be read, line by line; what a reply quotes is left out."""
    html = _visible(html)
    if quoted := _QUOTED.search(html):
        return _words(html[: quoted.start()]) or _words(html)
    return _words(html)


def tidy(text: str) -> str:
    """Text without what cannot be seen: control signs, spaces in a row, more than one empty line."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace("\t", " ")
    # looking first takes a tenth of the time, and most texts are in order
    if not text.replace("\n", "").isprintable() or _JOINER in text:
        text = _INVISIBLE.sub("", _ODD_SPACES.sub(" ", text))
    if "  " in text:
        text = _SPACES.sub(" ", text)
    if " \n" in text or "\n " in text:
        text = _EDGES.sub("\n", text)
    if "\n\n\n" in text:
        text = _EMPTY_LINES.sub("\n\n", text)
    return text.strip()


def _words(html: str) -> str:
    html = " ".join(html.split())  # in HTML a new line is a space
    html = _CELL.sub(" ", _ENTRY.sub("\n- ", _LINE.sub("\n", html)))
    return tidy(unescape(_TAG.sub("", html)))


def _visible(html: str) -> str:
    """Without styles, scripts and comments. One that is not closed hides the rest, as in a browser."""
    kept: list[str] = []
    start = 0
    while found := _HIDDEN.search(html, start):
        kept.append(html[start : found.start()])
        closing = _CLOSING[(found[1] or "").lower()].search(html, found.end())
        if closing is None:
            return "".join(kept)
        start = closing.end()
    return "".join([*kept, html[start:]])
