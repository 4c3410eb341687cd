"""`CallBudget`: calls and tokens of a minute, and the pause after a failure."""

import pytest

from contextune.errors import InvalidRequestError, LanguageModelError
from contextune.llm.structured import SchemaMismatchError
from contextune.plan import CallBudget


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def spend(budget: CallBudget, tokens: int = 0) -> None:
    with budget.call() as call:
        call.tokens = tokens


def test_calls_of_a_minute_are_limited() -> None:
    clock = Clock()
    budget = CallBudget(2, clock=clock)
    spend(budget)
    spend(budget)
    with pytest.raises(LanguageModelError, match="2 calls"):
        spend(budget)
    clock.now = 60.0
    spend(budget)


def test_tokens_of_a_minute_are_limited() -> None:
    clock = Clock()
    budget = CallBudget(9, 1_000, clock=clock)
    spend(budget, 1_200)
    with pytest.raises(LanguageModelError, match="1,000 tokens"):
        spend(budget)
    clock.now = 61.0
    spend(budget)


def test_pause_after_a_failure_but_not_after_an_invalid_answer() -> None:
    clock = Clock()
    budget = CallBudget(pause=20, clock=clock)
    with pytest.raises(SchemaMismatchError), budget.call():
        raise SchemaMismatchError("no draft fits")
    spend(budget)
    with pytest.raises(LanguageModelError, match="offline"), budget.call():
        raise LanguageModelError("offline")
    with pytest.raises(LanguageModelError, match="asked again in 20 s"):
        spend(budget)
    clock.now = 20.0
    spend(budget)


@pytest.mark.parametrize("limits", [(0, 1), (1, 0)])
def test_invalid_limits_are_refused(limits: tuple[int, int]) -> None:
    with pytest.raises(InvalidRequestError, match="invalid budget"):
        CallBudget(*limits)
