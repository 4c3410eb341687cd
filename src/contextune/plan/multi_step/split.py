"""Split a request into its parts: "Find the invoice and send it to Ann" has two, "call mum and dad" one.

The rules: a request is split at an "and", a "then", a comma or the end of a sentence if both sides are
imperatives with an object. Whether there is a tool for each part is checked by the caller (`Tuner.steps`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from contextune.plan.multi_step.languages import ENGLISH, LANGUAGES, Language, fold
from contextune.plan.multi_step.question_parts import question_gaps
from contextune.search import tokenize
from contextune.search.tokenize import identifier_words
from contextune.types import Tool

MAX_PARTS = 5
"""A text with more parts is a dictated list, not a request."""

_MAX_LENGTH = 600
"""Characters; a longer text is dictated."""
_MAX_NAME = 40
"""Characters; a longer title is a sentence, and does not protect its "and"."""
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_QUOTED = re.compile(r"[\"“«„][^\"“”«»„]{0,300}[\"”»“]|(?<!\w)['‘][^'‘’]{0,300}['’](?!\w)|\([^)]{0,300}\)")
_SENTENCE = re.compile(r"(?:[.!…]+|\s*;)\s+")
_END = re.compile(r"[.!…;]")
_CONDITION = re.compile(r"\b(?:if|unless|in case|provided)\b", re.IGNORECASE)
_WHETHER = re.compile(r"\b(?:ask|check|see|tell|know|find out|wonder)\b[^.;]{0,300}\bif\b", re.IGNORECASE)
_COMMA = re.compile(r",\s+")
_DICTATED = re.compile(r":(?!\d)")
_TAIL = " \t\n,;"

_PARTICLES = frozenset(tokenize("up out off on in back down for at over through around into away"))
_PREPOSITIONS = frozenset(
    tokenize("""
    of from by is are was were in at to with about for on and or than as that which
    """)
)
_COMPOUNDS = frozenset(
    tokenize("""
    log logs history list lists message messages number numbers sheet box board
    """)
)
_ANY_OBJECT = frozenset(tokenize("call text email mail book ring"))
"""Nouns that take any object when used as verbs: "call mum", "book dinner"."""
_SETTING = frozenset(["remind", "set", "create", "schedule", "add"])
_CALLING = frozenset(["call", "phone", "ring", "dial"])
_DETERMINERS = frozenset(
    tokenize("""
    a an the my our your his her their its this that these those it him them me us all every each some
    any one two three another both everything everyone everybody something somebody someone up off on
    down mum mom mummy mama mother dad daddy papa father granny gran grandma grandpa uncle aunt auntie
    """)
)
_ASKING = "remind|tell|ask|get|have|help|teach|want|let|persuade|beg|order|invite|warn|reminder|alarm"
_WRITING = "text|email|mail|message|write|send|reply|answer|call|ring"
_DETERMINED = r"(?!(?:the|a|an|my|our|your|his|her|their|its|this|that|these|those|me|him|them|it|us|you)\b)"
_TO_DO = re.compile(
    rf"\b(?:{_ASKING})\b.{{0,300}}?\bto "
    rf"(?={_DETERMINED}(?-i:[a-z]))",
    re.IGNORECASE | re.DOTALL,
)
_TO_SAY = re.compile(rf"\b(?:{_WRITING})\b.{{0,300}}?\bto ([a-z]+)", re.IGNORECASE | re.DOTALL)
_MODAL = re.compile(
    r"\b(?:must|should|shall|ought to|(?:have|has|need|needs|want|wants|going|got) to|gotta|wanna|may"
    r"|might|can|could"
    r"|will|['’]ll|how to)(?! be\b)(?: |$)",
    re.IGNORECASE,
)
_TO_ALL = re.compile(
    r"(?:(?:tell|let|text) (?:them|him|her)"
    r"|(?:tell|let|text|call) (?:everyone|everybody|us|all|the others|people))"
    r"(?: (?:all|else|there|on it|in it|who\b.*|who is .*))?(?: know)?\W*",
    re.IGNORECASE,
)
_TO_ME = re.compile(
    r"let me (?:know|guess|see|hear)\b|make sure\b|tell me which ones?\b"
    r"|(?:tell|show|give|send|share|read|list) (?:me )?(?:all )?(?:the )?"
    r"(?:details?|results?|steps|findings?|answers?|outcome|information)\b",
    re.IGNORECASE,
)
"""Requests to report the result, which is no step of its own."""


@dataclass(frozen=True)
class _SplitPoint:
    start: int
    end: int
    language: Language
    weak: bool = False
    """A comma: it splits only if a conjunction follows, as in "find it, flag it and call her"."""
    by_word: bool = True
    """Whether it is a conjunction, not the end of a sentence."""


def split_request(text: str, *, verbs: Iterable[str] = (), names: Iterable[str] = ()) -> tuple[str, ...]:
    """Split a request into its parts, in order; a simple request is its only part.

    `verbs` are additional English imperatives, such as those in the names of tools. `names` are titles of
    items and names of people, inside which nothing is split.
    """
    extra_verbs = frozenset(map(fold, verbs))
    if len(text) > _MAX_LENGTH:
        return (text,)
    protected = [match.span() for match in _QUOTED.finditer(text)] + list(_name_spans(text, names))
    gaps = [gap for gap in question_gaps(text) if not any(a < gap[0] and gap[1] < b for a, b in protected)]
    if gaps:
        parts = _between(text, gaps)
        return parts if len(parts) <= MAX_PARTS else (text,)
    if any(language.conditional.match(_body(text, language)) for language in LANGUAGES):
        return (text,)
    if _CONDITION.search(text) and not _WHETHER.search(text):  # a conditional action is not a step
        return (text,)
    points = [
        point
        for point in _split_points(text)
        if not any(start < point.start and point.end < end for start, end in protected)
    ]
    parts = _parts(text, points, extra_verbs)
    return parts if 1 < len(parts) <= MAX_PARTS else (text,)


def leading_verb(part: str) -> str:
    """The verb that an English request begins with."""
    words = _WORD.findall(_body(part, ENGLISH))
    return fold(words[0]) if words else ""


def tool_verbs(tools: Iterable[Tool]) -> frozenset[str]:
    """The verbs in the names of tools: "lend" for `lend_book`."""
    return frozenset(first for tool in tools for first in identifier_words(tool.name)[:1] if first.isalpha())


def _parts(text: str, points: list[_SplitPoint], extra_verbs: frozenset[str]) -> tuple[str, ...]:
    chosen: list[_SplitPoint] = []
    for number, point in enumerate(points):
        start = chosen[-1].end if chosen else 0
        if point.start < start:
            continue
        left, right = text[start : point.start], text[point.end :]
        following = [other for other in points[number + 1 :] if other.start >= point.end]
        if point.weak and not any(
            not other.weak and _starts_request(text[other.end :], other.language, extra_verbs, other, text)
            for other in following
        ):
            continue
        if _is_complete(
            left, point.language, extra_verbs, closed=_closes(text, point, left, right, in_list=bool(chosen))
        ) and _starts_request(right, point.language, extra_verbs, point, text):
            chosen.append(point)
    if not any(not point.weak for point in chosen):
        return (text,)
    return _between(text, [(point.start, point.end) for point in chosen])


def _between(text: str, gaps: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """The parts of a text without the gaps between them."""
    bounds = [0, *(position for gap in gaps for position in gap), len(text)]
    return tuple(text[a:b].strip(_TAIL) for a, b in zip(bounds[::2], bounds[1::2], strict=True))


def _split_points(text: str) -> list[_SplitPoint]:
    """All possible split points of all languages, in order."""
    points: list[_SplitPoint] = []
    for language in LANGUAGES:
        points += [_SplitPoint(*match.span(), language) for match in language.conjunction.finditer(text)]
        points += [_SplitPoint(*match.span(), language, by_word=False) for match in _SENTENCE.finditer(text)]
        points += [_SplitPoint(*match.span(), language, weak=True) for match in _COMMA.finditer(text)]
    # the longest first: after "," in ", and then" no imperative would follow
    return sorted(points, key=lambda point: (point.start, point.weak, -point.end))


def _name_spans(text: str, names: Iterable[str]) -> Iterator[tuple[int, int]]:
    """The positions of names in the text."""
    folded = text.casefold()
    for name in {name.casefold().strip() for name in names}:
        # most names are not in the text, and compiling a pattern takes longer than to see that
        if 2 < len(name) <= _MAX_NAME and len(folded) == len(text) and name in folded:
            yield from (match.span() for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", folded))


def _body(text: str, language: Language) -> str:
    """The text without a polite opening."""
    text = text.lstrip(" \t\n,")
    lead = language.lead.match(text)
    return text[lead.end() :] if lead else text


def _closes(text: str, point: _SplitPoint, left: str, right: str, *, in_list: bool) -> bool:
    """Whether a subordinate clause ends at a split point: "Remind me to buy milk. Then …"."""
    separator = text[point.start : point.end]
    if _END.search(separator):
        return point.by_word or leading_verb(left) in _SETTING
    # the last of several orders: "…, remind me to pack, and show my mails"
    return in_list and "," in separator and leading_verb(right) not in _CALLING


def _is_complete(left: str, language: Language, extra_verbs: frozenset[str], *, closed: bool = False) -> bool:
    """Whether the text before a split point is a complete request; `closed` if no clause goes on after it."""
    body = _body(left, language)
    words = _WORD.findall(body)
    if not words or not (language.verb(words[0]) or (language is ENGLISH and fold(words[0]) in extra_verbs)):
        return False
    if _DICTATED.search(body) or "?" in body or language.conditional.match(body):
        return False
    verb, rest = language.verb(words[0]), words[1:]
    while rest and language is ENGLISH and rest[0].casefold() in _PARTICLES:
        rest = rest[1:]
    if not rest:  # "find and replace", "look up and read": two verbs, one request
        return False
    if language is not ENGLISH:
        return True
    is_phrasal = words[1].casefold() in ("for", "in", "on", "through", "up")  # "search for"
    has_object = is_phrasal or _has_object(verb or fold(words[0]), words[1], noun=not verb)
    return has_object and (closed or not _continues(body))


def _continues(body: str) -> bool:
    """Whether a verb after "and" would belong to a subordinate clause: "ask her to look and …"."""
    if _MODAL.search(body) or _TO_DO.search(body):
        return True
    return any(fold(match[1]) in ENGLISH.verbs for match in _TO_SAY.finditer(body))


def _starts_request(
    right: str, language: Language, extra_verbs: frozenset[str], point: _SplitPoint, text: str
) -> bool:
    """Whether the text after a split point begins with a request of its own."""
    body = _body(right, language)
    words = _WORD.findall(body)
    # one word is enough if the object is attached to the verb, as in "leggila"
    is_attached = language is not ENGLISH and bool(words) and 0 < len(language.verb(words[0])) < len(words[0])
    if len(words) < 2 and not is_attached:
        return False
    verb = language.verb(words[0])
    new = language is ENGLISH and not verb and fold(words[0]) in extra_verbs
    if not verb and not new:
        return False
    same_sentence = not _END.search(text[point.start : point.end])
    if same_sentence and words[0][0].isupper():  # "Come and Get It" is a title
        return False
    # "Scales before anything else. Jot that." is one request
    if not same_sentence and not point.by_word and len(words) < 3:
        return False
    if _DICTATED.match(body[len(words[0]) :]) or language is not ENGLISH:
        return True
    if _TO_ALL.fullmatch(body) or _TO_ME.match(body):
        return False
    return _has_object(verb or fold(words[0]), words[1], noun=new)


def _has_object(verb: str, second: str, *, noun: bool) -> bool:
    """Whether an English verb is followed by an object, and is not itself a noun."""
    following = second.casefold()
    if verb not in ENGLISH.nouns and not noun:
        return following not in ("of", "is", "are", "was")
    if (verb, following) == ("search", "for"):
        return True
    if following in _PREPOSITIONS or following in _COMPOUNDS:
        return following in _PARTICLES and following not in ("in", "at", "for")
    return verb in _ANY_OBJECT or following in _DETERMINERS or second[0].isupper() or second[0].isdigit()
