"""What the scorer of arguments looks at: the features of (request, argument, candidate)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.candidates import Candidate
from contextune.plan.pointer.feature_names import KINDS, NAMES, ORIGINS, SHAPES, WANTS
from contextune.plan.pointer.priors import ArgumentStatistics
from contextune.plan.pointer.spans import BEFORE
from contextune.plan.schema import Parameter
from contextune.plan.values import text_form
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Tool
from contextune.types.app_schema import APPS

Matrix = NDArray[np.float32]
_NAN = float("nan")
_FAR = 99.0

_COLUMN = {name: number for number, name in enumerate(NAMES)}


@dataclass(frozen=True)
class ChosenArguments:
    """What other arguments of the same call have."""

    items: frozenset[int] = frozenset()
    values: frozenset[str] = field(default=frozenset())


def measure(
    situation: PlanningInput,
    tool: Tool,
    parameter: Parameter,
    found: Sequence[Candidate],
    known: ArgumentStatistics,
    chosen: ChosenArguments = ChosenArguments(),  # noqa: B008  # frozen, and the same for all
) -> Matrix:
    """A row a candidate, a column a feature, in the order of `NAMES`; NaN where there is nothing to say."""
    if not found:
        return np.empty((0, len(NAMES)), np.float32)
    scene = _ArgumentScene(situation, tool, parameter, found, known, chosen)
    # as a list first: to set a number in an array takes ten times as long
    values = [_NAN] * (len(found) * len(NAMES))
    for start, candidate in zip(range(0, len(values), len(NAMES)), found, strict=True):
        for name, value in scene.row(candidate).items():
            values[start + _COLUMN[name]] = value
    matrix = np.array(values, np.float32).reshape(len(found), len(NAMES))
    narrow, broad = known.priors.of_origins(tool, parameter, [one.origin for one in found])
    matrix[:, _COLUMN["prior"]], matrix[:, _COLUMN["prior by name"]] = narrow, broad
    ranked = {value: rank for rank, value in enumerate(sorted(set(narrow), reverse=True))}
    matrix[:, _COLUMN["prior rank"]] = [ranked.get(value, _NAN) for value in narrow]
    for name, value in scene.flat.items():
        matrix[:, _COLUMN[name]] = value
    return matrix


class _ArgumentScene:
    """One argument of one call."""

    def __init__(
        self,
        situation: PlanningInput,
        tool: Tool,
        parameter: Parameter,
        found: Sequence[Candidate],
        known: ArgumentStatistics,
        chosen: ChosenArguments,
    ) -> None:
        self.situation, self.tool, self.parameter, self.known, self.chosen = (
            situation,
            tool,
            parameter,
            known,
            chosen,
        )
        self.said = frozenset(situation.words)
        self.most_named = max(situation.named, default=0)
        self.most_related = max(situation.related, default=0)
        self.counts: dict[str, int] = {}
        for one in found:
            form = _looked_at(str(one.value)).form
            self.counts[form] = self.counts.get(form, 0) + 1
        self.in_app = _ranks_in_app(situation)
        self.origins = _ranks_in_origin(found)
        self.own_before = np.cumsum([0, *(item.app == tool.app for item in situation.items)])
        self.myself = frozenset(tokenize(str(situation.user.profile.get("name") or "")))
        self.involved, self.mentioned = _where_people(situation)
        self.flat = self._flat()

    def _flat(self) -> dict[str, float]:
        situation, parameter = self.situation, self.parameter
        spoken = frozenset((*parameter.words, *parameter.about))
        times = situation.times
        return {
            "required": parameter.required,
            **{f"kind {kind}": parameter.kind == kind for kind in KINDS},
            **{f"wants {what}": bool(spoken & wanted) for what, wanted in WANTS.items()},
            "given": self.known.priors.given(self.tool, parameter),
            "items": len(situation.items),
            "anybody named": self.most_named,
            "anybody related": self.most_related,
            "time days": len(times.days),
            "time clocks": len(times.clocks),
            "time shifts": len(times.shifts),
            "time same": times.same,
            "time ends": times.ends,
            "asks": "?" in situation.request.text,
            "length": len(situation.words),
        }

    def row(self, one: Candidate) -> dict[str, float]:
        if one.left_out or one.origin == "free":
            return {f"origin {one.origin}": 1.0}
        found = self._origin(one) | self._value(one) | self._people(one)
        if one.span is not None:
            found |= self._span(one)
        if one.moment is not None:
            found |= self._time(one)
        return found

    def _origin(self, one: Candidate) -> dict[str, float]:
        found = dict(_origins(one.origin))
        if one.item is None:
            return found
        situation, parameter = self.situation, self.parameter
        item = situation.items[one.item]
        field_words, app_words = _spelled(one.field), _app_words(item.app)
        name = frozenset(parameter.words)
        return found | {
            "name in field": len(name & (field_words | app_words)) / max(1, len(name)),
            "field in name": len(name & field_words) / max(1, len(field_words)),
            "field in about": len(field_words & frozenset(parameter.about)) / max(1, len(field_words)),
            "title": one.field == item.schema.title,
            "people field": one.field in item.schema.people,
            "own app": item.app == self.tool.app,
            "rank": one.item,
            "share": float(situation.shares[one.item]),
            "rank in app": self.in_app[one.item],
            "rank in origin": self.origins[one.origin, one.item],
            "apps before": float(self.own_before[one.item]),
            "taken": one.item in self.chosen.items,
        }

    def _value(self, one: Candidate) -> dict[str, float]:
        form, mine, plain = _looked_at(str(one.value))
        return {
            **plain,
            "language": one.span is not None and one.span.shape == "language",
            "said": len(mine & self.said) / max(1, len(mine)),
            "self": len(mine & self.myself) / max(1, len(self.myself)),
            "count": self.counts[form],
            "value taken": form in self.chosen.values,
        }

    def _people(self, one: Candidate) -> dict[str, float]:
        situation = self.situation
        found: dict[str, float] = {"known": bool(one.people), "group": len(one.people)}
        if not one.people:
            return found
        named = [situation.named[number] for number in one.people]
        related = [situation.related[number] for number in one.people]
        return found | {
            "named": max(named),
            "related": max(related),
            "best named": max(named) == self.most_named and max(named) > 0,
            "best related": max(related) == self.most_related and max(related) > 0,
            "involved": min(self.involved.get(number, _FAR) for number in one.people),
            "mentioned": min(self.mentioned.get(number, _FAR) for number in one.people),
            "group said": sum(bool(a or b) for a, b in zip(named, related, strict=True)),
        }

    def _span(self, one: Candidate) -> dict[str, float]:
        span = one.span
        assert span is not None  # noqa: S101  # for the types: asked by the caller
        text = self.situation.request.text
        if one.item is not None:
            text = str(self.situation.items[one.item].fields.get(one.field) or "")
        levels = [self.known.common.level(word) for word in tokenize(span.text)] or [_NAN]
        length = max(1, len(text))
        return {
            **{f"shape {shape}": float(span.shape == shape) for shape in SHAPES},
            "before": float(BEFORE.index(span.before)) if span.before in BEFORE else -1.0,
            "starts": span.start == 0,
            "ends": span.end >= len(text.rstrip(" .!?")),
            "at": span.start / length,
            "of text": (span.end - span.start) / length,
            "common": sum(levels) / len(levels),
            "most common": max(levels),
            "first common": levels[0],
            "last common": levels[-1],
            "before common": self.known.common.level(span.before) if span.before else _NAN,
        }

    def _time(self, one: Candidate) -> dict[str, float]:
        moment, times, now = one.moment, self.situation.times, self.situation.now
        assert moment is not None  # noqa: S101  # for the types: asked by the caller
        whole = self.parameter.kind == "day" or moment.clock is None
        unused = bool(times.days) and not moment.said_day
        unused += bool(times.steps) and not moment.step
        hour = _NAN
        if whole:
            ahead = (moment.day - now.date()).days * 24.0
        else:
            unused += (bool(times.clocks) and not moment.said_clock) + (
                bool(times.shifts) and not moment.shift
            )
            time = moment.time or now
            ahead, hour = (time - now).total_seconds() / 3600, time.hour + time.minute / 60
        agrees = 0.0 if whole or not times.half else (1.0 if (hour >= 12) == (times.half > 0) else -1.0)
        role = ""
        if moment.item is not None:
            roles = self.situation.items[moment.item].schema.times
            role = next((name for name, of in roles.items() if of == moment.field), "")
        return {
            "time day said": moment.said_day,
            "time clock said": moment.said_clock,
            "time sure": moment.sure,
            "time shift": moment.shift,
            "time step": moment.step,
            "time item day": moment.item_day,
            "time item clock": moment.item_clock,
            "time read": moment.read,
            "time unused": unused,
            "time ahead": float(np.sign(ahead) * np.log1p(abs(ahead))),
            "time hour": hour,
            "time half": agrees,
            "time last said": bool(times.days) and moment.day == times.days[-1].dates[0],
            "time start": role in ("start", "due"),
            "time end": role == "end",
            "time end said": (role == "end") == times.ends,
        }


def _ranks_in_app(situation: PlanningInput) -> list[int]:
    seen: dict[str, int] = {}
    found: list[int] = []
    for item in situation.items:
        found.append(seen.get(item.app, 0))
        seen[item.app] = found[-1] + 1
    return found


def _ranks_in_origin(found: Sequence[Candidate]) -> dict[tuple[str, int | None], int]:
    ranks: dict[tuple[str, int | None], int] = {}
    seen: dict[str, int] = {}
    for one in found:
        if one.item is not None and (one.origin, one.item) not in ranks:
            ranks[one.origin, one.item] = seen.get(one.origin, 0)
            seen[one.origin] = seen.get(one.origin, 0) + 1
    return ranks


def _where_people(situation: PlanningInput) -> tuple[dict[int, int], dict[int, int]]:
    """For each contact the place of the first item that involves, and that mentions, them."""
    involved: dict[int, int] = {}
    mentioned: dict[int, int] = {}
    first = situation.people.first_names
    for place, item in enumerate(situation.items):
        for person in item.people:
            if (number := situation.people.number(person)) is not None:
                involved.setdefault(number, place)
        for name in situation.word_sets[place] & first.keys():
            if len(name) > 2:
                for number in first[name]:
                    mentioned.setdefault(number, place)
    return involved, mentioned


class _ValueFacts(NamedTuple):
    """A value in itself, whatever it is for."""

    form: str
    words: frozenset[str]
    plain: Mapping[str, float]


@lru_cache(maxsize=4096)
def _looked_at(text: str) -> _ValueFacts:
    """Remembered, since an address book of hundreds comes by with every argument of every request."""
    form = text_form(text)
    digits = sum(map(str.isdigit, text)) / max(1, len(text))
    capitals = sum(word[:1].isupper() for word in text.split()) / max(1, len(text.split()))
    plain = {
        "words": len(form.split()),
        "letters": float(np.log1p(len(text))),
        "capitals": capitals,
        "digits": digits,
        "at sign": "@" in text,
        "like a number": digits > 0.6,
    }
    return _ValueFacts(form, frozenset(tokenize(text)), plain)


@lru_cache(maxsize=1024)
def _origins(origin: str) -> Mapping[str, float]:
    sort = "part" if origin.endswith("~") else "item" if "." in origin else origin.split()[0]
    return {f"origin {one}": float(one in (sort, origin)) for one in ORIGINS}


@lru_cache(maxsize=1024)
def _spelled(name: str) -> frozenset[str]:
    return frozenset(identifier_words(name))


@lru_cache(maxsize=256)
def _app_words(app: str) -> frozenset[str]:
    noun = APPS[app].noun if app in APPS else ""
    return frozenset((*identifier_words(app), *tokenize(noun)))
