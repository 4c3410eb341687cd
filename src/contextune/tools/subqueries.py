"""Divide a long request into its parts, so that each can be searched for tools.

"Find a flight to Oslo, book a table for two and tell Ana" needs three tools, but the vector of the whole text
is nearest to tools of one kind, and they fill the list. `split_subqueries` finds the sentences and
coordinated clauses that ask for something; sentences that only describe the situation are left out. The
search with the whole request is kept as one more list (`ToolRetriever.find`), so a wrong split costs little.
"""

import re
from collections.abc import Iterator

from contextune.search import tokenize

MAX_SUBQUERIES = 6
"""A text with more parts is dictated or a document: it is searched as a whole."""
_MIN_WORDS = 3
_MAX_CHARACTERS = 2_000

_VERBS = frozenset(
    tokenize("""
    add analyze analyse answer arrange assess book build buy calculate call cancel change check choose
    clear close compare compile compose compute conduct confirm convert copy count create decode define
    delete deliver describe design detect determine develop display divide download draft draw edit
    email encode encrypt estimate evaluate examine explain explore export extract fetch file filter find
    fix forward generate get give help identify import include inform install integrate invite keep know
    learn let list locate log look mail make manage mark measure message modify monitor move notify
    obtain offer open order organize organise pay perform pick pin plan play plot post predict prepare
    print process provide pull publish put rank rate read recommend record register remind remove rename
    reply report request reschedule reserve resize restart retrieve reverse review save scan schedule
    search see select sell send set share show shuffle simulate skip solve sort start stop store submit
    subscribe suggest summarize summarise switch teach tell text track transcribe transfer translate
    turn unlock unsubscribe update upload use validate verify view watch write
    """)
)
"""Imperatives that requests to software begin with."""
_FILLER = (
    r"(?:(?:and|also|then|next|finally|lastly|additionally|furthermore|moreover|besides|plus|afterwards?"
    r"|after that|in addition|first(?:ly)?|second(?:ly)?|third(?:ly)?|last|once done|please|kindly|just|hey"
    r"|hi|hello|ok|okay|now|so|but|as well)\b[,:]?\s*)*"
)
"""Words in front of a clause that say nothing of what it asks for."""
_ASKING = (
    r"(?:can|could|would|will|may|might) (?:you|i|we)\b|(?:i|we)(?:'d| would| also)? ?(?:also |really )?"
    r"(?:need|want|like|love|wish|require|have to)\b|(?:you|they) (?:also )?(?:need|want)\b"
    r"|(?:i'm|i am|we're|we are) (?:also )?"
    r"(?:looking for|interested in|curious|searching for|trying to)|help (?:me|us)|let me"
    r"|what(?:'s| is| are)?\b|which\b|who(?:'s)?\b|where(?:'s)?\b|when\b|how\b|why\b"
    r"|is there\b|are there\b|do (?:you|i|we)\b|(?:it would|it'd) be"
)
"""Openings of a clause that asks for something without an imperative."""
_OPENING = re.compile(rf"{_FILLER}(?P<body>.*)", re.IGNORECASE | re.DOTALL)
_STARTS_ASKING = re.compile(_ASKING, re.IGNORECASE)
_SENTENCE_END = re.compile(
    r"(?<=[.!?…。！？])(?<!\b[A-Z]\.)(?<!\b(?:Mr|Ms|Dr|St|vs|No)\.)(?<!\b(?:Mrs|e\.g|i\.e|etc)\.)[\"'”’)]*\s+"
    r"|(?<=[。！？])|(?:(?<!\s)\s+)?[;\n]\s*|(?<=[:,])\s+(?=\(?\d[.)]\s)"
)
_CLAUSE_END = re.compile(
    r"(?:,|(?<!\s))\s+(?:and|then|plus|as well as)\s+(?:(?:also|then|finally|lastly"
    r"|please)\s+)?|,\s+",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(?:if|unless|when(?:ever)?|once|while|since|as|because|before|after|until|given|for|in case)\b",
    re.IGNORECASE,
)
"""A subordinate clause in front of what is asked for."""
_ASKS_FOR_HELP = re.compile(
    r"(?:(?:can|could|would|will) you )?(?:please )?help(?: me| us)?(?: out)?"
    r"(?: with (?:this|that|it|these|(?:a few|some|a couple of|several|the following) \w+))?\W*",
    re.IGNORECASE,
)
"""Announces what is asked for in other sentences."""
_QUOTED = re.compile(
    r"[\"“«„][^\"“”«»„]{0,300}[\"”»“]|(?<!\w)['‘][^'‘’]{0,300}['’](?!\w)|\([^)]{0,300}\)"
    r"|`[^`]{0,300}`"
)
_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def split_subqueries(text: str) -> tuple[str, ...]:
    """The parts of a request that ask for something, in order; none if it asks for one thing."""
    if len(text) > _MAX_CHARACTERS:
        return ()
    parts = [part for sentence in _sentences(text) for part in _clauses(sentence)]
    distinct = tuple(dict.fromkeys(part for part in parts if _is_telling(part)))
    return distinct if 1 < len(distinct) <= MAX_SUBQUERIES else ()


