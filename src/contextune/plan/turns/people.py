"""Another person in the last request: "When did Marta last write?", then "And the one from Rui?"."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.turns.words import compiled
from contextune.search import tokenize
from contextune.types import Item, User

_FOLLOW_UP = (
    r"\W*(?:(?:{continuations}|{corrections})\b[\s,]*){0,6}"
    r"(?:(?:(?:the|an?) )?(?:(?:last|latest|first|next|newest) )?(?:{kinds}s? )?"
    r"(?P<preposition>from|by|with|of|to|for)\s+)?(?P<person>[^\W\d_][\w.’'-]*(?:\s[^\W\d_][\w.’'-]*){0,3})\W*"
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
        titles = _words(str(contact.more.get("prefix", "")) for contact in user.contacts)
        self._contacts = (_words(contact.name for contact in user.contacts) - own) | titles
        people = (person.partition("@")[0] for item in items for person in item.people)
        self._others = _words(people) - own

    @staticmethod
    def may_follow(text: str) -> bool:
        """Whether a text may do no more than name another person."""
        return compiled(_FOLLOW_UP).fullmatch(text) is not None

    def replace_person(self, last: str, follow_up: str) -> str | None:
        """The last request with its person replaced by that of the follow-up; None if it is no such."""
        match = compiled(_FOLLOW_UP).fullmatch(follow_up)
        if match is None or not self._is_person(match["person"]):
            return None
        mentions = list(self._mentions(last))
        if not mentions:
            return None
        preposition = (match["preposition"] or "").casefold()
        mention = next((each for each in mentions if each.before == preposition), mentions[0])
        person = match["person"].title() if match["person"].islower() else match["person"]
        return last[: mention.start] + person + last[mention.end :]

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

    def _is_person(self, text: str) -> bool:
        """Whether the words name a person: "Rui", "Dr Rui Costa", not "when does Rui land"."""
        known = _words([text]) & (self._contacts | self._others)
        words = _WORD.findall(text)
        rest = [word for word in words if word.casefold() not in known]
        return bool(known) and all(word[0].isupper() and _words([word]) for word in rest)

    def _is_name(self, word: str) -> bool:
        """An address may be called "news": of addresses, only words that are written as names count."""
        key = word.casefold()
        return key in self._contacts or (word[0].isupper() and key in self._others)


def _words(texts: Iterable[str] | Sequence[str]) -> set[str]:
    words = {word.casefold() for text in texts for word in _WORD.findall(text)}
    return {word for word in words if len(word) > 1 and STOP_WORDS.isdisjoint(tokenize(word))}
