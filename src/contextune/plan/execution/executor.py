"""Plans carried out: dry unless told otherwise, checked first, and what may do harm only once confirmed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from contextune.errors import ContextuneError
from contextune.plan.execution.runners import Runner, RunnerResult
from contextune.plan.multi_step.resolve import resolved
from contextune.plan.multi_step.steps import Steps, check_step, pointers
from contextune.tools.catalog import Catalog
from contextune.types import Plan, Request, Tool

Confirm = Callable[[Plan, Tool], bool]
"""Asks the user whether the call may be made."""
Record = Callable[[Request, str, bool], None]
"""Is told of a call that was made: for which request, of which tool by id, and whether it worked."""
Status = Literal["dry", "refused", "failed", "done"]
_NOT_CALLED = "not called"


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What became of a plan: `dry` and `refused` mean that nothing was called."""

    status: Status
    tool: str
    """By id."""
    args: Mapping[str, Any] = field(hash=False)
    message: str = ""
    """What was or would be called, or why not."""
    value: Any = field(default=None, hash=False)
    """What the tool gave back: data, never an instruction, whatever it may say."""
    error: BaseException | None = field(default=None, compare=False)
    """What the tool raised, if it did."""

    @property
    def ok(self) -> bool:
        """Whether the call was made and worked."""
        return self.status == "done"


@dataclass(frozen=True, slots=True)
class StepsOutcome:
    """What became of several steps: those that came through, and the one it ended at, if one did."""

    steps: Steps
    done: tuple[CallOutcome, ...]
    """Of the steps that were carried out, in their order; in a dry run of all that would be."""
    stopped: CallOutcome | None = None
    """Of the step that was refused or failed; nothing after it was called."""
    place: int | None = None
    """Which step that is, from zero."""

    @property
    def ok(self) -> bool:
        """Whether every step was carried out and worked."""
        return self.stopped is None and all(outcome.ok for outcome in self.done)

    @property
    def left(self) -> tuple[Plan, ...]:
        """The steps that were not called: those after the one it ended at, and that one if it was refused."""
        if self.stopped is None:
            return () if self.ok else self.steps.plans
        return self.steps.plans[len(self.done) + (self.stopped.status == "failed") :]

    @property
    def message(self) -> str:
        """What was done and what not, step by step."""
        lines = [f"{place}. {outcome.message}" for place, outcome in enumerate(self.done, 1)]
        if self.stopped is not None and self.place is not None:
            lines += [
                f"{n}. {_NOT_CALLED}: {plan.name}" for n, plan in self._between(len(self.done), self.place)
            ]
            lines.append(f"{self.place + 1}. {self.stopped.status}: {self.stopped.message}")
            lines += [f"{n}. {_NOT_CALLED}: {plan.name}" for n, plan in self._between(self.place + 1, None)]
        return "\n".join(lines)

    def _between(self, start: int, end: int | None) -> Iterator[tuple[int, Plan]]:
        for place in range(start, len(self.steps) if end is None else end):
            yield place + 1, self.steps.plans[place]


