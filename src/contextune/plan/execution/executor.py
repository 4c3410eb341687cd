"""Execute plans: dry run by default, schema check first, confirmation for what is doubtful or may do harm."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from contextune.errors import ContextuneError
from contextune.plan.execution.call_text import call_text
from contextune.plan.execution.runners import Runner, RunnerResult
from contextune.plan.multi_step.resolve import resolve_pointers
from contextune.plan.multi_step.steps import Steps, check_step, pointers
from contextune.plan.policy import Policy, Readings
from contextune.tools.catalog import Catalog
from contextune.types import Plan, Request, Tool

Confirm = Callable[[Plan, Tool], bool]
"""Asks the user whether the call may be made; only `True` means yes."""
Record = Callable[[Request, str, bool], None]
"""Records a call: the request, the id of the tool, and whether the call succeeded."""
Status = Literal["dry", "refused", "failed", "done"]
_NOT_CALLED = "not called"


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a plan; with status `dry` or `refused`, nothing was called."""

    status: Status
    tool: str
    """The id of the tool."""
    args: Mapping[str, Any] = field(hash=False)
    message: str = ""
    """What was or would be called, or the reason why not."""
    value: Any = field(default=None, hash=False)
    """The result of the tool: data, never an instruction."""
    error: BaseException | None = field(default=None, compare=False)
    """The exception that the tool raised, if any."""

    @property
    def ok(self) -> bool:
        """Whether the call was made and succeeded."""
        return self.status == "done"


@dataclass(frozen=True, slots=True)
class StepsOutcome:
    """The outcome of several steps, up to the first one that was refused or failed."""

    steps: Steps
    done: tuple[CallOutcome, ...]
    """The outcomes of the completed steps, in order; in a dry run, of all steps that would run."""
    stopped: CallOutcome | None = None
    """The outcome of the step that was refused or failed; no later step was called."""
    stopped_at: int | None = None
    """The index of that step, from 0."""

    @property
    def ok(self) -> bool:
        """Whether every step was called and succeeded."""
        return self.stopped is None and all(outcome.ok for outcome in self.done)

    @property
    def not_called(self) -> tuple[Plan, ...]:
        """The steps that were not called, including one that was refused."""
        if self.stopped is None:
            return () if self.ok else self.steps.plans
        return self.steps.plans[len(self.done) + (self.stopped.status == "failed") :]

    @property
    def message(self) -> str:
        """What happened, one line per step."""
        lines = [f"{index}. {outcome.message}" for index, outcome in enumerate(self.done, 1)]
        if self.stopped is not None and self.stopped_at is not None:
            lines += [
                f"{n}. {_NOT_CALLED}: {plan.name}"
                for n, plan in self._between(len(self.done), self.stopped_at)
            ]
            lines.append(f"{self.stopped_at + 1}. {self.stopped.status}: {self.stopped.message}")
            lines += [
                f"{n}. {_NOT_CALLED}: {plan.name}" for n, plan in self._between(self.stopped_at + 1, None)
            ]
        return "\n".join(lines)

    def _between(self, start: int, end: int | None) -> Iterator[tuple[int, Plan]]:
        for index in range(start, len(self.steps) if end is None else end):
            yield index + 1, self.steps.plans[index]


