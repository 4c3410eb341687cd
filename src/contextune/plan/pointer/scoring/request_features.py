"""Features of a candidate that depend on the request alone, not on the tool or the argument."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from math import copysign, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import RequestWords
from contextune.plan.pointer.scoring.feature_names import NAMES, ORIGINS, SHAPES
from contextune.plan.pointer.scoring.priors import CommonWords
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.pointer.values.spans import LEADING_WORDS, TextSpan
from contextune.plan.times.resolve import CandidateTime, is_best_reading
from contextune.plan.values import normalize_text
from contextune.search import tokenize
from contextune.types.app_schema import AppSchema

NAN = float("nan")
_FAR = 99.0
COLUMN: Mapping[str, int] = {name: number for number, name in enumerate(NAMES)}
"""The place of each feature in a row."""


class RequestFeatures:
    """Features of candidates that depend on the request alone, not on the argument."""

    def __init__(self, inputs: PlanningInput, common: CommonWords) -> None:
        self.inputs, self.common = inputs, common
        self.words = RequestWords(inputs, common)
        self.most_named = max(inputs.name_matches, default=0)
        self.most_related = max(inputs.relation_matches, default=0)
        self.app_ranks = _ranks_in_app(inputs)
        self.user_name = frozenset(tokenize(str(inputs.user.profile.get("name") or "")))
        self.request_tokens = frozenset(inputs.tokens)
        self.involved, self.mentioned = _people_positions(inputs)
        self.names = NamesSaid(inputs)
        self._rows: dict[int, tuple[Candidate, NDArray[np.float32]]] = {}
        self._starts: dict[tuple[str, str], NDArray[np.float32]] = {}
        self._people: dict[tuple[int, ...], Mapping[str, float]] = {}
        self._items: dict[int, Mapping[str, float]] = {}

    @cached_property
    def shared(self) -> Mapping[str, float]:
        inputs, times = self.inputs, self.inputs.times
        return {
            "items": len(inputs.items),
            "anybody named": self.most_named,
            "anybody related": self.most_related,
            "time days": len(times.days),
            "time clocks": len(times.clocks),
            "time shifts": len(times.shifts),
            "time same": times.repeats,
            "time ends": times.refers_to_end,
            "time phrases": len(inputs.time_phrases),
            "asks": "?" in inputs.request.text,
            "length": len(inputs.tokens),
            **self.words.explicitness,
        }

    @cached_property
    def _shared_values(self) -> NDArray[np.float32]:
        values = np.full(len(NAMES), NAN, np.float32)
        _set(values, self.shared)
        return values

    def _start(self, candidate: Candidate) -> NDArray[np.float32]:
        """What all candidates of the same origin and shape have in common."""
        key = candidate.origin, candidate.span.shape if candidate.span else ""
        start = self._starts.get(key)
        if start is None:
            start = self._starts[key] = self._shared_values.copy()
            if candidate.is_omitted or candidate.origin == "free":
                _set(start, {f"origin {candidate.origin}": 1.0})
            else:
                _set(start, _origins(candidate.origin))
            if candidate.span is not None:
                _set(start, _shapes(candidate.span.shape))
        return start

    def rows(self, candidates: Sequence[Candidate]) -> NDArray[np.float32]:
        """The features of candidates, cached by identity: the candidates of a request are shared."""
        if new := [candidate for candidate in candidates if id(candidate) not in self._rows]:
            for candidate, row in zip(new, self._compute_rows(new), strict=True):
                self._rows[id(candidate)] = candidate, row
        return _joined([self._rows[id(candidate)][1] for candidate in candidates])

    def _compute_rows(self, candidates: Sequence[Candidate]) -> NDArray[np.float32]:
        rows = _joined([self._start(candidate) for candidate in candidates])
        places: list[NDArray[np.intp]] = []
        values: list[float] = []
        for number, candidate in enumerate(candidates):
            features: dict[str, float] = {}
            for block in self._features(candidate):
                features.update(block)
            places.append(columns_of(tuple(features)) + number * len(NAMES))
            values += features.values()
        # all at once: each assignment to an array takes as long as ten to a dictionary
        rows.put(np.concatenate(places), values)
        return rows

    def _features(self, candidate: Candidate) -> Iterator[Mapping[str, float]]:
        if candidate.is_omitted or candidate.origin == "free":
            return
        yield self._value_features(candidate)
        yield self._people_features(candidate.people)
        if candidate.item is not None:
            yield self._item_features(candidate.item)
            schema = self._schemas[candidate.item]
            yield {
                "title": candidate.field == schema.title,
                "people field": candidate.field in schema.people,
            }
        if candidate.span is not None:
            text = self._text_of(candidate)
            yield self._span_features(candidate.span, text)
            if candidate.item is None:
                yield self.words.span_features(candidate.span)
            else:
                yield {"near said": self.words.said_around(text, candidate.span)}
        if candidate.time is not None:
            yield time_features(candidate.time, self.inputs)

    @cached_property
    def _schemas(self) -> list[AppSchema]:
        return [item.schema for item in self.inputs.items]

    def _text_of(self, candidate: Candidate) -> str:
        """The text that a span is part of: the request, or a field of an item."""
        if candidate.item is None:
            return self.inputs.request.text
        return str(self.inputs.items[candidate.item].fields.get(candidate.field) or "")

    def _item_features(self, index: int) -> Mapping[str, float]:
        features = self._items.get(index)
        if features is None:
            features = self._items[index] = self._compute_item_features(index)
        return features

    def _compute_item_features(self, index: int) -> dict[str, float]:
        words = self.words
        most = max(words.item_weights)
        return {
            "rank": index,
            "share": float(self.inputs.relative_scores[index]),
            "rank in app": self.app_ranks[index],
            "item said": words.item_weights[index] / most if most else 0.0,
            "item best said": words.item_weights[index] == most and most > 0,
            "item title said": words.item_titles[index].share,
            "item title verbatim": words.item_titles[index].verbatim,
            "item of named": words.items_of_named[index],
        }

    def _value_features(self, candidate: Candidate) -> dict[str, float]:
        text = str(candidate.value)
        facts = value_facts(text)
        words = facts.words
        overlap = self.words.overlap(text)
        return {
            **facts.plain,
            "language": candidate.span is not None and candidate.span.shape == "language",
            "said": len(words & self.request_tokens) / max(1, len(words)),
            "self": len(words & self.user_name) / max(1, len(self.user_name)),
            "said rare": overlap.share,
            "said weight": overlap.weight,
            "said run": overlap.run,
            "said run weight": overlap.run_weight,
            "verbatim": overlap.verbatim,
        }

    def _people_features(self, people: tuple[int, ...]) -> Mapping[str, float]:
        features = self._people.get(people)
        if features is None:
            features = self._people[people] = self._compute_people_features(people)
        return features

    def _compute_people_features(self, people: tuple[int, ...]) -> dict[str, float]:
        inputs = self.inputs
        features: dict[str, float] = {"known": bool(people), "group": len(people)}
        features |= self.names.features(people)
        if not people:
            return features
        named = [inputs.name_matches[number] for number in people]
        related = [inputs.relation_matches[number] for number in people]
        return features | {
            "named": max(named),
            "related": max(related),
            "best named": max(named) == self.most_named and max(named) > 0,
            "best related": max(related) == self.most_related and max(related) > 0,
            "involved": min(self.involved.get(number, _FAR) for number in people),
            "mentioned": min(self.mentioned.get(number, _FAR) for number in people),
            "group said": sum(bool(a or b) for a, b in zip(named, related, strict=True)),
        }

    def _span_features(self, span: TextSpan, text: str) -> dict[str, float]:
        levels = [self.common.log_count(word) for word in value_facts(span.text).tokens] or [NAN]
        length = max(1, len(text))
        return {
            "before": float(LEADING_WORDS.index(span.before)) if span.before in LEADING_WORDS else -1.0,
            "starts": span.start == 0,
            "ends": span.end >= len(text.rstrip(" .!?")),
            "at": span.start / length,
            "of text": (span.end - span.start) / length,
            "common": sum(levels) / len(levels),
            "most common": max(levels),
            "first common": levels[0],
            "last common": levels[-1],
            "before common": self.common.log_count(span.before) if span.before else NAN,
        }


def _set(row: NDArray[np.float32], features: Mapping[str, float]) -> None:
    row.put(columns_of(tuple(features)), list(features.values()))


def _joined(rows: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """A copy of the rows as a matrix; `np.stack` takes several times as long."""
    return np.concatenate(rows).reshape(len(rows), -1)


@lru_cache(maxsize=256)
def columns_of(names: tuple[str, ...]) -> NDArray[np.intp]:
    """The places of features in a row."""
    return np.array([COLUMN[name] for name in names], np.intp)


class NamesSaid:
    """The contacts' names in a request, in order, and how each contact relates to them."""

    def __init__(self, inputs: PlanningInput) -> None:
        self.matches = inputs.names
        self.ranges = sorted({(match.start, match.end) for match in self.matches if match.words})
        self.most = max((match.words for match in self.matches), default=0.0)
        text = inputs.request.text
        self.before = {place: (text[:start].split() or [""])[-1].casefold() for place, (start, _) in
                       enumerate(self.ranges)}  # fmt: skip

    def features(self, people: Sequence[int]) -> dict[str, float]:
        """Features of a candidate that names these contacts; of one that names nobody, how many are named."""
        matches = [self.matches[number] for number in people]
        ranges = {(match.start, match.end) for match in matches if match.words}
        # "Kian Ann" of one contact may lie within "Goh Kian Ann" of another
        others = [
            (start, end)
            for start, end in self.ranges
            if not any(start < last and first < end for first, last in ranges)
        ]
        features = {"name others": float(len(others))}
        if not people:
            return features
        features |= {
            "group share": len([match for match in matches if match.words]) / len(matches),
            "group left": float(len(others)),
        }
        best = max(matches, key=lambda match: (match.words, match.share))
        features |= {"name words": best.words, "name share": best.share}
        if not best.words:
            return features
        order = self.ranges.index((best.start, best.end))
        rivals = [
            match
            for number, match in enumerate(self.matches)
            if number not in people and (match.start, match.words) == (best.start, best.words)
        ]
        before = self.before[order]
        return features | {
            "name first": best.first,
            "name full": best.full,
            "name best": best.words == self.most,
            "name rivals": len(rivals),
            "name possessive": best.possessive,
            "name before": float(LEADING_WORDS.index(before)) if before in LEADING_WORDS else -1.0,
            "name order": order,
        }


