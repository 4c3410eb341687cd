"""Stretches of a text that may be a value by themselves: numbers, addresses, names, what follows an "at"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

LANGUAGES = frozenset(
    [
        *("afrikaans", "albanian", "amharic", "arabic", "armenian", "azerbaijani", "basque", "belarusian"),
        *(
            "bengali",
            "bosnian",
            "breton",
            "bulgarian",
            "burmese",
            "cantonese",
            "catalan",
            "chinese",
            "croatian",
        ),
        *(
            "czech",
            "danish",
            "dari",
            "dutch",
            "english",
            "esperanto",
            "estonian",
            "farsi",
            "finnish",
            "flemish",
        ),
        *("french", "frisian", "galician", "georgian", "german", "greek", "guarani", "gujarati", "hausa"),
        *("hebrew", "hindi", "hungarian", "icelandic", "igbo", "indonesian", "irish", "italian", "japanese"),
        *("javanese", "kannada", "kazakh", "khmer", "korean", "kurdish", "kyrgyz", "lao", "latin", "latvian"),
        *("lithuanian", "luxembourgish", "macedonian", "malay", "malayalam", "maltese", "mandarin", "maori"),
        *(
            "marathi",
            "mongolian",
            "nepali",
            "norwegian",
            "pashto",
            "persian",
            "polish",
            "portuguese",
            "punjabi",
        ),
        *("quechua", "romanian", "romansh", "russian", "scots", "serbian", "sinhala", "slovak", "slovenian"),
        *(
            "somali",
            "sorani",
            "spanish",
            "sundanese",
            "swahili",
            "swedish",
            "tagalog",
            "tajik",
            "tamil",
            "telugu",
        ),
        *(
            "thai",
            "tibetan",
            "tigrinya",
            "turkish",
            "twi",
            "ukrainian",
            "urdu",
            "uzbek",
            "vietnamese",
            "welsh",
        ),
        *("wolof", "xhosa", "yiddish", "yoruba", "zulu"),
    ]
)
_PHONE = re.compile(r"(?<![\w-])\+?\d[\d ()./-]{4,}\d(?![\w-])")
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_QUOTED = re.compile(r"[\"“«„]([^\"“”«»„]{2,60})[\"”»“]|(?<!\w)['‘]([^'‘’]{2,60})['’](?!\w)")
_TOKEN = re.compile(r"[^\W_]+(?:['’.&/-]+[^\W_]+)*")
_BREAK = re.compile(r"[;!?()\[\]\n—–|+]|[.:](?!\d)|,|\s[-/]\s")
_INSIDE = frozenset(
    [
        *(
            "de",
            "la",
            "le",
            "el",
            "del",
            "di",
            "da",
            "do",
            "dos",
            "du",
            "des",
            "of",
            "the",
            "and",
            "van",
            "von",
        ),
        *("y", "e", "al", "on", "am", "an", "der", "den", "las", "los", "les", "und", "for", "in"),
    ]
)
_ON = re.compile(r", [^\W_][^,.;:!?()\n—]{1,30}(?=[,.;:!?()\n—]|$)|,? \d+\w?\b")
BEFORE = ("at", "in", "near", "to", "from", "by", "on", "called", "for", "with", "is", "around", "into")
"""Words that a value may follow; which one it was says what the value is."""
_ARTICLES = frozenset(["the", "a", "an", "my", "our", "your", "his", "her", "their"])
_MOST_WORDS = 5
_SHORT = 12
"""Every stretch of a text of up to so many words is looked at, as of a web search."""


@dataclass(frozen=True)
class TextSpan:
    """A stretch of a text."""

    start: int
    end: int
    text: str
    shape: str
    """number, address, language, quoted, name, part (between commas), after (a preposition) or words."""
    before: str = ""
    """The word in front of it."""


@lru_cache(maxsize=2048)
def spans(text: str) -> tuple[TextSpan, ...]:
    """All that may be a value, each stretch once, by the first shape that it has."""
    found: dict[tuple[int, int], TextSpan] = {}
    tokens = [match.span() for match in _TOKEN.finditer(text)]
    for start, end, shape in _all(text, tokens):
        if end > start and (start, end) not in found:
            before = next((text[a:b] for a, b in reversed(tokens) if b <= start), "")
            apart = _BREAK.search(text, next((b for _, b in reversed(tokens) if b <= start), 0), start)
            found[start, end] = TextSpan(
                start, end, text[start:end], shape, "" if apart else before.casefold()
            )
    return tuple(found.values())


def _all(text: str, tokens: list[tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
    for match in _ADDRESS.finditer(text):
        yield *match.span(), "address"
    for match in _PHONE.finditer(text):
        digits = sum(map(str.isdigit, match.group()))
        dated = re.fullmatch(r"\d{4}-\d\d-\d\d|\d\d?[./]\d\d?[./]\d{2,4}", match.group())
        if 6 <= digits <= 15 and not dated:
            yield *match.span(), "number"
    for start, end in tokens:
        if text[start:end].casefold() in LANGUAGES:
            yield start, end, "language"
    for match in _QUOTED.finditer(text):
        yield *match.span(1 if match[1] else 2), "quoted"
    parts = list(_parts(text))
    yield from _names(text, tokens, parts)
    for start, end in parts:
        yield start, end, "part"
        mine = [span for span in tokens if start <= span[0] < end]
        for number, (first, last) in enumerate(mine):
            if text[first:last].casefold() in BEFORE:
                rest = mine[number + 1 :]
                if rest and text[slice(*rest[0])].casefold() in _ARTICLES:
                    rest = rest[1:]
                for stop in rest[:_MOST_WORDS]:
                    yield rest[0][0], stop[1], "after"
        for number, (first, _) in enumerate(mine if len(tokens) <= _SHORT else ()):
            for _, last in mine[number : number + _MOST_WORDS]:
                yield first, last, "words"


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """What stands between commas, brackets and other marks."""
    start = 0
    for match in [*_BREAK.finditer(text), None]:
        end = match.start() if match else len(text)
        piece = text[start:end]
        if piece.strip():
            yield start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
        start = match.end() if match else end


def _names(
    text: str, tokens: list[tuple[int, int]], parts: list[tuple[int, int]]
) -> Iterator[tuple[int, int, str]]:
    """Runs of words with capitals, with the small words inside them, and on over commas."""
    runs: list[tuple[int, int]] = []
    for start, end in parts:
        mine = [span for span in tokens if start <= span[0] < end]
        run: list[tuple[int, int]] = []
        for span in [*mine, (end, end)]:
            word = text[slice(*span)]
            if word and (word[0].isupper() or (run and (word[0].isdigit() or word.casefold() in _INSIDE))):
                run.append(span)
                continue
            while run and text[slice(*run[-1])].casefold() in _INSIDE:
                run.pop()
            if run:
                runs.append((run[0][0], run[-1][1]))
                # "Kohinoor Radio House on Lamington Road" is also only its first half
                small = [n for n, one in enumerate(run) if n and text[slice(*one)].casefold() in _INSIDE]
                runs += [(run[0][0], run[n - 1][1]) for n in small]
                # the capital of a sentence's first word may be only that
                if len(run) > 1 and run[0][0] == start:
                    runs.append((run[1][0], run[-1][1]))
            run = []
    for start, end in runs:
        yield start, end, "name"
        # an address goes on over commas: Buceo Austral, La Paz 220
        for _ in range(2):
            match = _ON.match(text, end)
            if not match:
                break
            end = match.end()
            yield start, end, "name"