def _is_telling(part: str) -> bool:
    return len(_WORD.findall(part)) >= _MIN_WORDS and not _ASKS_FOR_HELP.fullmatch(part)


def _sentences(text: str) -> Iterator[str]:
    """The sentences that ask for something."""
    body = text.strip()
    if len(body) > 1 and body[0] == body[-1] == '"':  # some clients quote the whole request
        body = body[1:-1]
    for sentence in _pieces(body, _SENTENCE_END):
        if "?" in sentence[-2:] or _asks(sentence) or _asks_inside(sentence):
            yield sentence


def _clauses(sentence: str) -> Iterator[str]:
    """A sentence divided where a new clause with a verb of its own begins."""
    start = 0
    protected = [match.span() for match in _QUOTED.finditer(sentence)]
    for match in _CLAUSE_END.finditer(sentence):
        if any(left < match.start() and match.end() < right for left, right in protected):
            continue
        left = sentence[start : match.start()]
        if _CONDITION.match(_body(left)):
            continue
        if len(_WORD.findall(left)) >= _MIN_WORDS and _starts_clause(sentence[match.end() :]):
            yield _strip(left)
            start = match.end()
    yield _strip(sentence[start:])


def _pieces(text: str, separator: re.Pattern[str]) -> Iterator[str]:
    """The text between separators that are not in quotes."""
    protected = [match.span() for match in _QUOTED.finditer(text)]
    start = 0
    for match in separator.finditer(text):
        if any(left < match.start() and match.end() < right for left, right in protected):
            continue
        if piece := text[start : match.start()].strip():
            yield piece
        start = match.end()
    if piece := text[start:].strip():
        yield piece


def _asks(clause: str) -> bool:
    """Whether a clause begins with an imperative or another way to ask."""
    body = _body(clause)
    first = _WORD.match(body)
    return bool(first and first[0].casefold() in _VERBS) or bool(_STARTS_ASKING.match(body))


def _asks_inside(sentence: str) -> bool:
    """Whether a later clause asks: "If it rains, book a taxi"."""
    return any(_starts_clause(sentence[match.end() :]) for match in re.finditer(r",\s+", sentence))


def _starts_clause(rest: str) -> bool:
    """Whether a clause of its own follows; the verb needs an object: "find and replace" is one clause."""
    return _asks(rest) and len(_WORD.findall(_body(rest))) >= _MIN_WORDS - 1


def _body(clause: str) -> str:
    opening = _OPENING.match(clause.strip().lstrip("-*•0123456789.) \"'"))
    return opening["body"] if opening else clause


def _strip(part: str) -> str:
    return _body(part).strip(" \t\n,;:") or part.strip()
