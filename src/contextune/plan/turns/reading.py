"""Read a request as a reply to the turns before it: a choice, yes or no, a value, a correction, small talk.

What the request says is applied to the last call or to the open question, whatever tools there are. A request
that says nothing of the kind is one of its own; an open question stays open.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from contextune.plan.policy.questions import ask_between, ask_for_missing, ask_to_confirm
from contextune.plan.schema import plan_errors
from contextune.plan.turns.arguments import changed_calls, filled_calls, with_item
from contextune.plan.turns.choices import (
    chosen_number,
    is_assent,
    is_question,
    is_refusal,
    is_value,
    named_option,
    small_talk,
)
from contextune.plan.turns.people import PeopleNames
from contextune.plan.turns.referents import Referent, meant_item
from contextune.plan.turns.said_value import SaidValue
from contextune.tools.profiles.effects import tool_effect
from contextune.types import (
    Item,
    ItemHit,
    OutcomeKind,
    Plan,
    Request,
    Tool,
    TurnOutcome,
    TurnState,
    User,
    local_time,
)

_NOT_OPEN = TurnOutcome("unclear", "No question is open.")
_LEFT = TurnOutcome("left", "Left. Nothing was done.")
_WHICH = TurnOutcome("unclear", "Which one? Say its number or its name, or “no” to leave it.")
_NO_SUCH = TurnOutcome("unclear", "The last call has no such value.")
_MAX_PLANS = 3
"""Calls between which a reply that is not clear is asked about."""
_LIKELY = 0.5
LoadItems = Callable[[Sequence[str] | None], Sequence[Item]]
"""The items with some ids, or all that there are at the time of the request."""


@dataclass(frozen=True, slots=True)
class TurnReading:
    """A request that depends on earlier turns: with a `reply`, nothing has to be planned."""

    reply: TurnOutcome | None = None
    plan: Plan | None = None
    """The call that the reply leads to."""
    referent: Referent | None = None
    """The item that the request means."""
    text: str = ""
    """What to plan in place of the text of the request."""


def read_turn(
    request: Request,
    user: User,
    load_items: LoadItems,
    find_tool: Callable[[str], Tool | None],
    verbs: frozenset[str],
) -> TurnReading | None:
    """What a request says to the turns before it; None if it is one of its own.

    `verbs` begin orders. A call of a tool that `find_tool` does not know is no longer there to be spoken of.
    """
    if request.state is None:
        return None
    state = known_state(request.state, find_tool)
    return _Turn(replace(request, state=state), state, user, load_items, find_tool, verbs).read()


def known_state(state: TurnState, find_tool: Callable[[str], Tool | None]) -> TurnState:
    """The state without calls that cannot be made: a client may send any."""
    call, pending = _known(state.call, find_tool), _known(state.pending, find_tool)
    if state.pending is state.call:
        pending = call
    return replace(state, call=call, pending=pending)


def _known(plan: Plan | None, find_tool: Callable[[str], Tool | None]) -> Plan | None:
    """A call under the name of its tool; None if there is no such tool, or it does not take these values."""
    tool = find_tool(plan.tool) if plan else None
    if plan is None or tool is None:
        return None
    plan = replace(plan, name=tool.name)
    if plan_errors(plan, tool):
        return None
    if plan.question is None:
        return plan
    plans = [(option, _known(option.plan, find_tool)) for option in plan.question.options]
    options = tuple(replace(option, plan=call) for option, call in plans if call)
    return replace(plan, question=replace(plan.question, options=options))


def next_state(
    before: TurnState | None,
    text: str,
    plan: Plan | None,
    context: Sequence[ItemHit],
    turn: TurnReading | None,
) -> TurnState:
    """What a turn leaves for the next one. A question stays open until it is answered or left."""
    before = before or TurnState()
    if turn and turn.reply:
        return _after_reply(before, turn.reply, plan)
    call = plan if plan and plan.decision != "none" else None
    asks = call is not None and call.question is not None
    item = turn.referent.item if turn and turn.referent else None
    ids = tuple(hit.item.id for hit in context)
    about = item.id if item else item_of_call(call) if call else None
    if about is None and context and (context[0].probability or 0.0) >= _LIKELY:
        about = context[0].item.id
    return TurnState(text, call, call if asks else before.pending, before.items if item else ids, about)


def _after_reply(before: TurnState, reply: TurnOutcome, plan: Plan | None) -> TurnState:
    if reply.kind in ("talk", "unclear"):
        return before
    if reply.kind == "left":
        return replace(before, pending=None)
    about = (item_of_call(plan) if plan else None) or before.about
    asks = plan is not None and plan.question is not None
    return replace(before, call=plan, pending=plan if asks else None, about=about)


def item_of_call(plan: Plan) -> str | None:
    """The id of the first item that a call takes a value from."""
    sources = (source for argument in plan.arguments.values() for source in argument.sources)
    return next((source.item for source in sources if source.kind == "item" and source.item), None)


@dataclass(frozen=True, eq=False)
class _Turn:
    """One request, read after what was said."""

    request: Request
    state: TurnState
    user: User
    load_items: LoadItems
    find_tool: Callable[[str], Tool | None]
    verbs: frozenset[str]

    def read(self) -> TurnReading | None:
        line = self.request.text
        if choice := self._choice(line):
            return choice
        if talk := small_talk(line):
            return TurnReading(TurnOutcome("talk", talk))
        if is_assent(line) or is_refusal(line):
            return TurnReading(_NOT_OPEN)
        return self._value(line) or self._person(line) or self._thing()

    def _choice(self, line: str) -> TurnReading | None:
        """A reply to the open question: a number, a name, yes or no."""
        pending = self.state.pending
        question = pending.question if pending else None
        if pending is None or question is None:
            return None
        plans = [option.plan for option in question.options]
        if number := chosen_number(line, len(plans)):
            return self._chosen(plans[number - 1])
        if is_refusal(line):
            return TurnReading(_LEFT)
        if is_assent(line):
            if len(plans) == 1:
                return self._chosen(plans[0])
            return TurnReading(_WHICH if plans else TurnOutcome("unclear", question.text))
        option = named_option(line, question.options)
        return self._chosen(option.plan) if option else None

    def _chosen(self, plan: Plan) -> TurnReading:
        plan = plan.accept()
        return TurnReading(TurnOutcome("chosen"), self._asking(plan) if plan.missing else plan)

    def _value(self, line: str) -> TurnReading | None:
        """The value that was asked for, or one in place of a value of the last call."""
        now = local_time(self.request.time, self.user.zone)
        said = SaidValue.read(line, self.user, now)
        pending, call = self.state.pending, self.state.call
        asked = pending.question.argument if pending and pending.question else None
        if pending and asked and is_value(line, self.verbs):
            tool = self._tool(pending)
            plans = filled_calls(said, pending, tool, asked, self._named_items(said))
            if plans and (said.way != "corrects" or pending is call):
                return self._proposed("filled", pending, plans)
        if call is None or is_question(said.text):
            return None
        tool = self._tool(call)
        if tool_effect(tool).only_reads and (said.is_time or said.contacts):
            return None  # other items are to be found
        plans = changed_calls(said, call, tool)
        if not plans and said.way == "corrects" and said.is_typed:
            return TurnReading(_NO_SUCH)
        return self._proposed("corrected", call, plans) if plans else None

    def _named_items(self, said: SaidValue) -> Sequence[Item]:
        return () if said.is_time or said.number is not None else self.load_items(None)

    def _person(self, line: str) -> TurnReading | None:
        """The last request about another person."""
        if not self.state.text or not PeopleNames.may_follow(line):
            return None
        names = PeopleNames(self.user, self.load_items(None))
        text = names.replace_person(self.state.text, line)
        return TurnReading(text=text) if text else None

    def _thing(self) -> TurnReading | None:
        """A request over an item that was shown; the last call over it, if it says nothing else."""
        meant = meant_item(self.request, self.user, self.load_items)
        if meant is None:
            return None
        if meant.item is None:
            return TurnReading(TurnOutcome("unclear", meant.reason))
        call = self.state.call
        if meant.is_alone and call and not tool_effect(self._tool(call)).only_reads:
            old = next(iter(self.load_items([item_of_call(call) or ""])), None)
            changed = with_item(call, old, meant.item) if old else None
            if changed:
                return self._proposed("corrected", call, [changed])
        return TurnReading(referent=meant, text=self.state.text if meant.way == "neighbour" else "")

    def _proposed(self, kind: OutcomeKind, old: Plan, plans: Sequence[Plan]) -> TurnReading:
        """A changed call: made if the old one was, else shown first; asked about if it is not clear."""
        reply = TurnOutcome(kind)
        options = [self._asking(plan, old) for plan in plans[:_MAX_PLANS]]
        if len(options) == 1:
            return TurnReading(reply, options[0])
        plain = [replace(plan, decision=None, question=None) for plan in options]
        return TurnReading(
            reply, replace(plain[0], decision="ask", question=ask_between(plain, self._known_tool))
        )

    def _asking(self, plan: Plan, old: Plan | None = None) -> Plan:
        tool = self._tool(plan)
        plan = replace(plan, decision=None, question=None)
        if plan.missing:
            return replace(plan, decision="ask", question=ask_for_missing(plan, tool))
        if old is not None and old.decision == "act":
            return replace(plan, decision="act")
        return replace(plan, decision="confirm", question=ask_to_confirm(plan, tool))

    def _tool(self, plan: Plan) -> Tool:
        return self._known_tool(plan.tool)

    def _known_tool(self, name: str) -> Tool:
        tool = self.find_tool(name)
        assert tool is not None, name  # noqa: S101  # `known_state` keeps no other calls
        return tool
