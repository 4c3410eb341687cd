"""Training examples for argument filling from the pairs: item texts are parsed back into fields."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import numpy as np

from contextune.datasets import Pair, PairItem
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.planner import add_choice, fill_order
from contextune.plan.pointer.scoring.features import ChosenArguments
from contextune.plan.pointer.values.candidates import find_candidates
from contextune.plan.pointer.values.spans import find_spans
from contextune.plan.values import normalize_value
from contextune.types import Item, ItemHit, Request, Tool, User
from contextune.types.app_schema import APPS
from contextune_lab.train.rankers.arguments.examples import ArgumentExample

EVERY_FOLD = -1
"""Fold of examples that belong to no persona: every model trains on them."""
_REQUEST_TIME = datetime(2024, 5, 16, 12, 0)
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
_DEFAULT_FIELDS: Mapping[str, Sequence[str]] = {
    "Mail": ("content",),
    "Calendar": ("event_name", "location", "notes"),
    "Notes": ("title", "content"),
    "Reminders": ("title",),
    "Music": ("artist", "song_name"),
    "PhoneCall": ("contact",),
    "Google": ("query",),
}
_TIME_PART = re.compile(
    r"^(?:every|each|daily|weekly|today|tonight|tomorrow|yesterday|due|played|opened|last|now|just|started|usually"
    r"|\d{1,2}[:.]\d\d|\d+ (?:min|s|times|calls|tracks|songs|hours|days|open|notes)"
    r"|(?:mon|tue|wed|thu|fri|sat|sun)|missed|incoming|outgoing|voicemail|ended|inbox|open$|sent|received)",
    re.IGNORECASE,
)
_KINDS = ("text", "list")


def pair_examples(pairs: Sequence[Pair], tools: Mapping[str, Tool]) -> Iterator[ArgumentExample]:
    """Arguments whose right value is among the candidates; times are left to `arguments.times`."""
    user = User("pairs")
    for number, pair in enumerate(pairs):
        items = (*pair.items, pair.distractor) if number % 2 else pair.items
        hits = [ItemHit(parse_item(item, f"i{n}"), -float(n)) for n, item in enumerate(items)]
        planning_input = PlanningInput(Request(pair.query, user=user.id, time=_REQUEST_TIME), user, hits)
        tool, chosen = tools[pair.api], ChosenArguments()
        for parameter in fill_order(tool):
            value = pair.args.get(parameter.name)
            if parameter.kind not in _KINDS or value in (None, "*"):
                continue
            # drop "left out": these authors give optional arguments less often than the personas do
            options = [
                option for option in find_candidates(planning_input, parameter) if not option.is_omitted
            ]
            expected = normalize_value(value, parameter)
            grades = np.array(
                [normalize_value(option.value, parameter) == expected for option in options], np.int64
            )
            if not grades.any():
                continue
            yield ArgumentExample(
                pair.id, EVERY_FOLD, tool, parameter, planning_input, options, grades, chosen
            )
            chosen = add_choice(chosen, options[int(grades.argmax())])


def parse_item(item: PairItem, name: str) -> Item:
    """Parse the text of a pair item into the fields of its application."""
    fields: dict[str, str] = {}
    rest: list[str] = []
    labels = _LABELS.get(item.app, {})
    for part in item.text.split(" — ")[1:]:
        label, colon, value = part.partition(":")
        field_of_label = labels.get(label.strip().casefold())
        if colon and field_of_label:
            fields.setdefault(field_of_label, value.strip())
        elif item.app == "Google" and colon:
            fields.setdefault("query", value.strip())
        elif item.app == "Mail" and part.casefold().startswith("from "):
            fields.setdefault("author", part[5:].strip())
        elif not _TIME_PART.match(part.strip()):
            rest.append(part.strip())
        for span in find_spans(part) if item.app == "PhoneCall" else ():
            if span.shape == "number":
                fields.setdefault("number", span.text)
    empty_fields = [field for field in _DEFAULT_FIELDS.get(item.app, ("content",)) if field not in fields]
    for place, part in enumerate(rest if empty_fields else ()):
        field = empty_fields[min(place, len(empty_fields) - 1)]
        fields[field] = f"{fields[field]}, {part}" if field in fields else part
    if not fields and item.app in APPS:
        fields[APPS[item.app].title] = item.text
    return Item(name, item.app, fields)
