"""Questions that only say another time than the one before: "What's on Friday?", then "And on Sunday?"."""

import re
from datetime import datetime

from contextune.time_phrases import TimePhrase, parse_time_phrases
from contextune.types import Request

_QUESTION = re.compile(
    r"\W*(?:(?:ok|okay|so|and|hey|please|tell me|do you know),? )*"
    r"(?:what|when|where|who|which|how|is|are|am|was|were|do|does|did|will|any|anything|have|has|show|list|weather|forecast)(?:['’]?(?:s|re|m|ll|d))?\b",
    re.IGNORECASE,
)
"""A question, or an order to show something: to ask it again for another time changes nothing."""
_REST = re.compile(
    r"\W*(?:(?:ok|okay|and|or|but|so|also|then|now|what about|how about|what|how|the|on|for|in|at|instead|too"
    r"|as well|please|no|nope|sorry|wait|actually|i mean|i meant|rather|make it|make that)\b\W*)*",
    re.IGNORECASE,
)
"""What a follow-up may say beside its time."""
_PREPOSITION = re.compile(r"(?:on|in|at|for|by)\s+", re.IGNORECASE)
_MIN_CONFIDENCE = 0.5


def complete_follow_up(request: Request, now: datetime) -> str | None:
    """The user's last question with the time of this request, if it says nothing else; else None."""
    phrase = _only_time(request.text, now)
    turns = [turn.text for turn in request.history if turn.speaker == "user"]
    if phrase is None or not turns:
        return None
    times = [_only_time(text, now) for text in turns]
    # "and on Sunday?", "and Monday?": the question is further back
    question = next((text for text, time in zip(turns[::-1], times[::-1], strict=True) if time is None), None)
    if question is None or _QUESTION.match(question) is None:
        return None
    old = [
        time
        for time in parse_time_phrases(question, now, min_confidence=_MIN_CONFIDENCE)
        if time.kind != "duration"
    ]
    if len(old) > 1:
        return None
    if not old:
        return f"{question.rstrip(' .!?')} {phrase.text}?"
    before = _PREPOSITION.match(old[0].text)
    words = f"{before.group() if before else ''}{_PREPOSITION.sub('', phrase.text, count=1)}"
    return f"{question[: old[0].first]}{words}{question[old[0].last :]}"


def _only_time(text: str, now: datetime) -> TimePhrase | None:
    """The day or period of a text that says nothing else."""
    phrases = parse_time_phrases(text, now, min_confidence=_MIN_CONFIDENCE)
    if len(phrases) != 1 or phrases[0].kind != "span":
        return None
    rest = f"{text[: phrases[0].first]} {text[phrases[0].last :]}"
    return phrases[0] if _REST.fullmatch(rest) else None
