"""Turn reported speech into what the recipient reads: "if she wants tea" → "Do you want tea?"."""

import re
from collections.abc import Sequence
from typing import Literal

from contextune.context.signals.people import relation_synonyms
from contextune.plan.pointer.text.verb_forms import (
    ADVERBS,
    AUXILIARIES,
    HAVING,
    agree_with_you,
    base_of_past,
    base_of_third_person,
    is_participle,
)
from contextune.search import tokenize

Gender = Literal["she", "he", "they", ""]

_SUBJECTS = {"she": "she", "he": "he", "they": "they"}
_OBJECTS = {"she": "her", "he": "him", "they": "them"}
_POSSESSIVES = {"she": "her", "he": "his", "they": "their"}
_CONTRACTED = {"'s": "'re", "’s": "’re"}
_EXPANDED = {"'s": "is", "'re": "are", "'m": "am", "'ll": "will", "'ve": "have", "'d": "would"}
_NO_OBJECT = (
    r"(?=\s*(?:$|[.,;!?]|(?:to|for|at|in|on|from|with|about|and|or|if|when|tomorrow|today|tonight)\b))"
)
_REACHING = (
    r"(?:call|ring|phone|text|e-?mail|mail|message|see|meet|visit|tell|ask|help|pay|miss|join|catch|pick|fetch"
    r"|write|answer|collect|invite)"
)
"""Verbs whose object is a person, so that a day after it is none: "I'll call her Friday"."""
_DAY = r"(?=\s+(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\s+(?:this|next|later|soon|again|back|up|then)\b)"
_PRONOUN = re.compile(r"\b(?:(?P<she>she|hers?)|(?P<he>he|him|his))\b", re.IGNORECASE)
_NAME = re.compile(r"\b(?!I\b)[^\W\d_a-z][^\W\d_]+")
_PERSONS = frozenset(
    tokenize("""
    man woman boy girl guy lady doctor nurse dentist vet teacher boss manager plumber mechanic driver
    neighbour neighbor landlord client customer patient baby kid child dog cat nobody everyone someone
    somebody anyone sister brother mother father uncle aunt niece nephew cousin wife husband son daughter
    friend
    """)
)
_PRONOUNS = frozenset(
    tokenize("i you he she it we they there this that these those everyone somebody someone")
)
_DETERMINERS = frozenset(tokenize("the a an my your our his her their its any some"))
_BE = frozenset(["is", "are", "was", "were"])
_STATES = frozenset(
    tokenize("in on at here there ready done ok okay home back up out off free open fine coming late")
)
"""Words before which 's is a verb: "if Ana's home"."""
_WH_PHRASE = 3
"""Words before the subject of a wh-clause at most: "how many hours", "what time"."""
_SHORT = re.compile(
    r"(?P<subject>i|you|he|she|it|we|they|there)(?P<short>['’](?:s|re|m|ll|ve|d))", re.IGNORECASE
)
_COORDINATED = re.compile(
    r"\b(?P<and>and|but|or),? that "
    r"(?=(?:I|you|he|she|it|we|they|there|the|my|your|our|his|her|their|[A-Z]\w+)(?:['’]|\b))"
)


def sole_pronoun(clause: str, people: Sequence[tuple[int, int]] = ()) -> Gender:
    """The pronoun of a clause that can only mean the recipient, as nobody else is mentioned before it.

    `people` are ranges of the clause in which it names contacts.
    """
    match = _PRONOUN.search(clause)
    if match is None:
        return ""
    gender: Gender = "she" if match["she"] else "he"
    before = clause[: match.start()]
    words = tokenize(before)
    is_other = (
        any(start < match.start() for start, _ in people)
        or _NAME.search(before) is not None
        or any(map(is_person, words))
        or any((other["she"] is None) != (match["she"] is None) for other in _PRONOUN.finditer(clause))
    )
    return "" if is_other else gender


def is_person(word: str) -> bool:
    """Whether a word stands for a person: "manager", "sister"."""
    return word.casefold() in _PERSONS or len(relation_synonyms(word.casefold())) > 1


def turn_pronouns(text: str, gender: Gender) -> str:
    """Replace the recipient's pronoun by "you", with the verb after it."""
    if not gender:
        return text
    subject = _SUBJECTS[gender]

    def turned(match: re.Match[str]) -> str:
        you = "You" if match["subject"][0].isupper() else "you"
        short, verb = match["short"] or "", match["verb"] or ""
        gap, adverb = match["gap"] or "", match["adverb"] or ""
        if short:
            return f"{you}{_CONTRACTED.get(short, short)}{gap}{adverb}{verb}"
        return f"{you}{gap}{adverb}{verb if gender == 'they' else agree_with_you(verb)}"

    adverbs = "|".join(sorted(ADVERBS))
    pattern = (
        rf"\b(?P<subject>{subject})\b(?P<short>['’](?:s|ll|d|re|ve))?"
        rf"(?:(?P<gap> )(?P<adverb>(?:(?:{adverbs}) )*)(?P<verb>[\w'’]+))?"
    )
    text = re.sub(pattern, turned, text, flags=re.IGNORECASE)
    text = re.sub(rf"\b{_OBJECTS[gender]}\b{_NO_OBJECT}", "you", text, flags=re.IGNORECASE)
    reached = rf"\b(?P<verb>{_REACHING}) {_OBJECTS[gender]}\b{_DAY}"
    text = re.sub(reached, lambda match: f"{match['verb']} you", text, flags=re.IGNORECASE)
    return re.sub(rf"\b{_POSSESSIVES[gender]}\b(?= \w)", "your", text, flags=re.IGNORECASE)


