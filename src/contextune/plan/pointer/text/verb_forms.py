"""English verb forms: the base of "leaves" and "went", and auxiliaries."""

import re

AUXILIARIES = frozenset(
    [
        *("is", "are", "was", "were", "am", "can", "could", "will", "would", "should", "shall", "may"),
        *("might", "must", "isn't", "aren't", "wasn't", "weren't", "can't", "couldn't", "won't"),
        *("wouldn't", "shouldn't", "has", "have", "had", "hasn't", "haven't", "hadn't", "does", "do"),
        *("did", "doesn't", "don't", "didn't"),
    ]
)
"""Verbs that change places with the subject in a question."""
HAVING = frozenset(["has", "have", "had"])
ADVERBS = frozenset(
    [
        *("still", "already", "also", "really", "ever", "even", "just", "only", "now", "actually"),
        *("always", "usually", "never", "often", "maybe", "then"),
    ]
)
"""Words that may stand between a subject and its verb."""
_IRREGULAR_S = {"is": "are", "was": "were", "has": "have", "does": "do", "goes": "go"}
_PAST = dict(
    pair.split("/")
    for pair in (
        *("ate/eat", "bought/buy", "brought/bring", "came/come", "did/do", "felt/feel", "found/find"),
        *("gave/give", "got/get", "had/have", "heard/hear", "kept/keep", "knew/know", "left/leave"),
        *("lost/lose", "made/make", "meant/mean", "met/meet", "paid/pay", "said/say", "sat/sit", "saw/see"),
        *("sent/send", "slept/sleep", "sold/sell", "spoke/speak", "spent/spend", "stood/stand"),
        *("took/take", "thought/think", "told/tell", "understood/understand", "went/go", "won/win"),
        "wrote/write",
    )
)
_PARTICIPLES = frozenset(["been", "done", "gone", "seen", "taken", "given", "written", "eaten", "shown"])
_PARTICIPLES_LIKE_PAST = frozenset(word for word in _PAST if word not in ("came", "went", "saw", "did"))
_VOWELS = "aeiou"
_ONE_SYLLABLE = re.compile(r"[^aeiou]*[aeiou][^aeiouwxy]")


def base_of_third_person(verb: str) -> str | None:
    """The base of a verb in the third person, "leave" of "leaves"; None if it is no such form."""
    low = verb.casefold()
    if low in ("has", "does", "goes"):
        return _IRREGULAR_S[low]
    if len(low) < 4 or not low.endswith("s") or low.endswith(("ss", "us", "is", "'s", "’s")):
        return None
    if low.endswith("ies") and len(low) > 4:
        return f"{verb[:-3]}y"
    if low.endswith(("ches", "shes", "sses", "xes", "zzes", "oes")):
        return verb[:-2]
    return verb[:-1]


def agree_with_you(verb: str) -> str:
    """The form of a verb after "you": "are" for "is", "want" for "wants"."""
    low = verb.casefold().replace("’", "'")
    if low.endswith("n't") and (positive := low.removesuffix("n't")) in _IRREGULAR_S:
        return f"{_IRREGULAR_S[positive]}{verb[-3:]}"
    return _IRREGULAR_S.get(low) or base_of_third_person(verb) or verb


def base_of_past(verb: str) -> str | None:
    """The base of a verb in the past tense, "go" of "went"; None if it is no such form."""
    low = verb.casefold()
    if low in _PAST:
        return _PAST[low]
    if not low.endswith("ed") or len(low) < 5 or low.endswith("eed"):
        return None
    stem = low[:-2]
    if stem.endswith("i"):
        return f"{stem[:-1]}y"
    if stem[-1] == stem[-2] and stem[-1] not in "lsz":
        return stem[:-1]
    needs_e = _ONE_SYLLABLE.fullmatch(stem) or stem[-1] in "vcguz" or stem.endswith(("at", "as", "os", "us"))
    return f"{stem}e" if needs_e else stem


def is_participle(word: str) -> bool:
    """Whether a word may be a past participle: "have you seen", but "do you have keys"."""
    low = word.casefold()
    return low.endswith("ed") or low in _PARTICIPLES or low in _PARTICIPLES_LIKE_PAST