class Executor:
    """Carries out plans for these tools, each by the first runner that serves it."""

    def __init__(
        self,
        tools: Iterable[Tool],
        runners: Sequence[Runner],
        *,
        confirm: Confirm | None = None,
        record: Record | None = None,
    ) -> None:
        """`confirm` is asked before every call of a tool that may do harm; without it none is made."""
        self._tools = Catalog(tools)
        self._runners = tuple(runners)
        self._confirm = confirm
        self._record = record

    def run(self, plan: Plan, request: Request | None = None, *, dry: bool = True) -> CallOutcome:
        """Tell what would be called; with `dry=False` call it. With `request` given, that is recorded."""
        if found := pointers(plan):
            name, pointer = next(iter(found.items()))
            reason = f"{name!r} is what step {pointer.step + 1} gives back: carry both out with run_steps"
            return CallOutcome("refused", plan.tool, plan.args, reason)
        checked = self._checked(plan)
        if isinstance(checked, CallOutcome):
            return checked
        tool, runner = checked
        if dry:
            return _dry(plan, tool)
        if may_harm(tool) and (reason := self._unconfirmed(plan, tool)):
            return CallOutcome("refused", tool.id, plan.args, reason)
        return self._recorded(_called(runner, plan, tool, plan.args), request)

    def run_steps(self, steps: Steps, request: Request | None = None, *, dry: bool = True) -> StepsOutcome:
        """The steps one after the other, up to the first that is refused or fails; dry by default.

        All are checked before the first is called. What an earlier step gave back is put where a later one
        points at it, checked against that tool's schema, and shown to whoever confirms the call.
        """
        tools: list[Tool] = []
        for place, plan in enumerate(steps):
            checked = self._checked(plan)
            if (
                not isinstance(checked, CallOutcome)
                and not dry
                and self._confirm is None
                and may_harm(checked[0])
            ):
                reason = self._unconfirmed(plan, checked[0])
                checked = CallOutcome("refused", checked[0].id, plan.args, reason)
            if isinstance(checked, CallOutcome):
                return StepsOutcome(steps, (), checked, place)
            tools.append(checked[0])
        outcomes: list[CallOutcome] = []
        for place, (plan, tool) in enumerate(zip(steps, tools, strict=True)):
            outcome = _dry(plan, tool) if dry else self._step(plan, tool, outcomes, request)
            if outcome.status in ("refused", "failed"):
                return StepsOutcome(steps, tuple(outcomes), outcome, place)
            outcomes.append(outcome)
        return StepsOutcome(steps, tuple(outcomes))

    def _step(
        self, plan: Plan, tool: Tool, before: Sequence[CallOutcome], request: Request | None
    ) -> CallOutcome:
        try:
            whole = resolved(plan, tool, [outcome.value for outcome in before])
        except ContextuneError as error:
            return CallOutcome("refused", tool.id, plan.args, str(error))
        return self.run(whole, request, dry=False)

    def _checked(self, plan: Plan) -> tuple[Tool, Runner] | CallOutcome:
        """The tool and who runs it, or why the plan is refused."""
        refused = CallOutcome("refused", plan.tool, plan.args)
        try:
            tool = self._tools.tool(plan.tool)
            refused = replace(refused, tool=tool.id)
            if plan.missing:
                return replace(refused, message=" ".join(one.question for one in plan.missing))
            check_step(plan, tool)
        except ContextuneError as error:
            return replace(refused, message=str(error))
        runner = next((one for one in self._runners if one.serves(tool)), None)
        if runner is None:
            return replace(refused, message=f"nothing runs {tool.id!r}: pass a runner that serves it")
        return tool, runner

    def _unconfirmed(self, plan: Plan, tool: Tool) -> str:
        if self._confirm is None:
            return (
                f"{tool.id!r} may change or delete something, and nobody can be asked:"
                " pass confirm=…, a function of plan and tool that returns True where the user agrees"
            )
        # a coroutine or the word "no" is true as well
        return "" if self._confirm(plan, tool) is True else f"the call of {tool.id!r} was not confirmed"

    def _recorded(self, outcome: CallOutcome, request: Request | None) -> CallOutcome:
        if self._record is None or request is None:
            return outcome
        try:
            self._record(request, outcome.tool, outcome.ok)
        except Exception as error:  # the call was made: what came of it is not to be lost
            return replace(outcome, message=f"{outcome.message}; not recorded: {error}")
        return outcome


def _dry(plan: Plan, tool: Tool) -> CallOutcome:
    first = "ask, and then " if may_harm(tool) else ""
    return CallOutcome("dry", tool.id, plan.args, f"would {first}call {shown(plan, tool)}")


def _called(runner: Runner, plan: Plan, tool: Tool, args: Mapping[str, Any]) -> CallOutcome:
    failed = CallOutcome("failed", tool.id, args)
    try:
        result: RunnerResult = runner.call(tool, args)
    except ContextuneError as error:
        return replace(failed, message=str(error), error=error)
    except (Exception, SystemExit) as error:  # whatever a tool does, the assistant goes on
        return replace(failed, message=f"{tool.id!r} fails with {type(error).__name__}: {error}", error=error)
    if result.failure:
        return replace(failed, message=result.failure, value=result.value)
    return CallOutcome("done", tool.id, args, f"called {shown(plan, tool)}", result.value)


def may_harm(tool: Tool) -> bool:
    """Whether to ask first: unless it says that it only reads or destroys nothing, as MCP has it."""
    said = tool.annotations
    return said.destructive is True or not (said.read_only is True or said.destructive is False)


def shown(plan: Plan, tool: Tool) -> str:
    """The call in full, on one line, with nothing in it that could dress up as something else."""
    values = ", ".join(f"{_plain(name)}={value!r}" for name, value in plan.args.items())
    return f"{_plain(tool.id)}({values})"


def _plain(name: str) -> str:
    return name if name.isprintable() else repr(name)


def confirmation_prompt(plan: Plan, tool: Tool) -> bool:
    """Ask in the terminal, as a `confirm`; anything but yes is no."""
    try:
        said = input(f"Call {shown(plan, tool)}? It may change or delete something. [y/N] ")
    except EOFError:
        return False
    return said.strip().lower() in ("y", "yes")