def drop_coordinated_that(text: str) -> str:
    """The clauses without a second "that": "it is done and that I'll send it"."""
    return _COORDINATED.sub(lambda match: f"{match['and']} ", text)


def ask_directly(clause: str) -> str | None:
    """A question in place of an indirect one, without question mark; None if its parts are not told apart.

    "whether" and "if" are not part of the clause, question words are: "when the train leaves".
    """
    words = clause.split()
    if words and words[0].casefold() == "about":
        return clause
    head = _question_words(words)
    if head is None and len(words) > 2 and words[-1].casefold() in _BE:  # "when dinner is"
        return " ".join([words[0], words[-1], *words[1:-1]])
    if head is None:
        return clause  # the question word is the subject: "who is coming"
    question, words = words[:head], words[head:]
    inverted = _inverted(words)
    return None if inverted is None else " ".join([*question, *inverted])


def _question_words(words: Sequence[str]) -> int | None:
    """How many words stand before the subject of a clause; None if they are the subject."""
    if not words or words[0].casefold() not in (
        "when",
        "where",
        "what",
        "how",
        "why",
        "who",
        "which",
        "whose",
    ):
        return 0
    for count, word in enumerate(words[1 : _WH_PHRASE + 1], 1):
        if _starts_subject(word):
            return count
    return None


def _starts_subject(word: str) -> bool:
    low = word.casefold()
    return low in _PRONOUNS or low in _DETERMINERS or word[0].isupper() or _SHORT.fullmatch(word) is not None


def _inverted(words: Sequence[str]) -> list[str] | None:
    """Subject, verb and the rest in the order of a question."""
    if not words:
        return None
    if short := _SHORT.fullmatch(words[0]):
        verb = _EXPANDED[short["short"].replace("’", "'").casefold()]
        return [verb, short["subject"], *words[1:]]
    is_pronoun = words[0].casefold() in _PRONOUNS
    last = 2 if is_pronoun else len(words)
    for place in range(1, min(last, len(words))):
        skipped = place
        while skipped < len(words) - 1 and words[skipped].casefold() in ADVERBS:
            skipped += 1
        verb = words[skipped].casefold().replace("’", "'")
        if short := _short_verb(words, place - 1):
            return [short, *words[: place - 1], words[place - 1][:-2], *words[place:]]
        following = words[skipped + 1] if skipped + 1 < len(words) else ""
        if verb in AUXILIARIES and (verb not in HAVING or is_participle(following)):
            return [words[skipped], *words[:skipped], *words[skipped + 1 :]]
        if verb in HAVING:
            helper = {"has": "does", "have": "do", "had": "did"}[verb]
            return [helper, *words[:skipped], "have", *words[skipped + 1 :]]
    return _with_do(words, is_pronoun=is_pronoun)


def _short_verb(words: Sequence[str], place: int) -> str | None:
    """The verb that 's stands for at the end of a word, if it is not a possessive."""
    if not words[place].casefold().replace("’", "'").endswith("'s"):
        return None
    following = next((word for word in words[place + 1 :] if word.casefold() not in ADVERBS), "").casefold()
    if following in ("been", "got", "had"):
        return "has"
    return "is" if following in _STATES or following.endswith(("ing", "ed")) else None


def is_indirect(question: str) -> bool:
    """Whether a question has the word order of an indirect one: "When the boat?", "The keys are here?"."""
    words = question.split()
    head = _question_words(words)
    if not question.endswith("?") or head is None or head >= len(words):
        return False
    if any(word.casefold().replace("’", "'") in AUXILIARIES for word in words[:head]):
        return False
    low = words[head].casefold().strip("?")
    return low in _PRONOUNS or low in _DETERMINERS or (head > 0 and words[head][0].isupper())


def _with_do(words: Sequence[str], *, is_pronoun: bool) -> list[str] | None:
    """The question of a clause without auxiliary: "the train leaves" → "does the train leave"."""
    first = 1
    while is_pronoun and first < len(words) - 1 and words[first].casefold() in ADVERBS:
        first += 1
    if is_pronoun:
        if first >= len(words):
            return None
        return _helped(words, first, plain="do")
    start = 2 if words[0].casefold() in _DETERMINERS else 1
    is_plural = len(words) > start and base_of_third_person(words[start - 1]) is not None
    if is_plural and start == 2:
        return _helped(words, start, plain="do")
    for place in range(start, len(words)):
        if re.search(r"['’]s$", words[place - 1]):
            continue  # "Ana's boots"
        if base_of_third_person(words[place]) or base_of_past(words[place]):
            return _helped(words, place, plain="do")
    return None


def _helped(words: Sequence[str], place: int, *, plain: str) -> list[str]:
    verb = words[place].rstrip(",;")
    mark = words[place][len(verb) :]
    if base := base_of_third_person(verb):
        helper = "does"
    elif base := base_of_past(verb):
        helper = "did"
    else:
        helper, base = plain, verb
    return [helper, *words[:place], f"{base}{mark}", *words[place + 1 :]]
