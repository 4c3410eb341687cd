"""Training pairs as arguments to be filled: their items are texts, read back into fields."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import numpy as np

from contextune.datasets import Pair, PairItem
from contextune.lab.train.rankers.argument_examples import ArgumentExample
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.candidates import candidates
from contextune.plan.pointer.features import ChosenArguments
from contextune.plan.pointer.planner import after, order_of
from contextune.plan.pointer.spans import spans
from contextune.plan.values import normal
from contextune.types import Item, ItemHit, Request, Tool, User
from contextune.types.app_schema import APPS

EVERY_FOLD = -1
"""The fold of what belongs to no persona: it is learnt from whoever is judged."""
_NOW = datetime(2024, 5, 16, 12, 0)
_LABELS: Mapping[str, Mapping[str, str]] = {
    "Mail": {"from": "author", "subject": "subject", "to": "recipients", "sent to": "recipients"},
    "Calendar": {"event": "event_name"},
    "Notes": {"title": "title", "folder": "folder"},
    "Reminders": {"title": "title", "list": "list"},
    "Music": {
        "playlist": "playlist",
        "album": "album_title",
        "artist": "artist",
        "song": "song_name",
        "now playing": "song_name",
    },
    "PhoneCall": {"contact": "contact"},
    "Google": {},
}
_REST: Mapping[str, Sequence[str]] = {
    "Mail": ("content",),
    "Calendar": ("event_name", "location", "notes"),
    "Notes": ("title", "content"),
    "Reminders": ("title",),
    "Music": ("artist", "song_name"),
    "PhoneCall": ("contact",),
    "Google": ("query",),
}
_WHEN = re.compile(
    r"^(?:every|each|daily|weekly|today|tonight|tomorrow|yesterday|due|played|opened|last|now|just|started|usually"
    r"|\d{1,2}[:.]\d\d|\d+ (?:min|s|times|calls|tracks|songs|hours|days|open|notes)"
    r"|(?:mon|tue|wed|thu|fri|sat|sun)|missed|incoming|outgoing|voicemail|ended|inbox|open$|sent|received)",
    re.IGNORECASE,
)
_KINDS = ("text", "list")


def pair_examples(pairs: Sequence[Pair], tools: Mapping[str, Tool]) -> Iterator[ArgumentExample]:
    """The arguments of pairs whose right value is among the candidates; times are left to others."""
    user = User("pairs")
    for number, pair in enumerate(pairs):
        told = (*pair.items, pair.distractor) if number % 2 else pair.items
        hits = [ItemHit(parsed(item, f"i{n}"), -float(n)) for n, item in enumerate(told)]
        situation = PlanningInput(Request(pair.query, user=user.id, time=_NOW), user, hits)
        tool, chosen = tools[pair.api], ChosenArguments()
        for parameter in order_of(tool):
            wanted = pair.args.get(parameter.name)
            if parameter.kind not in _KINDS or wanted in (None, "*"):
                continue
            # whether an optional argument is given differs between these authors and the personas'
            found = [one for one in candidates(situation, parameter) if not one.left_out]
            right = normal(wanted, parameter)
            grades = np.array([normal(one.value, parameter) == right for one in found], np.int64)
            if not grades.any():
                continue
            yield ArgumentExample(pair.id, EVERY_FOLD, tool, parameter, situation, found, grades, chosen)
            chosen = after(chosen, found[int(grades.argmax())])


def parsed(item: PairItem, name: str) -> Item:
    """The item of a pair with the fields that its application has."""
    fields: dict[str, str] = {}
    rest: list[str] = []
    labels = _LABELS.get(item.app, {})
    for part in item.text.split(" — ")[1:]:
        label, colon, value = part.partition(":")
        known = labels.get(label.strip().casefold())
        if colon and known:
            fields.setdefault(known, value.strip())
        elif item.app == "Google" and colon:
            fields.setdefault("query", value.strip())
        elif item.app == "Mail" and part.casefold().startswith("from "):
            fields.setdefault("author", part[5:].strip())
        elif not _WHEN.match(part.strip()):
            rest.append(part.strip())
        for span in spans(part) if item.app == "PhoneCall" else ():
            if span.shape == "number":
                fields.setdefault("number", span.text)
    free = [field for field in _REST.get(item.app, ("content",)) if field not in fields]
    for place, part in enumerate(rest if free else ()):
        field = free[min(place, len(free) - 1)]
        fields[field] = f"{fields[field]}, {part}" if field in fields else part
    if not fields and item.app in APPS:
        fields[APPS[item.app].title] = item.text
    return Item(name, item.app, fields)
