"""Compute the features of (request, argument, candidate) for the argument scorer."""

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
from contextune.plan.pointer.spans import LEADING_WORDS
from contextune.plan.schema import Parameter
from contextune.plan.values import normalize_text
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Tool
from contextune.types.app_schema import APPS

Matrix = NDArray[np.float32]
_NAN = float("nan")
_FAR = 99.0

_COLUMN = {name: number for number, name in enumerate(NAMES)}


@dataclass(frozen=True)
class ChosenArguments:
    """The items and values that other arguments of the same call use."""

    items: frozenset[int] = frozenset()
    values: frozenset[str] = field(default=frozenset())


def argument_features(
    inputs: PlanningInput,
    tool: Tool,
    parameter: Parameter,
    candidates: Sequence[Candidate],
    statistics: ArgumentStatistics,
    chosen: ChosenArguments = ChosenArguments(),  # noqa: B008  # frozen
) -> Matrix:
    """The feature matrix: one row per candidate, columns in the order of `NAMES`, NaN where undefined."""
    if not candidates:
        return np.empty((0, len(NAMES)), np.float32)
    scene = _ArgumentScene(inputs, tool, parameter, candidates, statistics, chosen)
    # filling a list is ten times as fast as filling an array
    values = [_NAN] * (len(candidates) * len(NAMES))
    for start, candidate in zip(range(0, len(values), len(NAMES)), candidates, strict=True):
        for name, value in scene.row(candidate).items():
            values[start + _COLUMN[name]] = value
    matrix = np.array(values, np.float32).reshape(len(candidates), len(NAMES))
    narrow, broad = statistics.priors.origin_frequencies(
        tool, parameter, [candidate.origin for candidate in candidates]
    )
    matrix[:, _COLUMN["prior"]], matrix[:, _COLUMN["prior by name"]] = narrow, broad
    ranked = {value: rank for rank, value in enumerate(sorted(set(narrow), reverse=True))}
    matrix[:, _COLUMN["prior rank"]] = [ranked.get(value, _NAN) for value in narrow]
    for name, value in scene.shared.items():
        matrix[:, _COLUMN[name]] = value
    return matrix


