"""From context and tools to a checked API call."""

from contextune.plan.base import Planner
from contextune.plan.execute import Course, Executor, Outcome, prompt
from contextune.plan.llm import LanguagePlanner
from contextune.plan.match import Expected, Verdict, judge
from contextune.plan.pointer import PointerPlanner
from contextune.plan.runners import FunctionRunner, McpRunner, Result, Runner
from contextune.plan.schema import check, faults, parameters
from contextune.plan.scorer import ArgumentScorer, default_scorer
from contextune.plan.situation import Situation
from contextune.plan.steps import Pointer, Steps, check_steps

__all__ = [
    "ArgumentScorer",
    "Course",
    "Executor",
    "Expected",
    "FunctionRunner",
    "LanguagePlanner",
    "McpRunner",
    "Outcome",
    "Planner",
    "Pointer",
    "PointerPlanner",
    "Result",
    "Runner",
    "Situation",
    "Steps",
    "Verdict",
    "check",
    "check_steps",
    "default_scorer",
    "faults",
    "judge",
    "parameters",
    "prompt",
]
