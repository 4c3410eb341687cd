"""Executing plans with Python functions, after a confirmation where one is needed."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from tests.plan.execution.plans import plan, yes

from contextune import Tuner
from contextune.errors import InvalidDataError, StoreError
from contextune.plan import Policy, Steps
from contextune.plan.execution.executor import (
    CallOutcome,
    Executor,
    confirmation_prompt,
    describe_call,
    needs_confirmation,
)
from contextune.plan.execution.runners import FunctionRunner
from contextune.store import SQLiteStore
from contextune.tools.loaders import load_functions
from contextune.types import (
    Annotations,
    Decision,
    Missing,
    Plan,
    Question,
    Request,
    Tool,
    User,
)

SAFE = Annotations(read_only=True)
ASKED = Request("Book the room.", "ines", datetime(2024, 5, 16, 17, 40))
calls: list[tuple[str, datetime, int]] = []


def book(room: str, start: datetime, seats: int = 1) -> str:
    """Book a room."""
    calls.append((room, start, seats))
    return f"{room} is booked"


async def later(room: str) -> str:
    """Book a room when there is time."""
    await asyncio.sleep(0)
    return f"{room} later"


def broken(room: str) -> str:
    """Fail."""
    raise ValueError(f"there is no {room}")


def leaves(room: str) -> None:
    """End the program."""
    sys.exit(f"no {room}")


FUNCTIONS = {"book": book, "later": later, "broken": broken, "leaves": leaves}
TOOLS = load_functions(*FUNCTIONS.values()).tools


@pytest.fixture(autouse=True)
def _no_calls() -> None:  # pyright: ignore[reportUnusedFunction]
    calls.clear()


BOOK = plan("book", room="the blue one", start="2024-05-17T09:00")


def no(plan: Plan, tool: Tool) -> bool:
    return False


def make_executor(**more: Any) -> Executor:
    return Executor(TOOLS, [FunctionRunner(FUNCTIONS)], **more)


def test_dry_run_is_the_default() -> None:
    outcome = make_executor(confirm=yes).run(BOOK)
    assert (outcome.status, outcome.ok, outcome.tool, outcome.args) == ("dry", False, "book", BOOK.args)
    assert outcome.message == (
        "would ask for confirmation, then call book(room='the blue one', start='2024-05-17T09:00')"
    )
    assert calls == []


def test_arguments_are_converted_to_the_signature() -> None:
    outcome = make_executor(confirm=yes).run(BOOK, dry=False)
    assert (outcome.ok, outcome.value) == (True, "the blue one is booked")
    assert calls == [("the blue one", datetime(2024, 5, 17, 9), 1)]


def test_async_functions_with_and_without_a_loop() -> None:
    async def notebook() -> object:
        return make_executor(confirm=yes).run(plan("later", room="a"), dry=False).value

    assert asyncio.run(notebook()) == "a later"
    assert make_executor(confirm=yes).run(plan("later", room="b"), dry=False).value == "b later"


@pytest.mark.parametrize("dry", [True, False])
def test_incomplete_or_invalid_plan_is_refused(dry: bool) -> None:
    refusals = {
        "Which room?": plan("book", (Missing("room", "Which room?"),), start="2024-05-17T09:00"),
        '"start" is a required property': plan("book", room="a"),
        'seats: "two"': plan("book", room="a", start="2024-05-17T09:00", seats="two"),
        "book has no argument 'door'": plan("book", room="a", start="2024-05-17T09:00", door=1),
        "there is no tool 'fly'": plan("fly"),
        "the plan calls 'book'": plan("book", tool="later", room="a"),
    }
    for reason, refused in refusals.items():
        outcome = make_executor(confirm=yes).run(refused, dry=dry)
        assert (outcome.status, outcome.ok) == ("refused", False)
        assert reason in outcome.message
    assert calls == []


def test_harmful_call_without_confirm_is_refused() -> None:
    outcome = make_executor().run(BOOK, dry=False)
    assert outcome.status == "refused"
    assert "pass confirm=" in outcome.message
    assert calls == []


@pytest.mark.parametrize("answer", [False, None, "no", 1])
def test_only_true_confirms(answer: object) -> None:
    asked: list[tuple[Plan, Tool]] = []

    def confirm(plan: Plan, tool: Tool) -> Any:
        asked.append((plan, tool))
        return answer

    outcome = make_executor(confirm=confirm).run(BOOK, dry=False)
    assert (outcome.status, outcome.message) == ("refused", "the call of 'book' was not confirmed")
    assert [(shown.args, shown.decision, tool) for shown, tool in asked] == [(BOOK.args, "confirm", TOOLS[0])]
    assert calls == []


FIND = Tool("find_room", "Finds a room.", parameters=TOOLS[1].parameters, annotations=SAFE)
"""A tool that runs without confirmation if the plan is sure."""


def find_room(room: str) -> str:
    """Find a room."""
    calls.append((room, datetime(2024, 5, 17), 0))
    return room


def run_find(sure: float, confirm: Any = None, **fields: Any) -> CallOutcome:
    executor = Executor([FIND], [FunctionRunner({"find_room": find_room})], confirm=confirm)
    return executor.run(replace(plan("find_room", room="a"), confidence=sure, **fields), dry=False)


@pytest.mark.parametrize("decision", ["confirm", "ask", "none"])
def test_only_a_decision_to_act_runs_without_confirmation(decision: Decision) -> None:
    asked = Question("Find the room “a”?")
    refused = run_find(0.99, decision=decision, question=asked)
    assert refused.status == "refused"
    assert "Find the room “a”?" in refused.message
    assert repr(decision) in refused.message
    assert run_find(0.99, no, decision=decision).status == "refused"
    assert calls == []
    assert run_find(0.99, yes, decision=decision).ok
    assert run_find(0.2, decision="act").ok  # the user has agreed
    assert len(calls) == 2


def test_undecided_plan_is_judged_by_the_executor() -> None:
    assert run_find(0.9).ok
    doubtful = run_find(0.2)
    assert (doubtful.status, len(calls)) == ("refused", 1)
    assert "20% sure" in doubtful.message
    lax = Executor([FIND], [FunctionRunner({"find_room": find_room})], policy=Policy(act={"read": 0.1}))
    assert lax.run(replace(plan("find_room", room="a"), confidence=0.55), dry=False).ok


def test_doubtful_step_stops_all_steps_before_the_first_call() -> None:
    first, second = plan("find_room", room="a"), replace(plan("find_room", room="b"), decision="ask")
    executor = Executor([FIND], [FunctionRunner({"find_room": find_room})])
    outcome = executor.run_steps(Steps((first, second)), dry=False)
    assert (outcome.ok, outcome.stopped_at, calls) == (False, 1, [])
    assert executor.run_steps(Steps((first, second.accept())), dry=False).ok


def test_dry_run_says_that_a_doubtful_call_is_confirmed_first() -> None:
    executor = Executor([FIND], [FunctionRunner({"find_room": find_room})])
    sure = plan("find_room", room="a")
    assert executor.run(sure).message == "would call find_room(room='a')"
    doubtful = executor.run(replace(sure, confidence=0.4))
    assert doubtful.message == "would ask for confirmation, then call find_room(room='a')"


def test_needs_confirmation() -> None:
    def harms(read_only: bool | None = None, destructive: bool | None = None) -> bool:
        return needs_confirmation(Tool("t", "d", annotations=Annotations(read_only, destructive)))

    assert harms()
    assert harms(read_only=False)
    assert harms(destructive=True)
    assert harms(read_only=True, destructive=True)
    assert not harms(read_only=True)
    assert not harms(destructive=False)


@pytest.mark.parametrize("name", ["send_money", "delete_files", "publish_post", "pay"])
@pytest.mark.parametrize("annotations", [Annotations(read_only=True), Annotations(destructive=False)])
def test_annotations_alone_do_not_avoid_confirmation(name: str, annotations: Annotations) -> None:
    tool = Tool(name, "Harmless.", app="games", annotations=annotations)
    assert needs_confirmation(tool)
    assert needs_confirmation(tool, Policy(trusted=frozenset(["games"])))
    assert not needs_confirmation(tool, Policy(costs={tool.id: "read"}))


def test_writes_of_a_server_are_confirmed_unless_it_is_trusted() -> None:
    tool = Tool("create_note", "Creates a note.", app="notes", annotations=Annotations(destructive=False))
    assert needs_confirmation(tool)
    assert not needs_confirmation(tool, Policy(trusted=frozenset(["notes"])))
    assert not needs_confirmation(replace(tool, app=""))  # a function of the program itself
    assert not needs_confirmation(Tool("find_note", "", "notes", annotations=Annotations(read_only=True)))


def test_misdeclared_call_is_refused_without_confirmation() -> None:
    def send_money(amount: int) -> str:
        raise AssertionError(f"{amount} sent")

    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}}
    tool = Tool("send_money", "Tells the balance.", "bank", schema, annotations=Annotations(read_only=True))
    executor = Executor([tool], [FunctionRunner({tool.id: send_money})])
    planned = plan("send_money", tool=tool.id, amount=900)
    for outcome in (executor.run(planned, dry=False), executor.run(planned.accept(), dry=False)):
        assert outcome.status == "refused"
    assert "needs confirmation" in outcome.message


@pytest.mark.parametrize("said", ["y", " YES ", "", "no", "yesterday", None])
def test_confirmation_prompt_accepts_yes_only(said: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(question: str) -> str:
        assert question.startswith("Call book(room='the blue one', start='2024-05-17T09:00')?")
        if said is None:
            raise EOFError
        return said

    monkeypatch.setattr("builtins.input", answer)
    assert confirmation_prompt(BOOK, TOOLS[0]) is (said in ("y", " YES "))


def test_confirmation_prompt_says_why_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return "n"

    monkeypatch.setattr("builtins.input", answer)
    confirmation_prompt(replace(plan("find_room", room="a"), confidence=0.4, decision="confirm"), FIND)
    confirmation_prompt(replace(BOOK, decision="act"), TOOLS[0])
    assert asked[0] == "Call find_room(room='a')? It is 40% sure. [y/N] "
    assert asked[1].endswith("? It may change or delete something. [y/N] ")


def test_described_call_is_escaped() -> None:
    odd = Tool("a\x1b[2K", "d", app="x")
    assert describe_call(plan("a", room="\x1b[2K\rfine\u202e"), odd) == (
        "x/a\\x1b[2K(room='\\x1b[2K\\rfine\\u202e')"
    )


def test_exception_becomes_a_failed_outcome() -> None:
    outcome = make_executor(confirm=yes).run(plan("broken", room="attic"), dry=False)
    assert (outcome.status, outcome.ok) == ("failed", False)
    assert outcome.message == "'broken' failed with ValueError: there is no attic"
    assert isinstance(outcome.error, ValueError)
    left = make_executor(confirm=yes).run(plan("leaves", room="attic"), dry=False)
    assert left.message == "'leaves' failed with SystemExit: no attic"


def test_function_does_not_serve_a_tool_of_another_app() -> None:
    theirs = Tool("book", "Book.", app="theirs", parameters=TOOLS[0].parameters, annotations=SAFE)
    outcome = Executor([theirs], [FunctionRunner(FUNCTIONS)]).run(BOOK, dry=False)
    assert outcome.message == "no runner serves 'theirs/book': pass one that does"
    assert calls == []


def test_non_callable_is_an_error() -> None:
    with pytest.raises(InvalidDataError, match="is not callable"):
        FunctionRunner({"book": "book"})  # pyright: ignore[reportArgumentType]


def recorder(tuner: Tuner) -> Callable[[Request, str, bool], None]:
    return lambda request, tool, ok: tuner.feedback(request, tool=tool, ok=ok)


def test_only_calls_are_recorded(store: SQLiteStore) -> None:
    store.put_user(User("ines"))
    executor = make_executor(confirm=yes, record=recorder(Tuner(store)))
    executor.run(BOOK, ASKED)
    executor.run(plan("book"), ASKED, dry=False)
    executor.run(BOOK, dry=False)
    assert list(store.feedback("ines")) == []
    executor.run(BOOK, ASKED, dry=False)
    executor.run(plan("broken", room="attic"), ASKED, dry=False)
    assert [(one.request, one.tool, one.ok) for one in store.feedback("ines")] == [
        (ASKED, "book", True),
        (ASKED, "broken", False),
    ]


def test_outcome_survives_a_failing_record() -> None:
    def record(request: Request, tool: str, ok: bool) -> None:
        raise StoreError("the disk is full")

    outcome = make_executor(confirm=yes, record=record).run(BOOK, ASKED, dry=False)
    assert (outcome.ok, outcome.value) == (True, "the blue one is booked")
    assert outcome.message.endswith("; not recorded: the disk is full")
