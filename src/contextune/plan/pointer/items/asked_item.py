"""The item that a question is about, by its words: "How many vacation days are left?", "What is my seat?".

Rankers that learnt from hints are unsure of plain questions, and may take the event of the moment for the
item that is named. Here the telling words of a question are compared with the titles and texts of the items.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.names import is_honorific
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.items.item_words import IN_TITLE, ItemWords
from contextune.plan.pointer.people.named_people import asked_speaker, speaker_name
from contextune.plan.pointer.people.senders import sender_of
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.policy.cost import singular
from contextune.types import Item, local_time

_START = (
    r"\W*(?:(?:please|can you|could you|so|and|hey|ok(?:ay)?|also|do you know|tell me|check|remember|i forgot"
    r"|i wonder|any idea),? ){0,8}"
)
_QUESTION = re.compile(
    rf"{_START}(?:at |on |in |from |until )?(?:when(?:['’]?s)?|where(?:['’]?s)?|what(?:['’]?s)?|which"
    r"|who(?:['’]?s)?|how (?:much|many|long)|w[ah]ts)\b",
    re.IGNORECASE,
)
_FACT = re.compile(
    rf"{_START}(?:what|which|how many|how much|what(?:['’]?s| is| are) (?:my|the|our))\s+(?P<noun>[^\W\d_]+)",
    re.IGNORECASE,
)
"""A question that names the fact it asks for."""
_AMOUNT = re.compile(
    rf"{_START}(?:how (?:much|many)\b|what (?:do|does|did|will) [^?]{{1,300}} (?:pay|charge|cost|owe)\b)",
    re.IGNORECASE,
)
_PAYING = frozenset(
    folded_words("pay paid paying cost costs price priced owe owed spend spent charge charged")
)
"""Words of questions for an amount, which a number in the item answers."""
_TIMED = re.compile(rf"{_START}(?:(?:at |until |from )?(?:when|where|what time)|how long)", re.IGNORECASE)
"""Asks for a time or a place, which events have."""
_LEAVING = re.compile(
    r"\b(?:do|does|did|will|should|must|can|have to|need to) (?:.{0,300} )?(?P<verb>leave|depart"
    r"|arrive|land)\b",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\b(?:say|said|write|wrote|written|answer(?:ed)?|repl(?:y|ied)|mention(?:ed)?|want)\b", re.IGNORECASE
)
"""Asks for what somebody wrote, which is in a mail."""
_HOURS = re.compile(r"\b(?:do|does|is|are)\b.{1,300}\b(?:open|close|closed|shut)\b", re.IGNORECASE)
"""Asks for the opening hours of a business, which no item has."""
_STATE = re.compile(
    rf"{_START}(?:is|are|was|were|has|have|did) (?:my|our|the) (?P<what>[^,;.:!?]{{1,300}}?)"
    r"(?: all| been| already| come)?"
    r" (?P<state>ok|okay|fine|good|bad|right|alright|normal|clear|positive|negative|in|back|ready|done"
    r"|through|here|booked|confirmed|signed|finished|ordered|paid|sent|delivered|approved|cancelled|canceled"
    r"|arrived?|come|came)"
    r"(?: yet| already| now| today){0,8}[\s.!?]*$",
    re.IGNORECASE,
)
"""Asks how something turned out, which the item about it may say: "Were my bloods ok?"."""
_LIST = re.compile(r"\b(?:my|our|the) (?:[\w'’-]+ ){1,2}list\b", re.IGNORECASE)
_LIST_APPS = frozenset(["Notes", "Reminders"])
_FIND = re.compile(
    rf"{_START}(?:find|show|pull up|bring up|dig out|get)(?: me)? (?:the|my|our) (?!way\b|nearest\b)",
    re.IGNORECASE,
)
"""Orders to show an item, if they say its title."""
_NOTED = re.compile(
    rf"{_START}what (?:did|have|had) (?:i|we) (?:write|written|note|noted|jot|jotted|put)(?: it)? down\b",
    re.IGNORECASE,
)
"""Asks for what is in a note."""
_NOTING = frozenset(folded_words("down note noted jot jotted scribble ask mention"))
_NEXT = re.compile(r"\bnext\b", re.IGNORECASE)
_LATEST = re.compile(
    r"\b(?:(?:the|my|our) (?:very )?last|latest|newest|most recent)\b"
    r"(?! (?:time|day|week|weekend|month|year|night|minute|hour|few|two|three|four|\d))",
    re.IGNORECASE,
)
_FILLERS = frozenset(
    folded_words("""
    when whens where wheres what whats wats whts which who whos how many much long time day date hour next
    last latest first again exactly soon actually start starts begin begins end ends take takes happen
    happening due supposed tell know remember check i im id my our we us have got left is are was were will be
    today tomorrow tonight yesterday week month year monday tuesday wednesday thursday friday saturday sunday
    morning afternoon evening noon wrote write written said say sent send come comes go called rang rung ring
    phoned put coming going
    """)
)
"""Words of questions that say nothing about which item is meant."""
_NOUNS = frozenset(
    folded_words("""
    mail email message event appointment meeting note reminder task todo call calendar inbox mailbox diary
    agenda schedule list entry item thing
    """)
)
_MIN_SHARE, _MIN_FACT_SHARE = 0.5, 0.4
"""Least share of the words of a question in the item; less is needed if it has the fact that is asked for."""
_FACT_WEIGHT = 1.5
ATTRIBUTES = frozenset(
    folded_words("""
    number address price cost amount total fee sum score result rate percentage count balance weight size
    time date day hour place location room name code password deadline details status subject
    """)
)
"""Facts that an item may have without the word for them."""
_SECRETS = frozenset(["password", "passcode", "pin", "code", "login"])
"""What a note of a name may hold without the word for it: "Wifi: foggy-lantern"."""
READ_APPS = frozenset(["Mail", "Calendar", "Notes", "Reminders"])
"""Applications whose items can answer a question."""


@dataclass(frozen=True, slots=True)
class AskedItem:
    """An item that a question is about."""

    number: int
    """Its index."""
    app: str
    certain: bool
    """Whether it has all telling words of the question, and no other item has."""
    has_fact: bool
    """Whether it has the fact that the question asks for by name: "What seat …?"."""
    others: frozenset[int]
    """Items of the application that are not meant."""
    is_one_of_several: bool = False
    """Whether events of other names that lie ahead are named equally well."""


_KEPT = "asked item"


def asked_item(inputs: PlanningInput) -> AskedItem | None:
    """The item that the words of a question name; None if it is no question, or names none."""
    if _KEPT not in inputs.kept:
        inputs.kept[_KEPT] = _find(inputs)
    found = inputs.kept[_KEPT]
    return found if isinstance(found, AskedItem) else None


def asked_fact(text: str) -> str | None:
    """The word for the fact that a question asks for: the seat of "What seat do I have?"."""
    return _fact(text, question_words(text))


def question_words(text: str) -> tuple[str, ...]:
    """The telling words of a question about an item, or an order to show it; empty for other requests."""
    finds, state = _FIND.match(text), _STATE.match(text)
    if (_QUESTION.match(text) is None and finds is None and state is None) or _HOURS.search(text):
        return ()
    text = f"{state['what']} {state['state']}" if state else text if finds is None else text[finds.end() :]
    words = dict.fromkeys(folded_words(text))
    fillers = STOP_WORDS | _FILLERS | (_PAYING if _AMOUNT.match(text) else frozenset[str]())
    if _NOTED.match(text):
        fillers |= _NOTING
    if match := _LEAVING.search(text):
        fillers |= {match["verb"].casefold()}
    return tuple(
        word
        for word in words
        if word not in fillers and singular(word) not in _NOUNS and not is_honorific(word)
    )


def shares_word(item: Item, words: Sequence[str], inputs: PlanningInput) -> bool:
    """Whether an item has one of the words, or a form of it."""
    own = ItemWords(item, inputs)
    return any(own.weight(word) for word in words)


def _find(inputs: PlanningInput) -> AskedItem | None:
    text = inputs.request.text
    words = _untimed(question_words(text), inputs)
    if not words:
        return None
    items = {n: ItemWords(item, inputs) for n, item in enumerate(inputs.items) if item.app in READ_APPS}
    if (speaker := asked_speaker(inputs)) is not None:
        name = frozenset(folded_words(speaker_name(text)))
        words = tuple(word for word in words if word not in name)
        items = {n: own for n, own in items.items() if _wrote(speaker, inputs.items[n], inputs)}
    elif _NOTED.match(text):
        items = {n: own for n, own in items.items() if inputs.items[n].app == "Notes"}
    elif _SAID.search(text):
        items = {n: own for n, own in items.items() if inputs.items[n].app == "Mail"}
    if _LIST.search(text):
        lists = {n: own for n, own in items.items() if inputs.items[n].app in _LIST_APPS}
        items = lists if any(own.share(dict.fromkeys(words, 1.0)) for own in lists.values()) else items
    if state := _STATE.match(text):  # "booked" alone names no item
        things = [word for word in words if word in folded_words(state["what"])]
        items = {n: own for n, own in items.items() if any(own.weight(word) for word in things)}
    if _AMOUNT.match(text):
        items = {n: own for n, own in items.items() if own.has_number}
    fact = _fact(text, words)
    if not items or not words or (fact is not None and not any(own.weight(fact) for own in items.values())):
        return None
    weights = {word: _FACT_WEIGHT if word == fact else 1.0 for word in words}
    shares = {n: own.share(weights) for n, own in items.items()}
    if (
        fact is not None and singular(fact) not in ATTRIBUTES
    ):  # an item that has the rest of the words does not answer the question
        shares = {n: share for n, share in shares.items() if items[n].weight(fact)}
    most = max(shares.values())
    if most < (_MIN_SHARE if fact is None else _MIN_FACT_SHARE):
        return None
    best = _fitting([n for n, share in shares.items() if share == most], inputs)
    best = _closest(best, inputs)
    number = _soonest(best, inputs) if _NEXT.search(text) else best[0]
    if _LATEST.search(text):
        number = _latest(best, inputs)
    meant = inputs.items[number]
    is_only = all(inputs.items[n].app == meant.app for n in best)
    needed = [word for word in words if meant.app != "Notes" or word not in _SECRETS] or words
    is_covered = all(items[number].weight(word) for word in needed)
    if _FIND.match(text) and not (
        len(words) > 1 and all(items[number].weight(word) >= IN_TITLE for word in words)
    ):
        return None
    in_title = any(items[number].weight(word) >= IN_TITLE for word in words)
    # the only word, in the text of the best item and of no other
    is_unique = number == 0 and not any(own.share(weights) for n, own in items.items() if n != number)
    certain = is_only and is_covered and (in_title or len(words) > 1 or is_unique)
    # of a series, such as a weekly class, the ranking decides
    series = {n for n in best if is_only and inputs.items[n].title == meant.title}
    others = {n for n, item in enumerate(inputs.items) if item.app == meant.app} - series - {number}
    has_fact = fact is not None and items[number].weight(fact) > 0
    is_paid = _AMOUNT.match(text) is not None and not _PAYING.isdisjoint(folded_words(text))
    ahead = {inputs.items[n].title for n in best if _is_ahead(inputs.items[n], inputs)}
    several = is_only and len(ahead) > 1 and not _NEXT.search(text)
    return AskedItem(
        number,
        meant.app,
        certain and not several and not state,
        has_fact or is_paid or state is not None,
        frozenset(others),
        several,
    )


def _wrote(person: int, item: Item, inputs: PlanningInput) -> bool:
    return item.app == "Mail" and inputs.people.index(sender_of(item)) == person


def _untimed(words: Sequence[str], inputs: PlanningInput) -> tuple[str, ...]:
    """The words of a question without those that only say when: the 27th, Saturday."""
    text = inputs.request.text
    # the price of "half a day" is for any day
    for phrase in reversed([phrase for phrase in inputs.time_phrases if phrase.kind != "duration"]):
        text = f"{text[: phrase.first]} {text[phrase.last :]}"
    left = frozenset(folded_words(text))
    return tuple(word for word in words if word in left)


def _fitting(numbers: Sequence[int], inputs: PlanningInput) -> list[int]:
    """Of items that are named equally well, those of the day that is said; for a time or a place, events."""
    days = {phrase.start.date() for phrase in inputs.time_phrases}
    starts = {n: _start(inputs.items[n], inputs) for n in numbers}
    on_day = [n for n, start in starts.items() if start is not None and start.date() in days]
    if on_day:
        return on_day
    if _TIMED.match(inputs.request.text):
        events = [n for n in numbers if _is_ahead(inputs.items[n], inputs)]
        return events or list(numbers)
    return list(numbers)


def _closest(numbers: Sequence[int], inputs: PlanningInput) -> list[int]:
    """Of items that are named equally well, those with most other words of the request: "the last lesson"."""
    words = frozenset(folded_words(inputs.request.text)) - STOP_WORDS
    said = {n: len(words.intersection(folded_words(inputs.items[n].title))) for n in numbers}
    return [n for n in numbers if said[n] == max(said.values())]


def _is_ahead(item: Item, inputs: PlanningInput) -> bool:
    """Whether an item is an event that is not over before today."""
    start = _start(item, inputs) if item.app == "Calendar" else None
    return start is not None and start.date() >= inputs.now.date()


def _fact(text: str, words: Sequence[str]) -> str | None:
    match = _FACT.match(text)
    noun = folded_words(match["noun"]) if match else ()
    return noun[0] if noun and noun[0] in words else None


def _soonest(numbers: Sequence[int], inputs: PlanningInput) -> int:
    """The item that comes first from now on; the best one if none lies ahead."""
    starts = {n: _start(inputs.items[n], inputs) for n in numbers}
    ahead = {n: start for n, start in starts.items() if start is not None and start >= inputs.now}
    return min(ahead, key=lambda n: ahead[n]) if ahead else numbers[0]


def _latest(numbers: Sequence[int], inputs: PlanningInput) -> int:
    """The newest item up to now; the best one if none has a time."""
    times = {n: local_time(time, inputs.user.zone) for n in numbers if (time := inputs.items[n].time)}
    past = {n: time for n, time in times.items() if time.replace(tzinfo=None) <= inputs.now}
    return max(past, key=lambda n: past[n]) if past else numbers[0]


def _start(item: Item, inputs: PlanningInput) -> datetime | None:
    time = item.times.get("start") or item.times.get("due")
    return local_time(time, inputs.user.zone).replace(tzinfo=None) if time else None
