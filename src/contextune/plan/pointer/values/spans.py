"""Find spans of a text that may be a value: numbers, addresses, names, what follows an "at"."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

LANGUAGES = frozenset(
    [
        *("bangla", "dholuo", "ewe", "fula", "haitian", "hmong", "ilocano", "kinyarwanda", "krio", "lingala"),
        *("luo", "oromo", "papiamento", "papiamentu", "sami", "shona", "sranan", "tetum", "tigrinya", "twi"),
        "wolof",
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
ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_QUOTED = re.compile(r"[\"“«„]([^\"“”«»„]{2,60})[\"”»“]|(?<!\w)['‘]([^'‘’]{2,60})['’](?!\w)")
_TOKEN = re.compile(r"[^\W_]+(?:['’.&/-]+[^\W_]+)*")
_BREAK = re.compile(r"[;!?()\[\]\n—–|+]|[.:](?!\d)|,|\s[-/]\s")
_NAME_PARTICLES = frozenset(
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
_CONTINUATION = re.compile(r", [^\W_][^,.;:!?()\n—]{1,30}(?=[,.;:!?()\n—]|$)|,? \d+\w?\b")
LEADING_WORDS = (
    "at",
    "in",
    "near",
    "to",
    "from",
    "by",
    "on",
    "called",
    "for",
    "with",
    "is",
    "around",
    "into",
)
"""Words that may precede a value, and hint at its meaning."""
_BY = re.compile(
    r"(?:(?:please|can you|could you|would you|hey|now|just),? ){0,8}"
    r"(?:play|put on|queue|start|add|stream)(?: me| up)? "
    r"(?:(?:the|that|whole|full) ){0,8}(?:(?:song|track|album|record|single|tune) )?"
    r"(?P<title>[^\s,].{0,300}?)(?:, the (?:song|track|album|record|single))?,? by (?!.{0,300} by )"
    r"(?P<artist>[^,;:]{1,300}?)(?: (?:to|on|in|into|for|from|please|again|now|next)\b.{0,300})?",
    re.IGNORECASE,
)
_NO_TITLE = re.compile(
    r"(?:me )?(?:some|any|a|an|something|anything|more|everything|stuff)?"
    r"(?: (?:of|more|new|old|good|nice|else))*"
    r"(?: ?(?:songs?|music|tracks?|albums?|records?|tunes?|ballads?|one))?",
    re.IGNORECASE,
)
_NO_ARTIST = re.compile(r"(?:me|you|us|him|her|them|it|my|our|his|their|heart|ear)\b", re.IGNORECASE)
"""Not a name: "Stand by Me", "something by my sister's band"."""
_LOWER_ARTIST = re.compile(
    r"(?!.*(?:\d|\b(?:noon|midnight|tonight|tomorrow|then|accident|mistake|default|myself|sea|fire|\w+day)\b))"
    r"(?:the )?[^\W\d_].*"
)
_PLAYS = re.compile(r"(?:.*\b)?(?:play|put on|queue|stream)\b", re.IGNORECASE)
_ARTICLES = frozenset(["the", "a", "an", "my", "our", "your", "his", "her", "their"])
_MAX_SPAN_WORDS = 5
_MAX_SHORT_TEXT = 12
"""In a text of at most this many words, such as a web search, every span is a candidate."""


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A span of a text."""

    start: int
    end: int
    text: str
    shape: str
    """number, address, language, quoted, name, part (between commas), after (a preposition) or words."""
    before: str = ""
    """The word before the span, in lower case; empty across punctuation."""


