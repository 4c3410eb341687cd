"""Find the passage of a stored item that answers a question, or a request whose call only reads the store."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log

from contextune.answers.cards import contact_answer
from contextune.answers.corrections import contradictions, later_items
from contextune.answers.extracted import AnswerSource, Correction, ExtractedAnswer
from contextune.answers.listing import ItemList, argument_values, by_title, lists_items, occurrences
from contextune.answers.question_types import asks_for_title, has_wanted_type
from contextune.answers.scorer import PassageScorer, default_scorer, shared_words
from contextune.answers.statements import Statement, StatementReader
from contextune.context.build_scene import resolve_place
from contextune.context.series import series_of
from contextune.plan.planning_input import PlanningInput
from contextune.plan.policy.cost import call_cost
from contextune.plan.policy.references import References
from contextune.reading.texts import Names, passage_text, request_text
from contextune.search.request_text import asks_question
from contextune.search.tokenize import identifier_words
from contextune.store import Store
from contextune.tools.profiles.effects import first_effect, verb_effect
from contextune.types import Answer, Item, ItemHit, Plan, Tool, User, local_time

_PLAYS = frozenset(["play", "pause", "resume", "rewind", "skip", "stop", "monitor", "download"])
"""Verbs that change nothing and tell nothing."""
_MAX_FOUND = 4
"""Found items whose passages are compared."""
_MAX_PASSAGES = 64
"""Passages that are scored; those that share most words with the request."""
_SHARED, _LIKELY, _NAMED, _TYPED = 0.25, 0.3, 2.0, 1.0
"""Weights beside the log odds of the reading model: of shared words, of the item's log probability, of
being named by the call, and of the time or number that is asked for. Chosen on 40 questions of w02, w06."""
_LEAST, _LEAST_OTHER = 0.1, 0.3
"""Least probability of a found item: of those that the tool is for, and where no such item is found."""
_CLEAR, _BEHIND = 0.5, 1 / 3
"""An item of this probability is meant alone, if the next one has less than this share of it."""


def extract_answer(
    answer: Answer, store: Store, scorer: PassageScorer | None = None
) -> ExtractedAnswer | None:
    """What the store says to a question, or to a request whose call only reads the store; else None.

    `scorer` chooses the passage beside shared words; by default the reading model.
    """
    plan = answer.plan
    if plan is None:
        return None
    asks = asks_question(answer.request.text)
    tool = next((hit.tool for hit in answer.tools if plan.tool in (hit.tool.id, hit.tool.name)), None)
    if tool is None or not (asks or (plan.decision != "none" and _tells(tool))):
        return None
    user = store.user(answer.request.user)
    return _Extraction(answer, plan, tool, user, store, scorer or default_scorer(), asks).answer()


def _tells(tool: Tool) -> bool:
    words = identifier_words(tool.name)
    reads = first_effect(tool.description) == "reads" and any(verb_effect(word) == "reads" for word in words)
    return (reads or call_cost(tool) == "read") and _PLAYS.isdisjoint(words)


@dataclass(frozen=True, eq=False)
class _Extraction:
    """One request."""

    request: Answer
    plan: Plan
    tool: Tool
    user: User
    store: Store
    scorer: PassageScorer
    asks: bool
    """Whether the request is a question."""

    def answer(self) -> ExtractedAnswer | None:
        if self.asks and (card := contact_answer(self._inputs)):
            return card
        tells = self.plan.decision != "none" and _tells(self.tool)
        named = self._named() if tells else []
        if tells and not named and (listed := self._listed()):
            return listed
        pool = {item.id: item for item in (*named, *self._probable(tells=tells))}
        if named and self.asks and self._found and self._hits[self._found[0].id].probability is None:
            pool[self._found[0].id] = self._found[0]  # a small store has no probabilities
        return self._passage(list(pool.values()), named) if pool else None

    def _listed(self) -> ExtractedAnswer | None:
        """The items that the call lists, unless the request means a single one."""
        found = [item for item in self._found if self._is_own_kind(item)]
        if not found or not lists_items(self.tool, self._references.nouns_of(found[0])):
            return None
        first, second = ([*map(self._probability, found[:2]), 0.0, 0.0])[:2]
        if self.asks and first >= _CLEAR and second < first * _BEHIND:
            return None
        items = [item for item in self.store.items(self.user.id) if item.app == found[0].app]
        items = occurrences(items, self.store.uses(self.user.id), self.user)
        items = [item for item in items if self._is_visible(item)]
        listed = ItemList(self.plan, items, self._reader, self.request.request.text)
        selected = listed.selected()
        return None if selected is None else listed.answer(selected)

    def _probable(self, *, tells: bool) -> list[Item]:
        """The found items that the request probably needs."""
        own = [item for item in self._found if self._is_own_kind(item)]
        items = self._found if self.asks else own
        least = _LEAST if tells and own else _LEAST_OTHER
        return [item for item in items[:_MAX_FOUND] if self._probability(item) >= least]

    def _probability(self, item: Item) -> float:
        """That the request needs an item; 0 if that is not known."""
        return self._hits[item.id].probability or 0.0 if item.id in self._hits else 0.0

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
        return list(pool.values())[:_MAX_FOUND]

    def _best_occurrence(self, item: Item) -> Item:
        """Of a recurring event, the occurrence that was found first: a name alone does not say which."""
        series = series_of(item)
        return next((other for other in self._found if series and series_of(other) == series), item)

    def _passage(self, pool: Sequence[Item], named: Sequence[Item]) -> ExtractedAnswer:
        statements = [statement for item in pool for statement in self._reader.statements(item)]
        best = self._best(statements, {item.id for item in named})
        source = AnswerSource.of(best.item, self.user)
        nouns = self._references.nouns_of(best.item)
        is_title = asks_for_title(self.request.request.text, nouns)
        text = f"{best.item.label}: {best.passage}" if is_title else best.passage
        return ExtractedAnswer(text, source, correction=self._correction(best))

    def _best(self, statements: Sequence[Statement], named: Collection[str] = ()) -> Statement:
        """The best statement; of equal ones, facts come first, then the passage that begins last."""
        statements = self._shortlist(statements)
        order = [
            (
                score + self._prior(statement.item, named),
                not statement.is_sentence,
                place if statement.is_sentence else -place,
            )
            for place, (score, statement) in enumerate(zip(self._scores(statements), statements, strict=True))
        ]
        return statements[max(range(len(order)), key=order.__getitem__)]

    def _shortlist(self, statements: Sequence[Statement]) -> Sequence[Statement]:
        """The statements that are scored: of many, those that share most with the request."""
        if len(statements) <= _MAX_PASSAGES:
            return statements
        texts = [f"{statement.item.title} {statement.passage}" for statement in statements]
        shared = shared_words(self.request.request.text, texts)
        best = sorted(range(len(statements)), key=lambda place: -shared[place])[:_MAX_PASSAGES]
        return [statements[place] for place in sorted(best)]

    def _prior(self, item: Item, named: Collection[str]) -> float:
        """What is known of an item before its passages are read."""
        hit = self._hits.get(item.id)
        rank = self._ranks.get(item.id, len(self._ranks))
        probability = hit.probability if hit and hit.probability else 1 / (rank + 2)
        return _LIKELY * log(probability) + _NAMED * (item.id in named)

    def _scores(self, statements: Sequence[Statement]) -> Sequence[float]:
        inputs = self._inputs
        place = resolve_place(inputs.request, self.user)
        texts = [
            passage_text(statement.item, statement.passage, inputs.now, self.user, self._names)
            for statement in statements
        ]
        # earlier turns are about earlier items: "And the dentist?" is not
        request = replace(inputs.request, history=())
        odds = self.scorer(request_text(request, inputs.now, place), texts)
        shared = shared_words(inputs.request.text, [statement.passage for statement in statements])
        typed = [
            has_wanted_type(inputs.request.text, statement.passage, inputs.now) for statement in statements
        ]
        return [
            value + _SHARED * weight + _TYPED * fits
            for value, weight, fits in zip(odds, shared, typed, strict=True)
        ]

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
    def _hits(self) -> Mapping[str, ItemHit]:
        return {hit.item.id: hit for hit in self.request.context}

    @cached_property
    def _ranks(self) -> Mapping[str, int]:
        return {id_: rank for rank, id_ in enumerate(self._hits)}

    @cached_property
    def _names(self) -> Names:
        return Names(self.user)

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
        return self._references.is_of_kind(item)

    def _is_visible(self, item: Item) -> bool:
        made = item.made
        return made is None or local_time(made, self.user.zone) <= self._reader.now


def _names(item: Item, field: str | None) -> bool:
    """Whether a value of this field stands for the item, and not for its people or its time."""
    return field not in item.schema.people and field not in item.schema.times.values()
