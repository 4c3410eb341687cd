"""Measure context and plans on a user's own labelled requests: a store, tools, and requests.jsonl."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from contextune.errors import InvalidDataError
from contextune.evaluate.outcomes import SERVED, UNSERVED, Judge, Outcome
from contextune.evaluate.requests import NeededItem, WorldRequest
from contextune.evaluate.stats import Interval, bootstrap
from contextune.evaluate.thresholds import FitThreshold, fit_thresholds
from contextune.tools import Catalog
from contextune.tuner import Tuner
from contextune.types import Item, Progress, Request, User, local_time

DEPTHS = (1, 3, 5, 10, 20)
"""Numbers of items for which recall is measured."""
TOOLS = 5
_MAX_ERRORS = 20


@dataclass(frozen=True, slots=True)
class ContextEvaluation:
    """The items found for a request, best first."""

    request: WorldRequest
    found: tuple[str, ...]
    """Ids of the first items."""
    needed: tuple[frozenset[str], ...]
    """Ids of the stored items that each needed one may be."""

    def recall(self, k: int) -> float:
        """Share of the needed items among the first `k`; no more than `k` can be."""
        first = set(self.found[:k])
        return sum(not first.isdisjoint(ids) for ids in self.needed) / min(k, len(self.needed))


@dataclass(frozen=True, slots=True)
class PlanResult:
    """What became of a request."""

    request: WorldRequest
    outcome: Outcome
    tool_at: int | None
    """Place of the first right tool among the first ones, from 1."""
    fits: float | None
    planned: str | None
    """The tool of the planned call."""


@dataclass(frozen=True, slots=True)
class ContextFigures:
    """Recall of the needed items at each depth, with intervals over requests."""

    results: tuple[ContextEvaluation, ...]

    def recall(self, k: int, kind: str | None = None) -> Interval:
        """Over all requests, or those of a kind."""
        return bootstrap([r.recall(k) for r in self.results if kind is None or r.request.kind == kind])


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """Outcomes of plans, with intervals over requests."""

    results: tuple[PlanResult, ...]

    @property
    def served(self) -> list[PlanResult]:
        """The requests that a tool serves."""
        return [result for result in self.results if result.request.is_served]

    @property
    def unserved(self) -> list[PlanResult]:
        """The requests that no tool serves."""
        return [result for result in self.results if not result.request.is_served]

    def outcomes(self) -> dict[Outcome, Interval]:
        """Share of each outcome among the requests that a tool serves; those that occur."""
        return _shares(self.served, SERVED)

    def unserved_outcomes(self) -> dict[Outcome, Interval]:
        """Share of each outcome among the requests that no tool serves; those that occur."""
        return _shares(self.unserved, UNSERVED)

    def tool_recall(self, k: int) -> Interval | None:
        """Share of the served requests with a right tool among the first `k`; None without any."""
        served = self.served
        return bootstrap([float((r.tool_at or k + 1) <= k) for r in served]) if served else None

    def metrics(self) -> dict[str, Interval]:
        """The metrics that a gate can have, by name."""
        served = self.served
        measured = {f"tool@{k}": self.tool_recall(k) for k in (1, TOOLS)}
        if served:
            measured["right"] = bootstrap([float(r.outcome is Outcome.RIGHT) for r in served])
            measured["acceptance"] = bootstrap([float(r.outcome is not Outcome.REFUSED) for r in served])
            measured["harmless"] = bootstrap([float(r.outcome is not Outcome.HARM) for r in self.results])
        if unserved := self.unserved:
            measured["abstention"] = bootstrap([float(r.outcome is Outcome.REFUSED) for r in unserved])
        return {name: interval for name, interval in measured.items() if interval is not None}

    def thresholds(self) -> list[FitThreshold]:
        """The values of `min_fit` for few false refusals."""
        served = [r.fits for r in self.served if r.fits is not None]
        unserved = [r.fits for r in self.unserved if r.fits is not None]
        return fit_thresholds(served, unserved) if served else []


def evaluate_context(
    tuner: Tuner, user: User, requests: Sequence[WorldRequest], progress: Progress | None = None
) -> ContextFigures:
    """Search the items of each request that needs some."""
    needing = [request for request in requests if request.needs]
    if not needing:
        raise InvalidDataError(
            "no request needs an item: add "
            '"needs": [{"app": "Mail", "title": "…", "time": "2026-11-28T11:11"}]'
        )
    stored = _StoredItems(tuner.store.items(user.id), user)
    needed = stored.resolve(needing)
    results: list[ContextEvaluation] = []
    for number, request in enumerate(needing, 1):
        hits = tuner.context(user_request(request, user), max(DEPTHS))
        results.append(ContextEvaluation(request, tuple(hit.item.id for hit in hits), needed[request.id]))
        if progress:
            progress(number, len(needing))
    return ContextFigures(tuple(results))


def evaluate_plans(
    tuner: Tuner,
    user: User,
    catalog: Catalog,
    requests: Sequence[WorldRequest],
    progress: Progress | None = None,
) -> PlanFigures:
    """Plan each request that says what is expected, and judge the calls."""
    labelled = [request for request in requests if "expected" in request.source]
    if not labelled:
        raise InvalidDataError(
            'no request says what is expected: add "expected": {"tool": "server/name", "args": {…}}, or '
            '{"tool": null} if none fits'
        )
    _check_tools(labelled, catalog)
    judge = Judge.of_contacts({tool.id: tool.parameters for tool in catalog}, user.contacts)
    results: list[PlanResult] = []
    for number, request in enumerate(labelled, 1):
        answer = tuner.answer(user_request(request, user), max_tools=TOOLS)
        right = {call.tool for call in request.first_calls}
        places = (place for place, hit in enumerate(answer.tools, 1) if hit.tool.id in right)
        outcome = judge.outcome(request, answer.plan)
        planned = answer.plan.tool if answer.plan else None
        results.append(PlanResult(request, outcome, next(places, None), answer.fits, planned))
        if progress:
            progress(number, len(labelled))
    return PlanFigures(tuple(results))


def user_request(request: WorldRequest, user: User) -> Request:
    """The request as the user makes it; a place that the user does not have is left out."""
    place = request.place if request.place in user.places else None
    return Request(request.text, user.id, request.time, place, request.history)


class _StoredItems:
    """The stored items by what a program shows of them."""

    def __init__(self, items: Iterable[Item], user: User) -> None:
        self._by_time: dict[NeededItem, set[str]] = {}
        self._by_title: dict[tuple[str, str], set[str]] = {}
        for item in items:
            time = local_time(item.time, user.zone).isoformat()[:16] if item.time else ""
            self._by_time.setdefault(NeededItem(item.app, item.title, time), set()).add(item.id)
            self._by_title.setdefault((item.app, item.title), set()).add(item.id)

    def resolve(self, requests: Iterable[WorldRequest]) -> Mapping[str, tuple[frozenset[str], ...]]:
        """The ids of the needed items, by request; an item without time may be any of its title."""
        errors: list[str] = []
        needed: dict[str, tuple[frozenset[str], ...]] = {}
        for request in requests:
            several: list[frozenset[str]] = []
            for item in sorted(request.needs, key=lambda item: (item.app, item.title, item.time)):
                ids = self._by_time.get(item) if item.time else self._by_title.get((item.app, item.title))
                if not ids:
                    when = f" at {item.time}" if item.time else ""
                    errors.append(f"{request.id}: the store has no item {item.title!r} of {item.app}{when}")
                several.append(frozenset(ids or ()))
            needed[request.id] = tuple(several)
        _raise(errors, "needed items that the store does not have (see contextune items list)")
        return needed


def _check_tools(requests: Sequence[WorldRequest], catalog: Catalog) -> None:
    known = {tool.id for tool in catalog}
    errors = [
        f"{request.id}: the catalogue has no tool {call.tool!r}"
        for request in requests
        for calls in (request.calls, *request.also_right, request.must_not)
        for call in calls
        if call.tool not in known
    ]
    _raise(errors, "tools that the catalogue does not have; write them as server/name")


def _raise(errors: Sequence[str], what: str) -> None:
    if errors:
        more = [f"and {len(errors) - _MAX_ERRORS} more"] if len(errors) > _MAX_ERRORS else []
        listed = "\n  ".join([*errors[:_MAX_ERRORS], *more])
        raise InvalidDataError(f"{what}:\n  {listed}")


def _shares(results: Sequence[PlanResult], outcomes: Sequence[Outcome]) -> dict[Outcome, Interval]:
    return {
        outcome: bootstrap([float(result.outcome is outcome) for result in results])
        for outcome in outcomes
        if any(result.outcome is outcome for result in results)
    }