class _ArgumentScene:
    """What the features of all candidates for one argument share."""

    def __init__(
        self,
        inputs: PlanningInput,
        tool: Tool,
        parameter: Parameter,
        candidates: Sequence[Candidate],
        statistics: ArgumentStatistics,
        chosen: ChosenArguments,
    ) -> None:
        self.inputs, self.tool, self.parameter, self.statistics, self.chosen = (
            inputs,
            tool,
            parameter,
            statistics,
            chosen,
        )
        self.request_tokens = frozenset(inputs.tokens)
        self.most_named = max(inputs.name_matches, default=0)
        self.most_related = max(inputs.relation_matches, default=0)
        self.counts: dict[str, int] = {}
        for candidate in candidates:
            form = _value_facts(str(candidate.value)).form
            self.counts[form] = self.counts.get(form, 0) + 1
        self.app_ranks = _ranks_in_app(inputs)
        self.origin_ranks = _ranks_in_origin(candidates)
        self.own_before = np.cumsum([0, *(item.app == tool.app for item in inputs.items)])
        self.user_name = frozenset(tokenize(str(inputs.user.profile.get("name") or "")))
        self.involved, self.mentioned = _people_positions(inputs)
        self.shared = self._shared_features()

    def _shared_features(self) -> dict[str, float]:
        inputs, parameter = self.inputs, self.parameter
        words = frozenset((*parameter.words, *parameter.description_words))
        times = inputs.times
        return {
            "required": parameter.required,
            **{f"kind {kind}": parameter.kind == kind for kind in KINDS},
            **{f"wants {what}": bool(words & wanted) for what, wanted in WANTS.items()},
            "given": self.statistics.priors.given_rate(self.tool, parameter),
            "items": len(inputs.items),
            "anybody named": self.most_named,
            "anybody related": self.most_related,
            "time days": len(times.days),
            "time clocks": len(times.clocks),
            "time shifts": len(times.shifts),
            "time same": times.repeats,
            "time ends": times.refers_to_end,
            "asks": "?" in inputs.request.text,
            "length": len(inputs.tokens),
        }

    def row(self, candidate: Candidate) -> dict[str, float]:
        if candidate.is_omitted or candidate.origin == "free":
            return {f"origin {candidate.origin}": 1.0}
        features = (
            self._origin_features(candidate)
            | self._value_features(candidate)
            | self._people_features(candidate)
        )
        if candidate.span is not None:
            features |= self._span_features(candidate)
        if candidate.time is not None:
            features |= self._time_features(candidate)
        return features

    def _origin_features(self, candidate: Candidate) -> dict[str, float]:
        features = dict(_origins(candidate.origin))
        if candidate.item is None:
            return features
        inputs, parameter = self.inputs, self.parameter
        item = inputs.items[candidate.item]
        field_words, app_words = _name_words(candidate.field), _app_words(item.app)
        name = frozenset(parameter.words)
        return features | {
            "name in field": len(name & (field_words | app_words)) / max(1, len(name)),
            "field in name": len(name & field_words) / max(1, len(field_words)),
            "field in about": len(field_words & frozenset(parameter.description_words))
            / max(1, len(field_words)),
            "title": candidate.field == item.schema.title,
            "people field": candidate.field in item.schema.people,
            "own app": item.app == self.tool.app,
            "rank": candidate.item,
            "share": float(inputs.relative_scores[candidate.item]),
            "rank in app": self.app_ranks[candidate.item],
            "rank in origin": self.origin_ranks[candidate.origin, candidate.item],
            "apps before": float(self.own_before[candidate.item]),
            "taken": candidate.item in self.chosen.items,
        }

    def _value_features(self, candidate: Candidate) -> dict[str, float]:
        form, words, plain = _value_facts(str(candidate.value))
        return {
            **plain,
            "language": candidate.span is not None and candidate.span.shape == "language",
            "said": len(words & self.request_tokens) / max(1, len(words)),
            "self": len(words & self.user_name) / max(1, len(self.user_name)),
            "count": self.counts[form],
            "value taken": form in self.chosen.values,
        }

    def _people_features(self, candidate: Candidate) -> dict[str, float]:
        inputs = self.inputs
        features: dict[str, float] = {"known": bool(candidate.people), "group": len(candidate.people)}
        if not candidate.people:
            return features
        named = [inputs.name_matches[number] for number in candidate.people]
        related = [inputs.relation_matches[number] for number in candidate.people]
        return features | {
            "named": max(named),
            "related": max(related),
            "best named": max(named) == self.most_named and max(named) > 0,
            "best related": max(related) == self.most_related and max(related) > 0,
            "involved": min(self.involved.get(number, _FAR) for number in candidate.people),
            "mentioned": min(self.mentioned.get(number, _FAR) for number in candidate.people),
            "group said": sum(bool(a or b) for a, b in zip(named, related, strict=True)),
        }

    def _span_features(self, candidate: Candidate) -> dict[str, float]:
        span = candidate.span
        assert span is not None  # noqa: S101  # for the type checker
        text = self.inputs.request.text
        if candidate.item is not None:
            text = str(self.inputs.items[candidate.item].fields.get(candidate.field) or "")
        levels = [self.statistics.common.log_count(word) for word in tokenize(span.text)] or [_NAN]
        length = max(1, len(text))
        return {
            **{f"shape {shape}": float(span.shape == shape) for shape in SHAPES},
            "before": float(LEADING_WORDS.index(span.before)) if span.before in LEADING_WORDS else -1.0,
            "starts": span.start == 0,
            "ends": span.end >= len(text.rstrip(" .!?")),
            "at": span.start / length,
            "of text": (span.end - span.start) / length,
            "common": sum(levels) / len(levels),
            "most common": max(levels),
            "first common": levels[0],
            "last common": levels[-1],
            "before common": self.statistics.common.log_count(span.before) if span.before else _NAN,
        }

    def _time_features(self, candidate: Candidate) -> dict[str, float]:
        moment, times, now = candidate.time, self.inputs.times, self.inputs.now
        assert moment is not None  # noqa: S101  # for the type checker
        whole = self.parameter.kind == "day" or moment.clock is None
        unused = bool(times.days) and not moment.day_from_request
        unused += bool(times.day_offsets) and not moment.day_offset
        hour = _NAN
        if whole:
            ahead = (moment.day - now.date()).days * 24.0
        else:
            unused += (bool(times.clocks) and not moment.clock_from_request) + (
                bool(times.shifts) and not moment.shift
            )
            time = moment.time or now
            ahead, hour = (time - now).total_seconds() / 3600, time.hour + time.minute / 60
        agrees = (
            0.0 if whole or not times.day_half else (1.0 if (hour >= 12) == (times.day_half > 0) else -1.0)
        )
        role = ""
        if moment.item is not None:
            roles = self.inputs.items[moment.item].schema.times
            role = next((name for name, of in roles.items() if of == moment.field), "")
        return {
            "time day said": moment.day_from_request,
            "time clock said": moment.clock_from_request,
            "time sure": moment.certain,
            "time shift": moment.shift,
            "time step": moment.day_offset,
            "time item day": moment.day_from_item,
            "time item clock": moment.clock_from_item,
            "time read": moment.in_text,
            "time unused": unused,
            "time ahead": float(np.sign(ahead) * np.log1p(abs(ahead))),
            "time hour": hour,
            "time half": agrees,
            "time last said": bool(times.days) and moment.day == times.days[-1].dates[0],
            "time start": role in ("start", "due"),
            "time end": role == "end",
            "time end said": (role == "end") == times.refers_to_end,
        }


