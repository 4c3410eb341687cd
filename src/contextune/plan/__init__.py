"""Plan and execute API calls: context and tools in, a checked call out."""

from contextune.plan.calls.planner import CallPlanner
from contextune.plan.calls.ranker import CallRanker, default_call_ranker
from contextune.plan.execution.executor import CallOutcome, Executor, StepsOutcome, confirmation_prompt
from contextune.plan.execution.runners import FunctionRunner, McpRunner, Runner, RunnerResult
from contextune.plan.judge import ExpectedCall, PlanVerdict, judge_plan
from contextune.plan.language_model.planner import LanguagePlanner
from contextune.plan.multi_step.steps import Pointer, Steps, check_steps
from contextune.plan.planning_input import Planner, PlanningInput
from contextune.plan.pointer.planner import PointerPlanner
from contextune.plan.pointer.scoring.scorer import ArgumentScorer, default_scorer
from contextune.plan.policy import Policy, Readings, ReadingsPlanner, ToolEffect, call_cost, tool_effect
from contextune.plan.schema import check_plan, plan_errors, tool_parameters

__all__ = [
    "ArgumentScorer",
    "CallOutcome",
    "CallPlanner",
    "CallRanker",
    "Executor",
    "ExpectedCall",
    "FunctionRunner",
    "LanguagePlanner",
    "McpRunner",
    "PlanVerdict",
    "Planner",
    "PlanningInput",
    "Pointer",
    "PointerPlanner",
    "Policy",
    "Readings",
    "ReadingsPlanner",
    "Runner",
    "RunnerResult",
    "Steps",
    "StepsOutcome",
    "ToolEffect",
    "call_cost",
    "check_plan",
    "check_steps",
    "confirmation_prompt",
    "default_call_ranker",
    "default_scorer",
    "judge_plan",
    "plan_errors",
    "tool_effect",
    "tool_parameters",
]
