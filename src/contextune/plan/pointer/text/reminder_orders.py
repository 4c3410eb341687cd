"""Orders to be reminded: which words say what to do, and which say when.

"Remind me half an hour before the match to ring Dad": the task is "ring Dad", and "half an hour before the
match" says when. The words before the task always say when, whether or not a parser can read them.
"""

import re
from dataclasses import dataclass

from contextune.plan.planning_input import PlanningInput
from contextune.search import tokenize
from contextune.time_phrases.number_words import CARDINAL_WORDS

_FORGET = (
    r"(?:don['’]?t|do not) let me forget"
    r"|(?:make|be) sure (?:that )?i (?:(?:don['’]?t|do not|never) forget|remember"
    r"|(?!am\b|was\b|have been\b|can\b|get to\b|don['’]?t\b|do\b)(?=[a-z]+ ))"
)
"""Orders that what is to be done follows, with or without "to"."""
ORDER = re.compile(
    rf"\b(?:(?P<forget>{_FORGET})|(?:remind|nudge|poke|ping|buzz|nag|prod|jog|tell|wake|shake) me"
    r"|(?:set|add|create|make|start|new)(?: me)?(?: an?| the)? (?:(?:[\w-]+ ){1,3}?(?=timer\b))?"
    r"(?:reminder|alarm|timer)|^(?:timer|alarm)(?= (?:for|at|in|of|\d))"
    r"|(?:^|\ba |\banother |\bnew |[.!?] )reminder)(?:\b|(?<= ))",
    re.IGNORECASE,
)
_TASK = re.compile(r"\W*(?:(?:to|about|that|of)\s+)?", re.IGNORECASE)
_COLON = re.compile(r"(?P<when>[^:]*(?::\d[^:]*)*):\s+(?=\S)")
_TIMELESS = re.compile(r"(?:[\s,]|\b(?:for|on|at|in|by|me|the)\b)*", re.IGNORECASE)
"""What is left of the words before a colon if they say nothing but when."""
_SUBJECT = re.compile(r"\b(?:i|we|they|he|she|it|who|that|people|always|did)\s+$", re.IGNORECASE)
"""What makes a statement of an order: "they tell me"."""
_DIRECT = re.compile(r"\W*(?:please\W+|up\W+)?(?:to|about|of|that|:|for(?! me\b))\s+", re.IGNORECASE)
_WHEN = re.compile(
    r"\W*(?:as soon as|when|whenever|once|after|before|right|straight|just|shortly|immediately|until|till|if"
    r"|while|during|the (?:day|evening|night|morning|afternoon|week|minute|moment|hour|next|first|last)|next"
    rf"|on|in|at|by|this|every|each|later|soon|half|quarter|around|about|an?|\d+|{CARDINAL_WORDS})\b",
    re.IGNORECASE,
)
_NEAR = re.compile(r"\W*(?:\w+\W+){0,4}?(?:to|about|of|that|for|:)\s+", re.IGNORECASE)
_TO = re.compile(r"\bto\s+(?P<word>[\w'’-]+)")
_ABOUT = re.compile(r"(?:,\s+(?:for|of|that)|\s+about)\s+(?=\w)", re.IGNORECASE)
_NO_VERBS = frozenset(
    tokenize("""
    the a an my our your his her their its this that these those it me us him them you bed work school town
    church home noon midday midnight one two three four five six seven eight nine ten eleven twelve
    """)
)
"""Words behind a "to" that begin no task."""
_MARKER = re.compile(r",?\s*(?:\b(?:to|about|of|that|for)|:)\s+$", re.IGNORECASE)
_KEPT = "reminder order"


@dataclass(frozen=True, slots=True)
class ReminderOrder:
    """Where an order says what to do and when, as ranges of characters; the task is empty if it says none."""

    end: int
    """Where the words of the order end: behind "remind me"."""
    task: tuple[int, int]
    said_when: tuple[int, int]
    """The words between the order and the task; all words behind the order if there is no task."""
    after_colon: bool = False
    """Whether a colon separates the task: "Reminder for Saturday: plumber between 9 and 11"."""

    @property
    def has_task(self) -> bool:
        """Whether it says what to do."""
        return self.task[0] < self.task[1]

    @property
    def keeps_times(self) -> bool:
        """Whether times within the task are part of it: the words before the colon say when."""
        return self.after_colon and self.said_when[0] < self.said_when[1]


def reminder_order(inputs: PlanningInput) -> ReminderOrder | None:
    """The order to be reminded in a request; None if there is none."""
    if _KEPT not in inputs.kept:
        times = [(phrase.first, phrase.last) for phrase in inputs.time_phrases]
        inputs.kept[_KEPT] = find_order(inputs.request.text, times)
    order = inputs.kept[_KEPT]
    return order if isinstance(order, ReminderOrder) else None


def find_order(text: str, times: list[tuple[int, int]]) -> ReminderOrder | None:
    """Find the order in a text; `times` are the ranges of its time phrases."""
    match = next(
        (match for match in ORDER.finditer(text) if not _SUBJECT.search(text, 0, match.start())), None
    )
    if match is None:
        return None
    end, stop = match.end(), len(text.rstrip(" .!?"))
    masked = text
    for first, last in times:  # "at a quarter to nine to …": the first "to" is part of the time
        if first >= end:
            masked = f"{masked[:first]}{' ' * (last - first)}{masked[last:]}"
    colon = _COLON.match(masked, end)
    after_colon = colon is not None and _TIMELESS.fullmatch(colon["when"]) is not None
    if colon is not None and after_colon:
        begin = colon.end()
    elif task := (_TASK if match["forget"] else _DIRECT).match(masked, end):
        begin = task.end()
    elif _WHEN.match(masked, end):
        tasks = [to.start("word") for to in _TO.finditer(masked, end) if _begins_task(to["word"])]
        about = _ABOUT.search(masked, end)
        begin = tasks[0] if tasks else about.end() if about else stop
    else:
        near = _NEAR.match(masked, end)
        begin = near.end() if near else stop
    begin = min(begin, stop)
    between = text[end:begin]
    marker = _MARKER.search(between) if begin < stop else None
    words = between[: marker.start()] if marker else between
    first = end + len(words) - len(words.lstrip(" ,"))
    last = end + len(words.rstrip())
    return ReminderOrder(end, (begin, stop), (min(first, last), last), after_colon)


def _begins_task(word: str) -> bool:
    return word[0].islower() and word.casefold() not in _NO_VERBS
