"""Which tools a request names, as opposed to those whose name is an ordinary phrase that it happens to use.

Many names are ordinary words: `search`, `list`, `help_me`, `latest_news`. Over public catalogues, half of the
tools whose name of several words occurs in a request are irrelevant, and nearly all with a name of one word.
So every name counts as a feature of the ranker, but only an unmistakable one puts its tool first.
"""

import math
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence

from contextune.search import identifier_words, tokenize
from contextune.tools.index import ToolIndex
from contextune.tools.tool_text import Span

_MAX_WORDS_BETWEEN = 2
"""Between a tool's name and its server's: "the search tool of GitHub"."""
_MIN_RARITY = 1.8
"""Sum of the inverse document frequencies of a name's words; a word that only one tool has counts 1."""
_FUNCTION_WORDS = frozenset(
    tokenize(
        "a about all am an and any are as at be by can do for from get go have help how i in is it me my no"
        " not now of off on or our out so that the them then there they this to up us was we what when where"
        " which who why will with you your"
    )
)
"""Frequent in requests but rare in descriptions, where they would count as distinctive."""
_CODE = re.compile(r"(?<=`)[^`\s](?:[^`]*[^`\s])?(?=`)")
"""Between backticks, without spaces inside them: the text between two pieces of code has some."""
_WORD = re.compile(r"\w+")
_JOINED = re.compile(r"[^\W_]_+[^\W_]|[^\W\d_A-Z][A-Z]|[^\W\d_][0-9]{1,9}[A-Z]")
"""An underscore or a camelCase hump, also behind digits ("v2Get", but not "3D"); hyphens are not enough, as
prose has them too ("t-test")."""
_PUNCTUATION = re.compile(r"[^\w\s]")


def find_telling_names(index: ToolIndex, text: str, named: Sequence[int]) -> list[int]:
    """Those of the `named` positions that a request unmistakably means, in the same order.

    The name is all that is said, is written as an identifier, or next to its server's name, or it consists of
    several words that are rare in the catalogue and no other tool has it.
    """
    if not named:
        return []
    mentions = _Mentions(text)
    return [
        position
        for position in named
        if mentions.as_identifier(index, position)
        or mentions.beside_server(index, position)
        or _is_rare(index, position)
    ]


class _Mentions:
    """A request, prepared to look up how names are written in it."""

    def __init__(self, text: str) -> None:
        normalized = unicodedata.normalize("NFKC", text)
        self._folded = normalized.casefold()
        self._code: dict[Span, set[str]] = {}
        for code in _CODE.findall(normalized):
            name = code.partition("(")[0].strip()
            self._code.setdefault(tuple(identifier_words(name)), set()).add(name.casefold())
        self._all = tuple(identifier_words(text))
        self._servers: dict[str, set[Span]] = {}
        """The words of the names of servers, as they may be written."""
        self._joined: dict[Span, set[str]] = {}
        for identifier in _WORD.findall(normalized):
            name = identifier.rpartition("__")[2]  # clients of MCP servers write server__name
            if _JOINED.search(identifier):
                self._joined.setdefault(tuple(identifier_words(name)), set()).add(name.casefold())
        self._rows = (_RequestWords(tokenize(text)), _RequestWords(self._all))

    def as_identifier(self, index: ToolIndex, position: int) -> bool:
        """Whether the name is the whole request, in backticks, joined, or has punctuation."""
        name, tool = index.name_words[position], index.catalog[position]
        if self.is_whole_request(name):
            return _is_spelt_so(index, position, {self._folded.strip()})
        if self._is_verbatim(tool.name) or (tool.app and self._is_verbatim(tool.id)):
            return True
        spellings = self._code.get(name, set()) | self._joined.get(name, set())
        return bool(spellings) and _is_spelt_so(index, position, spellings)

    def is_whole_request(self, name: Span) -> bool:
        """Whether the words of a name are all that is said, and not joined."""
        return name == self._all and not self._joined

    def beside_server(self, index: ToolIndex, position: int) -> bool:
        """Whether the name and its server's name are next to each other, in either order."""
        name, app = index.name(position), index.catalog[position].app
        # "github" and "GitHub" are different identifiers, but the same server
        servers = self._servers.get(app)
        if servers is None:
            servers = self._servers[app] = {tuple(tokenize(app)), tuple(identifier_words(app))} - {()}
        return any(
            _are_near(server_start, server_start + len(server), start, start + len(name))
            for row in self._rows
            for server in servers
            for server_start in row.occurrences(server)
            for start in row.occurrences(name)
        )

    def _is_verbatim(self, identifier: str) -> bool:
        """Whether an identifier with punctuation, such as `math.sum` or `/v1/news`, occurs as it is."""
        folded = unicodedata.normalize("NFKC", identifier).casefold()
        if not _PUNCTUATION.search(folded) or any(map(str.isspace, folded)):
            return False
        return re.search(rf"(?<![\w/.-]){re.escape(folded)}(?![\w-]|[/.]\w)", self._folded) is not None


def _is_rare(index: ToolIndex, position: int) -> bool:
    name = index.name(position)
    if len(name) < 2 or len(index.names[name]) > 1:
        return False
    lexical = index.fields["all"]
    rarity = sum(
        math.log((len(lexical) + 1) / lexical.document_frequency(word), len(lexical) + 1)
        for word in name
        if word not in _FUNCTION_WORDS and len(word) > 1 and not word.isdigit()
    )
    return rarity >= _MIN_RARITY


class _RequestWords:
    """The words of a request, and where each of them stands."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = tuple(words)
        self._places: dict[str, list[int]] = {}
        for place, word in enumerate(self._words):
            self._places.setdefault(word, []).append(place)

    def occurrences(self, words: Span) -> Iterator[int]:
        """Where these words begin, one after the other."""
        for start in self._places.get(words[0], ()):
            if self._words[start : start + len(words)] == words:
                yield start


def _are_near(first_start: int, first_end: int, second_start: int, second_end: int) -> bool:
    """Whether two ranges do not overlap and have few words between them."""
    gap = max(second_start - first_end, first_start - second_end)
    return 0 <= gap <= _MAX_WORDS_BETWEEN


def _is_spelt_so(index: ToolIndex, position: int, spellings: Collection[str]) -> bool:
    """Whether no tool of the same words has one of these spellings, or this one has."""
    exact = [other for other in index.names[index.name(position)] if _folded_name(index, other) in spellings]
    return (
        not exact or position in exact
    )  # `get_time` does not mean `getTime` if there is a tool of either name


def _folded_name(index: ToolIndex, position: int) -> str:
    return unicodedata.normalize("NFKC", index.catalog[position].name).casefold()
