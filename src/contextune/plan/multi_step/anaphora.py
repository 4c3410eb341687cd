"""What a part of a request leaves to the part before it: "it", "her", "there", "then"."""

import re
from dataclasses import dataclass

from contextune.plan.multi_step.languages import TONGUES, fold
from contextune.search import tokenize

_THINGS = frozenset(
    tokenize("""
    it them these those ihn sie es das diese dieses diesen die hem het dat deze le la les lo los las li
    o a os as ca cela esto eso questo isto isso
    """)
)
_PEOPLE = frozenset(tokenize("him her them ihn ihm ihr ihnen sie lui leur le les hem haar hen gli"))
_PLACES = frozenset(tokenize("there dort dorthin da alli ahi la y ci daar li"))
_ENGLISH_THING = re.compile(
    r"\b(?:it|them|these|those"
    r"|the (?:one|first)(?=\s+(?:to|with)\b|\W*$)"  # "the one from the bank" is told apart by what follows
    r"|(?:that|this|the (?:results?|answer|text|translation|forecast|route))"
    r"(?=\s+(?:to|with|on|in|for|at|from|as|over|into|by|and|about)\b|\W*$))(?!\w)",
    re.IGNORECASE,
)
_ENGLISH_PERSON = re.compile(
    r"\b(?:him|her(?! (?:\w+ )?(?:mail|email|note|song|address|number)s?\b)|them)\b", re.IGNORECASE
)
_ENGLISH_PLACE = re.compile(r"\bthere\b", re.IGNORECASE)
_ENGLISH_TIME = re.compile(
    r"(?<!^)\bthen\b(?=\W*$)|\b(?:at|for|on|in) (?:that|this) (?:time|slot|day|date|moment)\b|\bthere\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SMALL = frozenset(tokenize("and the to with a my for at on in of"))


@dataclass(frozen=True, slots=True)
class Anaphora:
    """Which kinds of things a text points back at, and the words it does so with."""

    thing: str = ""
    person: str = ""
    place: str = ""
    time: str = ""

    @property
    def any(self) -> bool:
        """Whether it points back at all."""
        return bool(self.thing or self.person or self.place or self.time)


NOTHING = Anaphora()


def anaphora(text: str) -> Anaphora:
    """What the text leaves to what was said before it."""
    english = Anaphora(
        _first(_ENGLISH_THING, text),
        _first(_ENGLISH_PERSON, text),
        _first(_ENGLISH_PLACE, text),
        _first(_ENGLISH_TIME, text),
    )
    if english.any or _is_english(text):
        return english
    return _elsewhere(text)


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group().casefold() if match else ""


def _is_english(text: str) -> bool:
    return any(fold(word) in _SMALL - {"a", "in", "on", "my", "of"} for word in _WORD.findall(text))


def _elsewhere(text: str) -> Anaphora:
    """In other languages: pronouns that hang on the verb or follow it at once."""
    said = _WORD.findall(text)
    if not said:
        return NOTHING
    first = fold(said[0])
    tongue = next((one for one in TONGUES[1:] if one.verb(said[0])), None)
    if tongue is None:
        return NOTHING
    hung = first.split("-")[1:]
    if not hung and (verb := tongue.verb(said[0])) != first:
        hung = [first.removeprefix(verb)]
    if not hung and tongue.follows and len(said) > 1:
        hung = [fold(said[1])]
    word = next((one for one in hung if one not in ("moi", "me", "mich", "mir", "mij", "mi", "m")), "")
    if not word:
        return NOTHING
    return Anaphora(
        thing=word if word in _THINGS or word.endswith(("la", "lo", "las", "los")) else "",
        person=word if word in _PEOPLE or word in ("le", "les") else "",
        place=word if word in _PLACES - {"la"} else "",
    )
