"""Plan and execute API calls: context and tools in, a checked call out."""

from contextune.plan.execution.executor import CallOutcome, Executor, StepsOutcome, confirmation_prompt
from contextune.plan.execution.runners import FunctionRunner, McpRunner, Runner, RunnerResult
from contextune.plan.judge import ExpectedCall, PlanVerdict, judge_plan
from contextune.plan.language_model.budget import CallBudget
from contextune.plan.language_model.cascade import CascadePlanner
from contextune.plan.language_model.feed import Feed
from contextune.plan.language_model.planner import LanguagePlanner
from contextune.plan.multi_step.steps import Pointer, Steps, check_steps
from contextune.plan.planning_input import Planner, PlanningInput
from contextune.plan.policy import Policy, Readings, ReadingsPlanner, ToolEffect, call_cost, tool_effect
from contextune.plan.reading_planner import READING_POLICY, ReadingPlanner
from contextune.plan.schema import check_plan, plan_errors, tool_parameters

__all__ = [
    "READING_POLICY",
    "CallBudget",
    "CallOutcome",
    "CascadePlanner",
    "Executor",
    "ExpectedCall",
    "Feed",
    "FunctionRunner",
    "LanguagePlanner",
    "McpRunner",
    "PlanVerdict",
    "Planner",
    "PlanningInput",
    "Pointer",
    "Policy",
    "ReadingPlanner",
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
    "judge_plan",
    "plan_errors",
    "tool_effect",
    "tool_parameters",
]