@lru_cache(maxsize=2048)
def find_spans(text: str) -> tuple[TextSpan, ...]:
    """All spans that may be a value, each once, with the first shape that matches."""
    spans: dict[tuple[int, int], TextSpan] = {}
    tokens = [match.span() for match in _TOKEN.finditer(text)]
    ends = [end for _, end in tokens]
    words_before: dict[int, str] = {}

    def word_before(start: int) -> str:
        place = bisect_right(ends, start) - 1
        if place < 0 or _BREAK.search(text, ends[place], start):
            return ""
        return text[slice(*tokens[place])].casefold()

    for start, end, shape in _matches(text, tokens):
        if end > start and (start, end) not in spans:
            if start not in words_before:
                words_before[start] = word_before(start)
            spans[start, end] = TextSpan(start, end, text[start:end], shape, words_before[start])
    return tuple(spans.values())


def _matches(text: str, tokens: list[tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
    for match in ADDRESS.finditer(text):
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
        inner = [span for span in tokens if start <= span[0] < end]
        for number, (first, last) in enumerate(inner):
            if text[first:last].casefold() in LEADING_WORDS:
                rest = inner[number + 1 :]
                if rest and text[slice(*rest[0])].casefold() in _ARTICLES:
                    rest = rest[1:]
                for stop in rest[:_MAX_SPAN_WORDS]:
                    yield rest[0][0], stop[1], "after"
        for number, (first, _) in enumerate(inner if len(tokens) <= _MAX_SHORT_TEXT else ()):
            for _, last in inner[number : number + _MAX_SPAN_WORDS]:
                yield first, last, "words"


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """The parts between commas, brackets and other marks."""
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
    """Runs of capitalised words, with the lower-case words inside them, also across commas."""
    runs: list[tuple[int, int]] = []
    for start, end in parts:
        inner = [span for span in tokens if start <= span[0] < end]
        run: list[tuple[int, int]] = []
        for span in [*inner, (end, end)]:
            word = text[slice(*span)]
            if word and (
                word[0].isupper() or (run and (word[0].isdigit() or word.casefold() in _NAME_PARTICLES))
            ):
                run.append(span)
                continue
            while run and text[slice(*run[-1])].casefold() in _NAME_PARTICLES:
                run.pop()
            if run:
                runs.append((run[0][0], run[-1][1]))
                # the first half may be meant: "Kohinoor Radio House on Lamington Road"
                small = [
                    n
                    for n, token in enumerate(run)
                    if n and text[slice(*token)].casefold() in _NAME_PARTICLES
                ]
                runs += [(run[0][0], run[n - 1][1]) for n in small]
                # the first word may be capitalised only because it starts a sentence
                if len(run) > 1 and run[0][0] == start:
                    runs.append((run[1][0], run[-1][1]))
            run = []
    for start, end in runs:
        yield start, end, "name"
        # an address continues after a comma: "Buceo Austral, La Paz 220"
        for _ in range(2):
            match = _CONTINUATION.match(text, end)
            if not match:
                break
            end = match.end()
            yield start, end, "name"


@lru_cache(maxsize=512)
def title_and_artist(text: str) -> tuple[TextSpan | None, TextSpan | None]:
    """The title and the artist in "play TITLE by ARTIST"; "play something by ARTIST" has no title."""
    match = _BY.fullmatch(text.rstrip(" .!?"))
    if match is None or _NO_ARTIST.match(match["artist"]):
        return None, None
    if match["artist"][0].islower() and not _is_lower_artist(text, match):
        return None, None
    artist = TextSpan(*match.span("artist"), match["artist"], "name", "by")
    if _NO_TITLE.fullmatch(match["title"]):
        return None, artist
    start, end = match.span("title")
    if match["title"][0] in "\"“'‘" and match["title"][-1] in "\"”'’":
        start, end = start + 1, end - 1
    return TextSpan(start, end, text[start:end], "name", "play"), artist


def _is_lower_artist(text: str, match: re.Match[str]) -> bool:
    """Whether what follows "by" may be an artist in a request that is typed without capitals."""
    is_typed_lower = not any(char.isupper() for char in text.strip()[1:])
    is_played = _PLAYS.match(text, 0, match.start("title")) is not None
    return is_typed_lower and is_played and _LOWER_ARTIST.fullmatch(match["artist"]) is not None
