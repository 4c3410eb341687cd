"""Where one question ends and the next begins: "What's on tomorrow, and what's the weather?".

A second question that only adds to the first is no part of its own: "When is it, and how long?".
"""

import re
from collections.abc import Iterator

from contextune.context.stop_words import STOP_WORDS
from contextune.search import tokenize

_GAP = re.compile(
    r"\?+\s+(?:(?:and|also|then|oh)\b,?\s+)*|,?\s+(?:and(?: also)?|&)\s+|,\s+also\s+", re.IGNORECASE
)
_POLITE = r"\W*(?:(?:please|hey|ok(?:ay)?|so|and|also|then|(?:(?:can|could) you )?tell me|do you know),? )*"
_QUESTION = re.compile(
    rf"{_POLITE}(?:(?:at |until )?(?:who|what|when|where|which|how (?:much|many|long))(?:['’]?s| \w+)\s+\S"
    r"|(?:do|does|did|have|has|had|is|are|am|was|were|will)"
    r" (?:i|we|you|my|our|the|there|any\w*|[A-Z]\w+)\b\s+\S"
    r"|any (?:new|news|missed|unread|mails?|messages?|calls?)\b)",
    re.IGNORECASE,
)
_REFERRING = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|this|that|these|those|ones?|then)\b",
    re.IGNORECASE,
)
_AUXILIARY = frozenset(
    tokenize("who what when where which how much many long do does did have has had is are am was were will")
)


def question_gaps(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of characters between two questions of a request, each complete without the other."""
    start = 0
    for gap in _GAP.finditer(text):
        left, right = text[start : gap.start()], text[gap.end() :]
        following = _GAP.search(right)
        first = right[: following.start()] if following else right
        if gap.start() >= start and _is_whole(left) and _is_whole(first):
            yield gap.span()
            start = gap.end()


def _is_whole(text: str) -> bool:
    """Whether a text is a question that names what it is about."""
    match = _QUESTION.match(text)
    if match is None or _REFERRING.search(text):
        return False
    return bool(frozenset(tokenize(text)) - STOP_WORDS - _AUXILIARY)