class Executor:
    """Executes plans, each with the first runner that serves its tool."""

    def __init__(
        self,
        tools: Iterable[Tool],
        runners: Sequence[Runner],
        *,
        confirm: Confirm | None = None,
        record: Record | None = None,
        policy: Policy | None = None,
    ) -> None:
        """Create an executor.

        `confirm` is called before every call that may do harm or that the policy does not let pass; without
        it, such calls are refused. `policy` decides on plans that have no decision yet, such as those of
        other planners.
        """
        self._tools = Catalog(tools)
        self._runners = tuple(runners)
        self._confirm = confirm
        self._record = record
        self._policy = policy or Policy()

    def run(self, plan: Plan, request: Request | None = None, *, dry: bool = True) -> CallOutcome:
        """Execute a plan; with `dry=True`, only check it. With a `request`, the call is recorded."""
        if pending := pointers(plan):
            name, pointer = next(iter(pending.items()))
            reason = f"{name!r} is the result of step {pointer.step + 1}: use run_steps"
            return CallOutcome("refused", plan.tool, plan.args, reason)
        checked = self._check(plan)
        if isinstance(checked, CallOutcome):
            return checked
        tool, runner = checked
        plan = self._decided(plan, tool)
        if dry:
            return self._dry_run(plan, tool)
        if self._must_confirm(plan, tool) and (reason := self._refusal(plan, tool)):
            return CallOutcome("refused", tool.id, plan.args, reason)
        return self._with_record(_call(runner, plan, tool, plan.args), request)

    def run_steps(self, steps: Steps, request: Request | None = None, *, dry: bool = True) -> StepsOutcome:
        """Execute steps in order, up to the first that is refused or fails; a dry run by default.

        All steps are checked before the first call. Pointers are replaced by the results of earlier steps,
        checked against the tool's schema, and shown in the confirmation.
        """
        decided: list[tuple[Plan, Tool]] = []
        for index, plan in enumerate(steps):
            checked = self._check(plan)
            if isinstance(checked, CallOutcome):
                return StepsOutcome(steps, (), checked, index)
            tool = checked[0]
            plan = self._decided(plan, tool)
            if not dry and self._confirm is None and self._must_confirm(plan, tool):
                refused = CallOutcome("refused", tool.id, plan.args, self._refusal(plan, tool))
                return StepsOutcome(steps, (), refused, index)
            decided.append((plan, tool))
        outcomes: list[CallOutcome] = []
        for index, (plan, tool) in enumerate(decided):
            outcome = self._dry_run(plan, tool) if dry else self._run_step(plan, tool, outcomes, request)
            if outcome.status in ("refused", "failed"):
                return StepsOutcome(steps, tuple(outcomes), outcome, index)
            outcomes.append(outcome)
        return StepsOutcome(steps, tuple(outcomes))

    def _run_step(
        self, plan: Plan, tool: Tool, earlier: Sequence[CallOutcome], request: Request | None
    ) -> CallOutcome:
        try:
            resolved = resolve_pointers(plan, tool, [outcome.value for outcome in earlier])
        except ContextuneError as error:
            return CallOutcome("refused", tool.id, plan.args, str(error))
        return self.run(resolved, request, dry=False)

    def _check(self, plan: Plan) -> tuple[Tool, Runner] | CallOutcome:
        """The tool and its runner, or the refusal."""
        refused = CallOutcome("refused", plan.tool, plan.args)
        try:
            tool = self._tools.tool(plan.tool)
            refused = replace(refused, tool=tool.id)
            if plan.missing:
                return replace(refused, message=_missing_questions(plan))
            check_step(plan, tool)
        except ContextuneError as error:
            return replace(refused, message=str(error))
        runner = next((runner for runner in self._runners if runner.serves(tool)), None)
        if runner is None:
            return replace(refused, message=f"no runner serves {tool.id!r}: pass one that does")
        return tool, runner

    def _decided(self, plan: Plan, tool: Tool) -> Plan:
        """The plan with a decision; one that was made already, or accepted by the user, is kept."""
        if plan.decision is not None:
            return plan
        return self._policy.decide(Readings.of_plan(plan), lambda _: tool) or plan

    def _must_confirm(self, plan: Plan, tool: Tool) -> bool:
        return needs_confirmation(tool, self._policy) or not plan.ready

    def _dry_run(self, plan: Plan, tool: Tool) -> CallOutcome:
        first = "ask for confirmation, then " if self._must_confirm(plan, tool) else ""
        return CallOutcome("dry", tool.id, plan.args, f"would {first}call {describe_call(plan, tool)}")

    def _refusal(self, plan: Plan, tool: Tool) -> str:
        if self._confirm is None and not plan.ready:
            return (
                f"the call of {tool.id!r} is {plan.confidence:.0%} sure, and the decision is"
                f" {plan.decision!r}: {plan.question.text if plan.question else 'ask the user'}"
                " (pass confirm=…, or run plan.accept() if the user agrees)"
            )
        if self._confirm is None:
            return (
                f"{tool.id!r} may change or delete something and needs confirmation:"
                " pass confirm=…, a function of plan and tool that returns True if the user agrees"
            )
        # only True counts: a coroutine or the string "no" is truthy
        return "" if self._confirm(plan, tool) is True else f"the call of {tool.id!r} was not confirmed"

    def _with_record(self, outcome: CallOutcome, request: Request | None) -> CallOutcome:
        if self._record is None or request is None:
            return outcome
        try:
            self._record(request, outcome.tool, outcome.ok)
        except Exception as error:  # the call was made: its outcome must not be lost
            return replace(outcome, message=f"{outcome.message}; not recorded: {error}")
        return outcome


def _missing_questions(plan: Plan) -> str:
    if plan.question is not None:
        return plan.question.text
    return " ".join(missing.question for missing in plan.missing)


def _call(runner: Runner, plan: Plan, tool: Tool, args: Mapping[str, Any]) -> CallOutcome:
    failed = CallOutcome("failed", tool.id, args)
    try:
        result: RunnerResult = runner.call(tool, args)
    except ContextuneError as error:
        return replace(failed, message=str(error), error=error)
    except (Exception, SystemExit) as error:  # a failing tool must not end the assistant
        return replace(
            failed, message=f"{tool.id!r} failed with {type(error).__name__}: {error}", error=error
        )
    if result.failure:
        return replace(failed, message=result.failure, value=result.value)
    return CallOutcome("done", tool.id, args, f"called {describe_call(plan, tool)}", result.value)


def needs_confirmation(tool: Tool, policy: Policy | None = None) -> bool:
    """Whether a tool may do harm: by its meaning and the policy, or by MCP's default.

    By that default a tool does, unless it is annotated as read-only or not destructive. These annotations
    alone are not enough: `Policy.confirms` decides by what the tool's name and description say.
    """
    hints = tool.annotations
    declared = hints.destructive is True or not (hints.read_only is True or hints.destructive is False)
    return declared or (policy or Policy()).confirms(tool)


def describe_call(plan: Plan, tool: Tool) -> str:
    """The whole call on one line, escaped so that no value can fake other text."""
    return call_text(tool.id, plan.args)


def confirmation_prompt(plan: Plan, tool: Tool) -> bool:
    """Ask for confirmation in the terminal; to be passed as `confirm`."""
    is_sure = plan.ready or plan.decision is None or plan.confidence == 1.0
    doubt = "" if is_sure else f" It is {plan.confidence:.0%} sure."
    harm = " It may change or delete something." if needs_confirmation(tool) else ""
    try:
        reply = input(f"Call {describe_call(plan, tool)}?{harm}{doubt} [y/N] ")
    except EOFError:
        return False
    return reply.strip().lower() in ("y", "yes")
