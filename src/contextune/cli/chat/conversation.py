"""A conversation: requests with their history, and "the one before" by the time of the last item.

Earlier turns complete a request (`contextune.context.history`), but words alone cannot find the mail before
the last one: it is the nearest in time among the items like it, and the call is the last one over that item.
"And the one from Rui?" is the last request with its person replaced.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from contextune.context.stop_words import STOP_WORDS
from contextune.errors import InvalidRequestError
from contextune.plan import Steps
from contextune.plan.times.phrases import TimeMention, find_times
from contextune.search import tokenize
from contextune.tuner import Tuner
from contextune.types import Answer, Item, ItemHit, Request, Turn, User, local_time

_KINDS = r"(?:one|mail|email|message|note|call|event|meeting|appointment)s?"
_FOLLOW_UP = re.compile(
    rf"\W*(?:(?:ok|okay|and|or|then|what about|how about|what is|what was|no|actually|sorry|make it|i mean"
    r"|i meant|not that|rather)\b[\s,]*)*"
    rf"(?:(?:(?:the|an?) )?(?:(?:last|latest|first|next|newest) )?(?:{_KINDS} )?"
    r"(?P<preposition>from|by|with|of|to|for)\s+)?(?P<person>[^\W\d_][\w.’'-]*(?:\s[^\W\d_][\w.’'-]*){0,3})\W*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
_CORRECTS = re.compile(
    r"\W*(?:(?:no|nope|sorry|wait|actually|i mean|i meant|rather|better|make it|make that|change it to"
    r"|change that to|move it to|let's say|not that,?|instead)\b[\s,:–-]*)+(?:(?:for|to|the)\s+)?",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\W*(?:(?:ok|okay|so|and|hey|please|then)\b[\s,]*)*(?:what|when|where|who|which|how|why|is|are|do|does|did|am|was"
    r"|were|will|any|have|has)(?:['’]?(?:s|re|m|ll|d))?\b",
    re.IGNORECASE,
)
_END = re.compile(r"(?<![\s,])[\s,]*(?:please|instead|then|rather)?$", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,2}(?:[:.]\d\d)?")
_PREPOSITION = re.compile(r"(?:on|in|at|for|by|to)\s+", re.IGNORECASE)
_MAX_HOUR = 24
_MAX_TURNS = 6
"""Turns that are kept; the search looks at no more."""
_BEFORE = r"before|previous|preceding|earlier"
_AFTER = r"after|next|following|later"
_SMALL = r"(?:and|then|what about|how about|what was|what is|show me|read me|ok|okay)?[\s,]*"
_NEIGHBOUR = re.compile(
    rf"\W*+{_SMALL}(?:(?:the|an?) )?"
    rf"(?:(?:one|ones|mail|email|event|note|song|call|message|appointment|meeting) "
    rf"(?:right |just )?(?P<behind>{_BEFORE}|{_AFTER})|(?P<front>{_BEFORE}|{_AFTER})"
    rf"(?: (?:one|mail|email|event|note|song|call|message|appointment|meeting))?)"
    rf"(?: (?:that|it|this)(?: one)?)?\W*",
    re.IGNORECASE,
)
_RELATIVE = ("today", "tomorrow", "tonight", "next", "this", "in ", "noon", "midnight")


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

    def replace_person(self, last: str, follow_up: str) -> str | None:
        """The last request with its person replaced by that of the follow-up; None if it is no such."""
        match = _FOLLOW_UP.fullmatch(follow_up)
        if match is None or not self._is_person(match["person"]):
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


def correct_time(last: str, line: str, now: datetime) -> str | None:
    """The last request with the day or the clock time that a line says; None if it says anything else.

    After an order, a time alone completes or corrects it; after a question, it asks for another time.
    """
    opening = _CORRECTS.match(line)
    if opening is None and _ASKS.match(last):
        return None
    said = _END.sub("", line[opening.end() if opening else 0 :].rstrip(" \t\r\n.!?"))
    if _NUMBER.fullmatch(said):
        is_clock = int(re.split(r"[:.]", said)[0]) <= _MAX_HOUR
        return _with_number(last, said, now) if opening and is_clock else None
    times = find_times(said, now)
    mentions = sorted((*times.days, *times.clocks), key=lambda mention: mention.start)
    if not mentions or not _says_only(said, mentions):
        return None
    before = find_times(last, now)
    for new, old, preposition in ((times.clocks, before.clocks, "at"), (times.days, before.days, "on")):
        if new:
            words = _PREPOSITION.sub("", new[0].words.strip(), count=1)
            last = _replace(last, old[0] if old else None, words, preposition)
            before = find_times(last, now)
    return last


def _with_number(last: str, number: str, now: datetime) -> str | None:
    """The last request with another number: that of its clock time, else the only one it has."""
    clocks = find_times(last, now).clocks
    start, end = (clocks[0].start, clocks[0].end) if clocks else (0, len(last))
    numbers = list(_NUMBER.finditer(last, start, end))
    if len(numbers) == 1:
        return last[: numbers[0].start()] + number + last[numbers[0].end() :]
    return _replace(last, clocks[0], number, "at") if clocks else None


def _replace(text: str, mention: TimeMention | None, words: str, preposition: str) -> str:
    if mention is None:
        return f"{text.rstrip(' .!?')} {words if words.startswith(_RELATIVE) else f'{preposition} {words}'}"
    old = text[mention.start : mention.end]
    kept = _PREPOSITION.match(old)
    return f"{text[: mention.start]}{kept[0] if kept else ''}{words}{text[mention.end :]}"


def _says_only(text: str, mentions: Sequence[TimeMention]) -> bool:
    rest = text
    for mention in reversed(mentions):
        rest = f"{rest[: mention.start]} {rest[mention.end :]}"
    return re.fullmatch(r"\W*(?:(?:on|at|in|for|by|the)\b\W*)*", rest, re.IGNORECASE) is not None


class Conversation:
    """Answers one request after the other of one user."""

    def __init__(self, tuner: Tuner, user: User, k: int) -> None:
        self._tuner = tuner
        self._user = user
        self._k = k
        self._history: tuple[Turn, ...] = ()
        self._history_before: tuple[Turn, ...] = ()
        """The history without the turns of the last request."""
        self._last: Answer | None = None
        self._last_item: Item | None = None
        self._last_text = ""

    def ask(self, request: Request) -> tuple[Answer, Steps | None]:
        """The answer to a request after what was said before; its history is replaced."""
        now = local_time(request.time, self._user.zone)
        corrected = correct_time(self._last_text, request.text, now) if self._last_text else None
        # what is corrected stands for the last request, so its turn is none of the history
        history = self._history if corrected is None else self._history_before
        request = replace(request, text=corrected or self._complete(request.text), history=history)
        answer = self._answer_about_neighbour(request)
        if answer is None:
            answer = self._tuner.answer(request, self._k)
            steps = self._tuner.steps(request, self._k, answer=answer)
            self._last = answer
            self._last_text = request.text
        else:
            steps = Steps((answer.plan,), (request.text,)) if answer.plan else None
        self._last_item = _item_of(answer)
        reply = self._last_item.title if self._last_item else ""
        self._history_before = history
        turns = (*history, Turn("user", request.text), *([Turn("assistant", reply)] if reply else []))
        self._history = turns[-_MAX_TURNS:]
        return answer, steps

    def _complete(self, text: str) -> str:
        """The last request about another person, if that is what the text asks for; else the text."""
        if not self._last_text or _NEIGHBOUR.fullmatch(text):
            return text
        names = PeopleNames(self._user, self._tuner.store.items(self._user.id))
        return names.replace_person(self._last_text, text) or text

    def _answer_about_neighbour(self, request: Request) -> Answer | None:
        """The last call over the item before or after the last one, if the request asks for that."""
        match = _NEIGHBOUR.fullmatch(request.text)
        if not match or self._last is None or self._last_item is None:
            return None
        word = (match["behind"] or match["front"]).casefold()
        backwards = re.fullmatch(_BEFORE, word) is not None
        hits = self._tuner.context(self._last.request, None)
        item = self._neighbour([hit.item for hit in hits], self._last_item, backwards=backwards)
        if item is None:
            place = "before" if backwards else "after"
            raise InvalidRequestError(
                f"there is nothing in {self._last_item.app} {place} “{self._last_item.title}”"
            )
        reason = f"the one {'before' if backwards else 'after'} “{self._last_item.title}”"
        app = self._last_item.app
        context = [
            ItemHit(item, hits[0].score, (reason,)),
            *[hit for hit in hits if hit.item.app != app][: self._k - 1],
        ]
        matches = self._tuner.tools(self._last.request, context=context)
        plan = self._tuner.plan(self._last.request, matches.hits, context=context)
        return Answer(request, tuple(context), tuple(matches.hits), plan, fits=matches.fits)

    def _neighbour(self, items: Sequence[Item], last: Item, *, backwards: bool) -> Item | None:
        """The nearest in time of the items like `last`: of the same people, else of the same title."""
        moment = self._moment(last)
        others = [
            item
            for item in items
            if item.app == last.app
            and item.id != last.id
            and (self._moment(item) < moment if backwards else self._moment(item) > moment)
        ]
        people = self._people(last)
        same = [item for item in others if people & self._people(item)]
        same = same or [item for item in others if item.title.casefold() == last.title.casefold()]
        return (max if backwards else min)(same or others, key=self._moment, default=None)

    def _moment(self, item: Item) -> datetime:
        return local_time(item.time, self._user.zone) if item.time else datetime.min

    def _people(self, item: Item) -> set[str]:
        people = {person.casefold() for person in item.people}
        return {person for person in people if not any(own in person for own in self._user.addresses)}


def _item_of(answer: Answer) -> Item | None:
    """The item that the call takes its values from, else the first."""
    items = {hit.item.id: hit.item for hit in answer.context}
    arguments = answer.plan.arguments.values() if answer.plan else ()
    for source in (source for argument in arguments for source in argument.sources):
        if source.kind == "item" and source.item in items:
            return items[source.item]
    return answer.context[0].item if answer.context else None
