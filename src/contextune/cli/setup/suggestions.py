"""Questions to try, made from the user's own ordinary items; only those that are answered with their item."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from contextune.tuner import Tuner
from contextune.types import Item, Progress, Request, User, local_time

_MAX_TITLE = 60
_AUTOMATIC = re.compile(
    r"\b(?:no|do-?not)[-_.]?reply|\b(?:news|newsletters?|marketing|offers?|deals|notifications?|alerts?|mailer|info)@",
    re.IGNORECASE,
)
"""Addresses from which nobody writes."""
_TRIES = 4
"""Items of an application that are tried."""
_QUESTIONS = {
    "Calendar": "When does {title} begin?",
    "Mail": "Read me the mail about {title}.",
    "Notes": "What does my note {title} say?",
    "Reminders": "When is {title} due?",
    "Music": "Play {title}.",
    "PhoneCall": "When did I last talk to {title}?",
    "YouTube": "Find the video {title} again.",
    "Google": "What did I find out about {title}?",
}
"""By application, the ones with the most telling answers first."""
_QUESTION_COUNT = 3


def suggest_questions(tuner: Tuner, user: User, now: datetime, progress: Progress | None = None) -> list[str]:
    """A few questions about different items, of different applications as far as there are some.

    `progress` is called with the number of questions.
    """
    moment = local_time(now, user.zone)
    by_app: dict[str, list[Item]] = {}
    for item in tuner.store.items(user.id):
        if item.app in _QUESTIONS and 0 < len(item.title) <= _MAX_TITLE and _is_ordinary(item):
            by_app.setdefault(item.app, []).append(item)
    candidates = [
        _questions(tuner, user, now, app, sorted(by_app[app], key=lambda item: _distance(item, user, moment)))
        for app in _QUESTIONS
        if app in by_app
    ]
    questions: list[str] = []
    while candidates and len(questions) < _QUESTION_COUNT:
        for generator in tuple(candidates):
            question = next(generator, None)
            if question is None:
                candidates.remove(generator)
            elif len(questions) < _QUESTION_COUNT:
                questions.append(question)
                if progress:
                    progress(len(questions), _QUESTION_COUNT)
    return questions


def _is_ordinary(item: Item) -> bool:
    """Whether a person wrote it, or the user: not a promotion, a newsletter or an automatic mail."""
    automatic = item.fields.get("bulk") or _AUTOMATIC.search(str(item.fields.get("author", "")))
    return item.title.isprintable() and not (item.app == "Mail" and automatic)


def _questions(tuner: Tuner, user: User, now: datetime, app: str, items: Sequence[Item]) -> Iterator[str]:
    """Questions about items of an application that find their item first and a tool for it."""
    tried: set[str] = set()
    for item in items:
        if item.title in tried:
            continue
        if len(tried) == _TRIES:
            return
        tried.add(item.title)
        question = _QUESTIONS[app].format(title=f"“{item.title}”" if " " in item.title else item.title)
        answer = tuner.answer(Request(question, user.id, now), 3)
        found = answer.context and answer.context[0].item.title == item.title
        if found and answer.plan and answer.plan.decision != "none":
            yield question


def _distance(item: Item, user: User, now: datetime) -> tuple[bool, float]:
    """Events to come first, then what is nearest in time."""
    if item.time is None:
        return True, float("inf")
    seconds = (local_time(item.time, user.zone) - now).total_seconds()
    return item.app == "Calendar" and seconds < 0, abs(seconds)
