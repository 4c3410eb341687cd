"""The last request about somebody else: "and the one from Rui?" after "When did Ana last write?"."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from contextune.context.stop_words import STOP_WORDS
from contextune.search import tokenize
from contextune.types import Item, User

_KINDS = r"(?:one|mail|email|message|note|call|event|meeting|appointment)s?"
_FOLLOW_UP = re.compile(
    rf"\W*(?:(?:ok|okay|and|or|then|what about|how about|what is|what was|no|actually|sorry|make it|i mean"
    r"|i meant|not that|rather)\b[\s,]*)*"
    rf"(?:(?:(?:the|an?) )?(?:(?:last|latest|first|next|newest) )?(?:{_KINDS} )?"
    r"(?P<preposition>from|by|with|of|to|for)\s+)?(?P<person>[^\W\d_][\w.’'-]*(?:\s[^\W\d_][\w.’'-]*){0,3})\W*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")


class _Mention(NamedTuple):
    start: int
    end: int
    before: str
    """The word before the name."""


class PeopleNames:
    """Words by which a user's people are named: those of contacts, and of addresses in items."""

    def __init__(self, user: User, items: Iterable[Item]) -> None:
        own = _words(str(value) for value in (user.profile.get("name"), *user.addresses) if value)
        self._contacts = _words(contact.name for contact in user.contacts) - own
        people = (person.partition("@")[0] for item in items for person in item.people)
        self._others = _words(people) - own

    def replace_person(self, last: str, follow_up: str) -> str | None:
        """The last request with its person replaced by that of the follow-up; None if it is no such."""
        match = _FOLLOW_UP.fullmatch(follow_up)
        if match is None or not _words([match["person"]]) & (self._contacts | self._others):
            return None
        mentions = list(self._mentions(last))
        if not mentions:
            return None
        preposition = (match["preposition"] or "").casefold()
        mention = next((each for each in mentions if each.before == preposition), mentions[0])
        return last[: mention.start] + match["person"] + last[mention.end :]

    def _mentions(self, text: str) -> Iterator[_Mention]:
        words = list(_WORD.finditer(text))
        position = 0
        while position < len(words):
            end = position
            while end < len(words) and self._is_name(words[end][0]):
                end += 1
            if end > position:
                before = words[position - 1][0].casefold() if position else ""
                yield _Mention(words[position].start(), words[end - 1].end(), before)
            position = end + 1

    def _is_name(self, word: str) -> bool:
        """An address may be called "news": of addresses, only words that are written as names count."""
        key = word.casefold()
        return key in self._contacts or (word[0].isupper() and key in self._others)


def _words(texts: Iterable[str] | Sequence[str]) -> set[str]:
    words = {word.casefold() for text in texts for word in _WORD.findall(text)}
    return {word for word in words if len(word) > 1 and STOP_WORDS.isdisjoint(tokenize(word))}
