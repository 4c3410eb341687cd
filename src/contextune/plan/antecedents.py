"""What "it", "that" and "there" mean after a question: "When is the MOT?", then "Move it to four"."""

import re
from collections.abc import Collection
from datetime import datetime

from contextune.context.stop_words import STOP_WORDS
from contextune.search import tokenize
from contextune.time_phrases import parse_time_phrases
from contextune.types import Request

_OPENING = (
    r"\W*(?:(?:please|can you|could you|would you|will you|just|now|hey|hi|ok|okay|so|and|go ahead and"
    r"|let['’]?s|i(?:['’]d like| want| need)(?: you)? to)\b[,:]? *){0,12}"
)
"""Words before the verb of an order: "Hey, could you please …"."""
_QUESTION = re.compile(
    r"\W*(?:(?:ok|okay|so|and|hey|please|tell me|do you know),? ){0,8}"
    r"(?:when|where|what time|what day|how (?:long|much|far|expensive))"
    r"(?:['’]?s|['’]re| (?:is|are|was|will|do|does|did))\s+(?P<topic>[^,;:?!]{1,300}?)[\s.?!]*$",
    re.IGNORECASE,
)
"""A question about one thing."""
_ABOUT = re.compile(
    r"\W*(?:what|did|has|have|does)\b[^,;:?!]{0,300}\b(?:about|regarding|concerning)"
    r" (?P<topic>[^,;:?!]{1,300}?)[\s.?!]*$",
    re.IGNORECASE,
)
"""A question about a message about something."""
_TOPIC = re.compile(
    r"(?P<first>(?:the|my|our|this|that|[^\W\d_]+['’]s) )?[^\W_][\w'’-]*"
    r"(?: (?:(?:of|with|to|at|for|in|and) (?:(?:the|my|our) )?)?[^\W_][\w'’-]*){0,4}",
    re.IGNORECASE,
)
_VERBS = frozenset(
    tokenize("""
    again due start starts begin begins end ends finish over be on at now like take takes last lasts cost
    costs held happening scheduled planned supposed exactly
    """)
)
"""Words behind the thing that a question is about."""
_MIN_CONFIDENCE = 0.5

_BEHIND = (
    r"(?=\W*$|[,.;!?]| (?:to|on|at|by|until|till|from|for|off|up|back|forwards?|earlier|later|in|an?|one"
    r"|two|half|please|then|now|instead|too|today|tomorrow|tonight|before|after|this|next|\d\S*|\w+day)\b)"
)
_CHANGED = re.compile(
    rf"{_OPENING}(?:move|push|shift|reschedule|postpone|delay|bring|put|change|cancel|call off|scrap|drop"
    r"|delete|remove|skip|(?:add|invite|include) (?:[^\W\d_][\w.-]* ){1,3}?(?:to|in))"
    rf" (?P<pronoun>it|that|this){_BEHIND}",
    re.IGNORECASE,
)
"""An order about an event or a reminder."""
_REMINDED = re.compile(
    rf"{_OPENING}(?:remind me|(?:set|add|create|make)(?: me)? a reminder"
    r"|(?:don['’]?t|do not) let me forget)\b"
    r"[^,;:.?!]{0,300}? (?:to [^\W\d_]{1,300}(?: (?:for|about|with|up|off|in|out|on))?|before|after|of|about)"
    rf" (?P<pronoun>it|that|this){_BEHIND}",
    re.IGNORECASE,
)
_TAKEN = re.compile(
    r"\b(?:get|go|drive|walk|cycle|head|navigate|directions?|route|way|(?:take|bring|guide|drive|get) me)"
    r" (?:over )?(?P<pronoun>there)"
    r"(?=\W*$|[,;]| (?:by|on|from|in|at|for|now|please|today|tomorrow|tonight)\b)",
    re.IGNORECASE,
)


def points_back(text: str) -> bool:
    """Whether an order is about something that only an earlier turn names: "Cancel it"."""
    return _CHANGED.match(text) is not None


def name_antecedent(request: Request, now: datetime, names: Collection[str] = ()) -> str | None:
    """The request with the thing that the user's last question was about, in place of the pronoun; else None.

    `names` are those of contacts: "Where is Ana?" is about no event.
    """
    questions = [turn.text for turn in request.history if turn.speaker == "user"]
    if not questions:
        return None
    text = request.text
    match = _CHANGED.match(text) or _REMINDED.match(text) or _TAKEN.search(text)
    if match is None or len(re.findall(r"\b(?:it|there)\b", text, re.IGNORECASE)) > 1:
        return None
    question = _QUESTION.match(questions[-1])
    if question is None and match.re is _REMINDED:
        question = _ABOUT.match(questions[-1])
    topic = _topic(question["topic"], now, names) if question else None
    if topic is None:
        return None
    start, end = match.span("pronoun")
    return f"{text[:start]}{'to ' if match.re is _TAKEN else ''}{topic}{text[end:]}"


def _topic(text: str, now: datetime, names: Collection[str]) -> str | None:
    """The thing that a question names, without its verb and times."""
    phrases = parse_time_phrases(text, now, min_confidence=_MIN_CONFIDENCE)
    if phrases and phrases[-1].last >= len(text.rstrip()):
        text = text[: phrases[-1].first]
    words = text.split()
    while words and words[-1].casefold() in _VERBS:
        words.pop()
    topic = " ".join(words)
    match = _TOPIC.fullmatch(topic)
    if match is None or STOP_WORDS.issuperset(tokenize(topic)):
        return None
    if match["first"]:
        return topic
    people = {word for name in names for word in tokenize(name)}
    is_bare = STOP_WORDS.isdisjoint(tokenize(words[0])) and people.isdisjoint(tokenize(topic))
    return topic if is_bare else None