def _ranks_in_app(inputs: PlanningInput) -> list[int]:
    counts: dict[str, int] = {}
    ranks: list[int] = []
    for item in inputs.items:
        ranks.append(counts.get(item.app, 0))
        counts[item.app] = ranks[-1] + 1
    return ranks


def _ranks_in_origin(candidates: Sequence[Candidate]) -> dict[tuple[str, int | None], int]:
    ranks: dict[tuple[str, int | None], int] = {}
    counts: dict[str, int] = {}
    for candidate in candidates:
        if candidate.item is not None and (candidate.origin, candidate.item) not in ranks:
            ranks[candidate.origin, candidate.item] = counts.get(candidate.origin, 0)
            counts[candidate.origin] = counts.get(candidate.origin, 0) + 1
    return ranks


def _people_positions(inputs: PlanningInput) -> tuple[dict[int, int], dict[int, int]]:
    """The index of the first item that involves, and that mentions, each contact."""
    involved: dict[int, int] = {}
    mentioned: dict[int, int] = {}
    first = inputs.people.first_names
    for index, item in enumerate(inputs.items):
        for person in item.people:
            if (contact := inputs.people.index(person)) is not None:
                involved.setdefault(contact, index)
        for name in inputs.item_tokens[index] & first.keys():
            if len(name) > 2:
                for contact in first[name]:
                    mentioned.setdefault(contact, index)
    return involved, mentioned


class _ValueFacts(NamedTuple):
    """Properties of a value that do not depend on the argument."""

    form: str
    words: frozenset[str]
    plain: Mapping[str, float]


@lru_cache(maxsize=4096)
def _value_facts(text: str) -> _ValueFacts:
    """Cached, since every argument of every request sees the whole address book."""
    form = normalize_text(text)
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
    return {f"origin {name}": float(name in (sort, origin)) for name in ORIGINS}


@lru_cache(maxsize=1024)
def _name_words(name: str) -> frozenset[str]:
    return frozenset(identifier_words(name))


@lru_cache(maxsize=256)
def _app_words(app: str) -> frozenset[str]:
    noun = APPS[app].noun if app in APPS else ""
    return frozenset((*identifier_words(app), *tokenize(noun)))
