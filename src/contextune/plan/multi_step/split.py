"""Where a request divides: "Find the invoice and send it to Ann" is two requests, "mum and dad" none.

By rules of language: a joint is an "and", a "then", a comma or the end of a sentence, and what stands on both
sides of it has to be an order of its own, with a verb in front and something behind it. Whether a tool serves
each part is for whoever asks (`Tuner.steps`): rules alone cannot know that.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from contextune.plan.multi_step.languages import ENGLISH, TONGUES, Language, fold
from contextune.search import tokenize
from contextune.search.tokenize import identifier_words
from contextune.types import Tool

MOST = 5
"""More parts than this is a list that somebody dictates, not an errand."""

_LONGEST = 600
"""Letters; who says more than that dictates."""
_NAME = 40
"""Letters; a longer title is a sentence that may say what it likes."""
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_QUOTED = re.compile(r"[\"“«„][^\"“”«»„]*[\"”»“]|(?<!\w)['‘][^'‘’]*['’](?!\w)|\([^)]*\)")
_SENTENCE = re.compile(r"(?:[.!…]+|\s*;)\s+")
_CONDITION = re.compile(r"\b(?:if|unless|in case|provided)\b", re.IGNORECASE)
_WHETHER = re.compile(r"\b(?:ask|check|see|tell|know|find out|wonder)\b[^.;]*\bif\b", re.IGNORECASE)
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
_LOOSE = frozenset(tokenize("call text email mail book ring"))
"""Things that anything may follow once they are a verb: "call mum", "book dinner"."""
_POINTING = frozenset(
    tokenize("""
    a an the my our your his her their its this that these those it him them me us all every each some
    any one two three another both everything everyone everybody something somebody someone up off on
    down mum mom mummy mama mother dad daddy papa father granny gran grandma grandpa uncle aunt auntie
    """)
)
_ASKING = "remind|tell|ask|get|have|help|teach|want|let|persuade|beg|order|invite|warn|reminder|alarm"
_WRITING = "text|email|mail|message|write|send|reply|answer|call|ring"
_DETERMINED = r"(?!(?:the|a|an|my|our|your|his|her|their|its|this|that|these|those|me|him|them|it|us|you)\b)"
_TO_DO = re.compile(rf"\b(?:{_ASKING})\b.*?\bto (?={_DETERMINED}(?-i:[a-z]))", re.IGNORECASE | re.DOTALL)
_TO_SAY = re.compile(rf"\b(?:{_WRITING})\b.*?\bto ([a-z]+)", re.IGNORECASE | re.DOTALL)
_OUGHT = re.compile(
    r"\b(?:must|should|shall|ought to|(?:have|has|need|needs|want|wants|going|got) to|gotta|wanna|may"
    r"|might|can|could"
    r"|will|['’]ll|how to)(?! be\b)(?: |$)",
    re.IGNORECASE,
)
_TO_ALL = re.compile(
    r"(?:tell|let|text|call) (?:everyone|everybody|them|him|her|us|all|the others|people)"
    r"(?: (?:all|else|there|on it|in it|who\b.*|who is .*))?(?: know)?\W*",
    re.IGNORECASE,
)
_TO_ME = re.compile(
    r"let me (?:know|guess|see|hear)\b|make sure\b|tell me which ones?\b"
    r"|(?:tell|show|give|send|share|read|list) (?:me )?(?:all )?(?:the )?"
    r"(?:details?|results?|steps|findings?|answers?|outcome|information)\b",
    re.IGNORECASE,
)
"""An assistant tells what came of it in any case: that is no step of its own."""


@dataclass(frozen=True)
class _SplitPoint:
    start: int
    end: int
    tongue: Language
    weak: bool = False
    """A comma, which joins orders only where an "and" follows: "find it, flag it and call her"."""
    worded: bool = True
    """Whether a word joins, or only the end of a sentence."""


def split_request(text: str, *, verbs: Iterable[str] = (), names: Iterable[str] = ()) -> tuple[str, ...]:
    """The requests that a request is made of, in order; one where it does not divide.

    `verbs` are more words that English orders may begin with, such as those of the tools' names. `names` are
    of things and people: an "and" within one joins nothing.
    """
    known = frozenset(map(fold, verbs))
    if len(text) > _LONGEST or any(tongue.forbidden.match(_body(text, tongue)) for tongue in TONGUES):
        return (text,)
    if _CONDITION.search(text) and not _WHETHER.search(text):  # what is done only if … is no step yet
        return (text,)
    closed = [match.span() for match in _QUOTED.finditer(text)] + list(_named(text, names))
    joints = [
        joint
        for joint in _joints(text)
        if not any(start < joint.start and joint.end < end for start, end in closed)
    ]
    parts = _parts(text, joints, known)
    return parts if 1 < len(parts) <= MOST else (text,)


def opening(part: str) -> str:
    """The verb that an English order begins with."""
    said = _WORD.findall(_body(part, ENGLISH))
    return fold(said[0]) if said else ""


def verbs_of(tools: Iterable[Tool]) -> frozenset[str]:
    """What tools are called after: `lend_book` says that an order may begin with "lend"."""
    return frozenset(first for tool in tools for first in identifier_words(tool.name)[:1] if first.isalpha())


def _parts(text: str, joints: list[_SplitPoint], known: frozenset[str]) -> tuple[str, ...]:
    taken: list[_SplitPoint] = []
    for number, joint in enumerate(joints):
        start = taken[-1].end if taken else 0
        if joint.start < start:
            continue
        left, right = text[start : joint.start], text[joint.end :]
        following = [other for other in joints[number + 1 :] if other.start >= joint.end]
        if joint.weak and not any(
            not other.weak and _opens(text[other.end :], other.tongue, known, other, text)
            for other in following
        ):
            continue
        if _closes(left, joint.tongue, known) and _opens(right, joint.tongue, known, joint, text):
            taken.append(joint)
    if not any(not joint.weak for joint in taken):
        return (text,)
    bounds = [0, *(place for joint in taken for place in (joint.start, joint.end)), len(text)]
    return tuple(text[a:b].strip(_TAIL) for a, b in zip(bounds[::2], bounds[1::2], strict=True))


def _joints(text: str) -> list[_SplitPoint]:
    """Every place where a part may end, each once for every language it could be of, in order."""
    found: list[_SplitPoint] = []
    for tongue in TONGUES:
        joints = [match.span() for match in tongue.joint.finditer(text)]
        found += [_SplitPoint(start, end, tongue) for start, end in joints]
        found += [_SplitPoint(*match.span(), tongue, worded=False) for match in _SENTENCE.finditer(text)]
        found += [_SplitPoint(*match.span(), tongue, weak=True) for match in _COMMA.finditer(text)]
    # the longest first: of ", and then" and "," only the former leaves an order behind it
    return sorted(found, key=lambda joint: (joint.start, joint.weak, -joint.end))


def _named(text: str, names: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where names stand in the text."""
    folded = text.casefold()
    for name in {name.casefold().strip() for name in names}:
        if 2 < len(name) <= _NAME and len(folded) == len(text):
            yield from (match.span() for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", folded))


def _body(text: str, tongue: Language) -> str:
    """What stands behind a please."""
    text = text.lstrip(" \t\n,")
    lead = tongue.lead.match(text)
    return text[lead.end() :] if lead else text


def _closes(left: str, tongue: Language, known: frozenset[str]) -> bool:
    """Whether what is before a joint is an order, and complete."""
    body = _body(left, tongue)
    said = _WORD.findall(body)
    if not said or not (tongue.verb(said[0]) or (tongue is ENGLISH and fold(said[0]) in known)):
        return False
    if _DICTATED.search(body) or "?" in body or tongue.forbidden.match(body):
        return False
    verb, rest = tongue.verb(said[0]), said[1:]
    while rest and tongue is ENGLISH and rest[0].casefold() in _PARTICLES:
        rest = rest[1:]
    if not rest:  # "find and replace", "look up and read": one order with two verbs
        return False
    if tongue is not ENGLISH:
        return True
    looks = said[1].casefold() in ("for", "in", "on", "through", "up")  # "search for", where an order begins
    return (looks or _has_object(verb or fold(said[0]), said[1], noun=not verb)) and not _goes_on(body)


def _goes_on(body: str) -> bool:
    """Whether a verb behind "and" would go on with what somebody else is to do: "ask her to look and …"."""
    if _OUGHT.search(body) or _TO_DO.search(body):
        return True
    return any(fold(match[1]) in ENGLISH.verbs for match in _TO_SAY.finditer(body))


def _opens(right: str, tongue: Language, known: frozenset[str], joint: _SplitPoint, text: str) -> bool:
    """Whether what is behind a joint begins with an order of its own."""
    body = _body(right, tongue)
    said = _WORD.findall(body)
    hung = tongue is not ENGLISH and bool(said) and 0 < len(tongue.verb(said[0])) < len(said[0])  # "leggila"
    if len(said) < 2 and not hung:
        return False
    verb = tongue.verb(said[0])
    new = tongue is ENGLISH and not verb and fold(said[0]) in known
    if not verb and not new:
        return False
    inside = not re.search(r"[.!…;]", text[joint.start : joint.end])
    if inside and said[0][0].isupper():  # "Come and Get It" is a title
        return False
    if not inside and not joint.worded and len(said) < 3:  # "Scales before anything else. Jot that." is one
        return False
    if _DICTATED.match(body[len(said[0]) :]) or tongue is not ENGLISH:
        return True
    if _TO_ALL.fullmatch(body) or _TO_ME.match(body):
        return False
    return _has_object(verb or fold(said[0]), said[1], noun=new)


def _has_object(verb: str, second: str, *, noun: bool) -> bool:
    """Whether what follows an English verb is what to do it with, and the verb not a thing itself."""
    following = second.casefold()
    if verb not in ENGLISH.nouns and not noun:
        return following not in ("of", "is", "are", "was")
    if following in _PREPOSITIONS or following in _COMPOUNDS:
        return following in _PARTICLES and following not in ("in", "at", "for")
    return verb in _LOOSE or following in _POINTING or second[0].isupper() or second[0].isdigit()
