"""Find anaphora: words that refer back to the previous step, such as "it", "her", "there", "then"."""

import re
from dataclasses import dataclass

from contextune.plan.multi_step.languages import LANGUAGES, fold
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
    r"|the (?:one|first)(?=\s+(?:to|with)\b|\W*$)"  # "the one from the bank" does not refer back
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
_MESSAGE = re.compile(
    r"\b(?:tell|inform|ask|let|e-?mail|mail|text|message|write|warn|remind)\b.{0,300}?"
    r"\b(?P<link>that|know|if|whether) "
    r"(?=(?:i|we|he|she|it|they|you|there|the|my|our|his|her|their)\b)",
    re.IGNORECASE,
)
"""The beginning of a message: pronouns in it are for its reader."""
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_ENGLISH_WORDS = frozenset(tokenize("and the to with a my for at on in of"))


@dataclass(frozen=True, slots=True)
class Anaphora:
    """The words with which a text refers back, by what they refer to; empty if there is none."""

    thing: str = ""
    person: str = ""
    place: str = ""
    time: str = ""

    @property
    def any(self) -> bool:
        """Whether the text refers back at all."""
        return bool(self.thing or self.person or self.place or self.time)


NO_ANAPHORA = Anaphora()


def find_anaphora(text: str) -> Anaphora:
    """Find the anaphora in a part of a request, before the message that it dictates."""
    if message := _MESSAGE.search(text):
        text = text[: message.start("link")]
    english = Anaphora(
        _first(_ENGLISH_THING, text),
        _first(_ENGLISH_PERSON, text),
        _first(_ENGLISH_PLACE, text),
        _first(_ENGLISH_TIME, text),
    )
    if english.any or _is_english(text):
        return english
    return _other_languages(text)


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group().casefold() if match else ""


def _is_english(text: str) -> bool:
    return any(fold(word) in _ENGLISH_WORDS - {"a", "in", "on", "my", "of"} for word in _WORD.findall(text))


def _other_languages(text: str) -> Anaphora:
    """In languages other than English: pronouns attached to the verb or right after it."""
    words = _WORD.findall(text)
    if not words:
        return NO_ANAPHORA
    first = fold(words[0])
    language = next((language for language in LANGUAGES[1:] if language.verb(words[0])), None)
    if language is None:
        return NO_ANAPHORA
    pronouns = first.split("-")[1:]
    if not pronouns and (verb := language.verb(words[0])) != first:
        pronouns = [first.removeprefix(verb)]
    if not pronouns and language.separate_pronouns and len(words) > 1:
        pronouns = [fold(words[1])]
    word = next((word for word in pronouns if word not in ("moi", "me", "mich", "mir", "mij", "mi", "m")), "")
    if not word:
        return NO_ANAPHORA
    return Anaphora(
        thing=word if word in _THINGS or word.endswith(("la", "lo", "las", "los")) else "",
        person=word if word in _PEOPLE or word in ("le", "les") else "",
        place=word if word in _PLACES - {"la"} else "",
    )
