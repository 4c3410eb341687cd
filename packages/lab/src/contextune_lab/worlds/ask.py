"""Ask the requests of a world and judge the answers."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import process_time
from typing import Any

from contextune.answers import ExtractedAnswer, extract_answer
from contextune.evaluate.outcomes import Judge, Outcome
from contextune.tuner import Tuner
from contextune.types import Answer, Item, Plan, Progress, Request, User, local_time
from contextune.types.field_values import read_time
from contextune_lab.worlds.answers import has_answer, shown_text
from contextune_lab.worlds.catalogue import ToolCatalogue
from contextune_lab.worlds.load import LoadedWorld
from contextune_lab.worlds.world import USER, NeededItem, WorldRequest

DEPTHS = (1, 3, 5, 10, 20)
"""Numbers of items for which recall is measured."""
STEPS, UNSERVED_KIND = "steps", "unserved"


@dataclass(frozen=True)
class AskOptions:
    """How a world is asked."""

    tuner: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Options of `Tuner`, such as another ranker or planner."""
    catalogues: Sequence[ToolCatalogue] = ()
    """The tools under other names; each request is asked with one of them, in turn."""
    only: Collection[str] | None = None
    """Ids of the requests to ask; all by default."""
    take_fired: Callable[[], frozenset[str]] = frozenset
    """Called after each request: the rules that have fired."""
    before: Callable[[WorldRequest], None] | None = None
    """Called before each request."""


@dataclass(frozen=True)
class RequestResult:
    """What became of one request."""

    world: str
    request: WorldRequest
    outcome: Outcome
    tool_at: int | None
    """Place of the first right tool among the five retrieved ones, from 1; None if it is not among them."""
    call_right: bool
    """Whether the planned call is right, made or not."""
    sequence_right: bool | None
    """Whether all steps are right; None for a request of one call."""
    recalls: Mapping[int, float]
    """Recall of the needed items at each depth; empty if none is needed."""
    plan: Plan | None
    context: tuple[str, ...]
    """The first five items, for the log."""
    fits: float | None
    seconds: float
    """Processor time of context, tools and plan; other programs on the machine change it little."""
    extracted: ExtractedAnswer | None = None
    """What was shown as the answer to a question."""
    fired: frozenset[str] = frozenset()
    """The rules that fired, if they were recorded."""

    @property
    def kind(self) -> str:
        """The kind of the request; unserved if no tool serves it, whatever it says."""
        return self.request.kind if self.request.is_served else UNSERVED_KIND

    @property
    def answered(self) -> float | None:
        """Whether the shown sentence has the answer; None if the world gives none."""
        wanted: object = self.request.source.get("answer")
        if not isinstance(wanted, str) or not wanted:
            return None
        return float(self.extracted is not None and has_answer(shown_text(self.extracted), wanted))

    @property
    def is_one_call(self) -> bool:
        """Whether one call serves the request: steps are counted apart."""
        return self.request.is_served and not self.request.is_sequence

    def to_json(self) -> dict[str, Any]:
        """A line of the log."""
        source, plan = self.request.source, self.plan
        return {
            "world": self.world,
            **{name: source.get(name) for name in ("id", "text", "kind", "time", "history", "expected")},
            "outcome": str(self.outcome),
            "plan": plan
            and {
                "tool": plan.tool,
                "args": plan.args,
                "decision": plan.decision,
                "confidence": round(plan.confidence, 2),
                "question": plan.question.text if plan.question else None,
            },
            "tool_at": self.tool_at,
            "call_right": self.call_right,
            "sequence_right": self.sequence_right,
            "answer": self.request.source.get("answer"),
            "shown": self.extracted and shown_text(self.extracted),
            "context": self.context,
            "needs": source["needs"],
            "recall@3": self.recalls.get(3),
            "fits": self.fits,
        }


def ask_world(
    loaded: LoadedWorld, options: AskOptions | None = None, *, progress: Progress | None = None
) -> list[RequestResult]:
    """Ask all requests of a world and judge the answers, in the order of the file."""
    options = options or AskOptions()
    world, user = loaded.world, loaded.user
    catalogues = options.catalogues or (ToolCatalogue(world.tools),)
    tuners = [Tuner(loaded.store, tools=catalogue.tools, **options.tuner) for catalogue in catalogues]
    judge = Judge.of_contacts({tool.id: tool.parameters for tool in world.tools}, user.contacts)
    results: list[RequestResult] = []
    for number, request in enumerate(world.requests):
        if options.only is None or request.id in options.only:
            # numbered over all requests: another selection must not change the names of the tools
            chosen = number % len(catalogues)
            if options.before:
                options.before(request)
            asker = _Asker(tuners[chosen], catalogues[chosen], judge, user)
            result = asker.ask(world.name, request)
            results.append(replace(result, fired=options.take_fired()))
        if progress:
            progress(number + 1, len(world.requests))
    return results


@dataclass(frozen=True)
class _Asker:
    """Asks with one catalogue."""

    tuner: Tuner
    catalogue: ToolCatalogue
    judge: Judge
    user: User

    def ask(self, world: str, request: WorldRequest) -> RequestResult:
        asked = world_request(request, self.user)
        start = process_time()
        answer = self.tuner.answer(asked, k=max(DEPTHS))
        seconds = process_time() - start
        right_tools = {call.tool for call in request.first_calls}
        ids = [self.catalogue.tool_id(hit.tool.id) for hit in answer.tools[:5]]
        sequence = None
        if request.is_sequence:
            steps = self.tuner.steps(asked, k=max(DEPTHS), answer=answer)
            sequence = self.judge.is_right_sequence(request, steps, self.catalogue.call)
        return RequestResult(
            world,
            request,
            self.judge.outcome(request, answer.plan, self.catalogue.call),
            next((place for place, tool in enumerate(ids, 1) if tool in right_tools), None),
            answer.plan is not None and self.judge.is_right(request, self.catalogue.call(answer.plan)),
            sequence,
            self._recalls(request, answer),
            answer.plan,
            tuple(f"{hit.item.app}: {hit.item.title}" for hit in answer.context[:5]),
            answer.fits,
            seconds,
            extract_answer(answer, self.tuner.store),
        )

    def _recalls(self, request: WorldRequest, answer: Answer) -> dict[int, float]:
        if not request.needs:
            return {}
        items = [shown_item(hit.item, self.user) for hit in answer.context]
        return {
            depth: len(request.needs.intersection(items[:depth])) / min(depth, len(request.needs))
            for depth in DEPTHS
        }


def world_request(request: WorldRequest, user: User) -> Request:
    """The request as the user makes it; a place that the user does not have is left out."""
    place = request.place if request.place in user.places else None
    return Request(request.text, USER, request.time, place, request.history)


def shown_item(item: Item, user: User) -> NeededItem:
    """An item as a world names it."""
    return shown_items(item, user)[0]


def shown_items(item: Item, user: User) -> list[NeededItem]:
    """An item as a world names it; a recurring task with each of its times."""
    times = [item.time, *map(read_time, item.fields.get("occurrences", ()))]
    shown = [local_time(time, user.zone).isoformat()[:16] if time else "" for time in times]
    return [NeededItem(item.app, item.title, time) for time in shown]
