"""Find the sentence of a stored item that answers a request whose call only reads the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from contextune.answers.corrections import contradictions, later_items
from contextune.answers.extracted import AnswerSource, Correction, ExtractedAnswer
from contextune.answers.listing import ItemList, argument_values, by_title, lists_items, occurrences
from contextune.answers.scorer import SentenceScorer, default_scorer
from contextune.answers.statements import Statement, StatementReader
from contextune.context.series import series_of
from contextune.plan.planning_input import PlanningInput
from contextune.plan.policy.cost import call_cost
from contextune.plan.policy.references import References
from contextune.search.tokenize import identifier_words
from contextune.store import Store
from contextune.types import Answer, Item, Plan, Tool, User, local_time

_PLAYS = frozenset(["play", "pause", "resume", "rewind", "skip", "stop", "monitor", "download"])
"""Verbs that change nothing and tell nothing."""
_MAX_POOL = 4
"""Items whose sentences are compared."""


def extract_answer(
    answer: Answer, store: Store, scorer: SentenceScorer | None = None
) -> ExtractedAnswer | None:
    """What the store says to the request, if the planned call only reads what the store holds; else None.

    `scorer` chooses the sentence; by default the reading model, or shared words without it.
    """
    plan = answer.plan
    if plan is None or plan.decision == "none":
        return None
    tool = next((hit.tool for hit in answer.tools if plan.tool in (hit.tool.id, hit.tool.name)), None)
    if tool is None or not _tells(tool):
        return None
    user = store.user(answer.request.user)
    return _Extraction(answer, plan, tool, user, store, scorer or default_scorer()).answer()


def _tells(tool: Tool) -> bool:
    return call_cost(tool) == "read" and _PLAYS.isdisjoint(identifier_words(tool.name))


@dataclass(frozen=True, eq=False)
class _Extraction:
    """One request."""

    request: Answer
    plan: Plan
    tool: Tool
    user: User
    store: Store
    scorer: SentenceScorer

    def answer(self) -> ExtractedAnswer | None:
        pool = self._named()
        if pool:
            return self._passage(pool)
        found = [item for item in self._found if self._is_own_kind(item)]
        if not found or not lists_items(self.tool, self._references.nouns_of(found[0])):
            return None
        items = [item for item in self.store.items(self.user.id) if item.app == found[0].app]
        items = occurrences(items, self.store.uses(self.user.id), self.user)
        items = [item for item in items if self._is_visible(item)]
        listed = ItemList(self.plan, items, self._reader, self.request.request.text)
        selected = listed.selected()
        return self._passage(found[:_MAX_POOL]) if selected is None else listed.answer(selected)

    def _named(self) -> list[Item]:
        """The items that the arguments of the call come from or name, the best first."""
        arguments = self.plan.arguments.values()
        sources = [source for argument in arguments for source in argument.sources if source.item]
        fields = {source.item: source.field for source in sources if source.kind in ("item", "frame")}
        items = self.store.items(self.user.id, [item for item in fields if item])
        named = [item for item in items if self._is_own_kind(item) and _names(item, fields[item.id])]
        same = by_title(
            [item for item in self._found if self._is_own_kind(item)], argument_values(self.plan).values()
        )
        pool = {item.id: item for item in map(self._best_occurrence, (*named, *same))}
        return list(pool.values())[:_MAX_POOL]

    def _best_occurrence(self, item: Item) -> Item:
        """Of a recurring event, the occurrence that was found first: a name alone does not say which."""
        series = series_of(item)
        return next((other for other in self._found if series and series_of(other) == series), item)

    def _passage(self, pool: Sequence[Item]) -> ExtractedAnswer:
        statements = [statement for item in pool for statement in self._reader.statements(item)]
        best = self._best(statements)
        source = AnswerSource.of(best.item, self.user)
        return ExtractedAnswer(best.passage, source, correction=self._correction(best))

    def _best(self, statements: Sequence[Statement]) -> Statement:
        """The best statement; of equal ones, facts come first, then the passage that begins last."""
        scores = self._scores(statements)
        order = [
            (score, not statement.is_sentence, place if statement.is_sentence else -place)
            for place, (score, statement) in enumerate(zip(scores, statements, strict=True))
        ]
        return statements[max(range(len(order)), key=order.__getitem__)]

    def _scores(self, statements: Sequence[Statement]) -> Sequence[float]:
        return self.scorer(self.request.request.text, [_read(statement) for statement in statements])

    def _correction(self, answer: Statement) -> Correction | None:
        """A sentence of a later item that answers as well as this one, and has another number."""
        statements = [
            statement
            for other in later_items(answer.item, self._found, self.user)
            for statement in contradictions(self._reader.statements(other), answer, self.user)
        ]
        if not statements:
            return None
        best = self._best(statements)
        own, other = self._scores([answer, best])
        return Correction(best.text, AnswerSource.of(best.item, self.user)) if other >= own else None

    @cached_property
    def _inputs(self) -> PlanningInput:
        return PlanningInput(self.request.request, self.user, self.request.context, max_items=20)

    @cached_property
    def _found(self) -> list[Item]:
        """The retrieved items, without those that strangers made to be taken for others."""
        return self._inputs.items

    @cached_property
    def _references(self) -> References:
        return References(self._inputs, self.tool)

    @cached_property
    def _reader(self) -> StatementReader:
        return StatementReader(self.user, local_time(self.request.request.time, self.user.zone))

    def _is_own_kind(self, item: Item) -> bool:
        return self._references.is_of_kind(item) and len(item.schema.text) > 1

    def _is_visible(self, item: Item) -> bool:
        made = item.made
        return made is None or local_time(made, self.user.zone) <= self._reader.now


def _read(statement: Statement) -> str:
    """A statement with what it is about, as it is scored."""
    item = statement.item
    return f"{item.schema.noun}: {item.title[:120]} | {statement.passage}"


def _names(item: Item, field: str | None) -> bool:
    """Whether a value of this field stands for the item, and not for its people or its time."""
    return field not in item.schema.people and field not in item.schema.times.values()