def time_features(moment: CandidateTime, inputs: PlanningInput) -> dict[str, float]:
    """Features of a candidate time: which of its parts the request says, and which an item gives."""
    times, now = inputs.times, inputs.now
    unused = bool(times.days) and not moment.day_from_request
    unused += bool(times.day_offsets) and not moment.day_offset
    hour = NAN
    if moment.clock is None:
        ahead = (moment.day - now.date()).days * 24.0
    else:
        unused += bool(times.clocks) and not moment.clock_from_request
        unused += bool(times.shifts) and not moment.shift
        time = moment.time or now
        ahead, hour = (time - now).total_seconds() / 3600, time.hour + time.minute / 60
    agrees = 0.0
    if moment.clock is not None and times.day_half:
        agrees = 1.0 if (hour >= 12) == (times.day_half > 0) else -1.0
    role = ""
    if moment.item is not None:
        roles = inputs.items[moment.item].schema.times
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
        "time ahead": copysign(log1p(abs(ahead)), ahead),
        "time hour": hour,
        "time half": agrees,
        "time last said": bool(times.days) and moment.day == times.days[-1].dates[0],
        "time start": role in ("start", "due"),
        "time end": role == "end",
        "time end said": (role == "end") == times.refers_to_end,
        "time near": abs(moment.clock - moment.item_clock) / 60
        if moment.clock is not None and moment.item_clock is not None
        else NAN,
        "time best": is_best_reading(moment, inputs.time_phrases),
    }


