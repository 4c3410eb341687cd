"""HTML to plain text (selectolax), and normalisation of plain text."""

import re
from html import unescape
from typing import TYPE_CHECKING

from contextune.errors import MissingExtraError

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_HIDDEN = ["iframe", "noembed", "noframes", "script", "style", "template", "title"]
_LINES = "br, hr, p, div, tr, h1, h2, h3, h4, h5, h6, table, ul, ol, blockquote"
_QUOTED = 'blockquote[type^="cite" i], div[class^="gmail_quote" i]'
_QUOTE_MARK = "\0"
"""Cannot occur in parsed HTML."""

_MAX_LENGTH, _MAX_TAGS = 200_000, 10_000
"""Characters and tags that are parsed: time grows with the square of nesting depth and attribute count."""
_DATA_URL = re.compile(r"""(["'])data:[^"'<>]*\1""", re.IGNORECASE)
_FEW_TAGS = 300
_FORMATTING = re.compile(
    r"<(/?)(?:a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/>])", re.IGNORECASE
)
"""Elements that a parser opens again in every later paragraph if they are never closed."""

_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u00ad\u034f\u200b\u200c\u200e\u200f\u2060\ufeff]+")
_GRAPHEME_JOINER = "\u034f"
"""The only invisible character that `str.isprintable` accepts."""
_ODD_SPACES = re.compile(r"[\u00a0\u2000-\u200a\u202f\u3000]")
_SPACES = re.compile(r" {2,}")
_LINE_EDGES = re.compile(r" ?\n ?")
_EMPTY_LINES = re.compile(r"\n{3,}")


def html_text(html: str) -> str:
    """The visible text, one line per block, without what a reply quotes (unless there is nothing else)."""
    html = " ".join(html.split())  # in HTML a line break is a space
    if "<" not in html:
        return tidy(unescape(html))
    tree = _parse(_bounded(html))
    if tree.root is None:
        return ""
    tree.strip_tags(_HIDDEN)
    if quoted := tree.css_first(_QUOTED):
        quoted.insert_before(_QUOTE_MARK)
    for block in tree.css(_LINES):
        block.insert_after("\n")
    for cell in tree.css("td, th"):
        cell.insert_after(" ")
    for entry in tree.css("li"):
        entry.insert_before("\n- ")
    own, _, quote = tree.root.text().partition(_QUOTE_MARK)
    return tidy(own) or tidy(quote)


def _parse(html: str) -> "LexborHTMLParser":
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ModuleNotFoundError as error:
        raise MissingExtraError("reading HTML (of mails, notes and histories)", "html") from error
    return LexborHTMLParser(html)


def tidy(text: str) -> str:
    """Normalise white space and remove invisible characters; at most one empty line in a row."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace("\t", " ")
    # checking first takes a tenth of the time, and most texts need no change
    if not text.replace("\n", "").isprintable() or _GRAPHEME_JOINER in text:
        text = _INVISIBLE.sub("", _ODD_SPACES.sub(" ", text))
    if "  " in text:
        text = _SPACES.sub(" ", text)
    if " \n" in text or "\n " in text:
        text = _LINE_EDGES.sub("\n", text)
    if "\n\n\n" in text:
        text = _EMPTY_LINES.sub("\n\n", text)
    return text.strip()


def _bounded(html: str) -> str:
    """Limit what a hostile page can cost: 40 KB of HTML can otherwise take gigabytes to parse."""
    if len(html) > _MAX_LENGTH:
        html = _DATA_URL.sub('""', html)[:_MAX_LENGTH]
    tags = html.count("<")
    if tags > _MAX_TAGS:
        html = "<".join(html.split("<", _MAX_TAGS)[:_MAX_TAGS])
    return _FORMATTING.sub(r"<\1span", html) if tags > _FEW_TAGS else html