def _ranks_in_app(inputs: PlanningInput) -> list[int]:
    counts: dict[str, int] = {}
    ranks: list[int] = []
    for item in inputs.items:
        ranks.append(counts.get(item.app, 0))
        counts[item.app] = ranks[-1] + 1
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


class ValueFacts(NamedTuple):
    """Properties of a value that do not depend on the argument."""

    form: str
    tokens: Sequence[str]
    words: frozenset[str]
    """The different tokens."""
    plain: Mapping[str, float]


@lru_cache(maxsize=4096)
def value_facts(text: str) -> ValueFacts:
    """Cached, since every argument of every request sees the whole address book."""
    form = normalize_text(text)
    digits = sum(map(str.isdigit, text)) / max(1, len(text))
    parts, tokens = text.split(), tokenize(text)
    capitals = sum(part[0].isupper() for part in parts) / max(1, len(parts))
    plain = {
        "words": len(form.split()),
        "letters": log1p(len(text)),
        "capitals": capitals,
        "digits": digits,
        "at sign": "@" in text,
        "like a number": digits > 0.6,
    }
    return ValueFacts(form, tokens, frozenset(tokens), plain)


@lru_cache(maxsize=64)
def _shapes(shape: str) -> Mapping[str, float]:
    return {f"shape {name}": float(name == shape) for name in SHAPES}


@lru_cache(maxsize=1024)
def _origins(origin: str) -> Mapping[str, float]:
    sort = "part" if origin.endswith("~") else "item" if "." in origin else origin.split()[0]
    return {f"origin {name}": float(name in (sort, origin)) for name in ORIGINS}
