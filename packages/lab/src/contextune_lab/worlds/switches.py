"""Switch rules of planning and families of signals off by name, and record which rules have an effect.

A switch replaces a function where it is called, so that planning needs no code for it. A rule *fires* at a
request if it returns something else than it would when switched off. Rules are switched off for the whole
process: ask worlds with other switches in processes of their own.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from importlib import import_module
from typing import Any, cast

import numpy as np

from contextune.context.signals import links
from contextune.context.signals.registry import FAMILIES, Family
from contextune.context.signals.scene import FeatureColumns, Floats, Scene
from contextune.errors import InvalidDataError

Neutral = Callable[..., Any]
"""What a function returns when its rule is switched off, given its arguments."""
SIGNALS, DOUBTS = "signals.", "doubts."
"""Prefixes of the names of families of signals, and of single reasons to doubt a call."""
PLACES = "places"
"""Name of the switch that leaves out the places of the person; what asks a world knows it."""


@dataclass(frozen=True)
class RuleSwitch:
    """A function that is called for a rule, and what it returns without the rule."""

    module: str
    """The module that calls the function, as the name is looked up there."""
    function: str
    neutral: Neutral


def _first(value: Any, *_: Any, **__: Any) -> Any:
    return value


def _none(*_: Any, **__: Any) -> None:
    return None


def _false(*_: Any, **__: Any) -> bool:
    return False


def _empty(*_: Any, **__: Any) -> list[Any]:
    return []


_PLANNER, _FILL = "contextune.plan.calls.planner", "contextune.plan.calls.fill"
_VALUES, _POINTER = "contextune.plan.pointer.values.candidates", "contextune.plan.pointer.planner"
_COMPLETE = "contextune.plan.complete_request"
RULES: Mapping[str, RuleSwitch] = {
    "spelling": RuleSwitch(_COMPLETE, "respell", _first),
    "follow-ups": RuleSwitch(_COMPLETE, "complete_follow_up", _none),
    "antecedents": RuleSwitch(_COMPLETE, "name_antecedent", _none),
    "lures": RuleSwitch("contextune.plan.planning_input", "is_lure", _false),
    "small-talk": RuleSwitch(_PLANNER, "is_small_talk", _false),
    "unserved-orders": RuleSwitch(_PLANNER, "is_unserved", _false),
    "said-tools": RuleSwitch(_FILL, "said_tools", _empty),
    "open-tools": RuleSwitch(_FILL, "open_tools", _empty),
    "asked-tools": RuleSwitch(_FILL, "asked_tools", _empty),
    "said-probability": RuleSwitch(_PLANNER, "is_said_tool", _false),
    "open-probability": RuleSwitch(_PLANNER, "is_open_tool", _false),
    "doubts": RuleSwitch(_PLANNER, "doubt", _first),
    "other-half": RuleSwitch(_PLANNER, "with_other_half", _first),
    "events-of-day": RuleSwitch(_PLANNER, "with_events_of_day", _first),
    "settle-people": RuleSwitch(_PLANNER, "settle_people", _first),
    "reader": RuleSwitch(_PLANNER, "in_doubt", _false),
    "references": RuleSwitch(_POINTER, "referred", _first),
    "new-times": RuleSwitch(_POINTER, "new_times", _first),
    "person-questions": RuleSwitch(_POINTER, "asks_for_person", _false),
    "certain-values": RuleSwitch(_VALUES, "certain_candidates", _empty),
    "travel-modes": RuleSwitch(_VALUES, "said_mode", _none),
    "event-locations": RuleSwitch(_VALUES, "said_location", _none),
    "arrival-days": RuleSwitch(_VALUES, "arrival_day", _none),
    "next-events": RuleSwitch(_VALUES, "next_day", _none),
    "homes": RuleSwitch(_VALUES, "said_home", _none),
    "workplaces": RuleSwitch(_VALUES, "said_workplace", _none),
    "late-arrivals": RuleSwitch(_VALUES, "says_late", _false),
    "only-weather": RuleSwitch(_VALUES, "says_only_weather", _false),
}
"""The rules of planning that can be switched off, named for what they do."""
_REASONS = ("contextune.plan.calls.doubts.reasons", "_REASONS")


def doubt_names() -> list[str]:
    """The single reasons to doubt a call, each a switch of its own."""
    return [f"{DOUBTS}{reason.__name__.lstrip('_')}" for reason in _reasons()]


def switch_names() -> list[str]:
    """All names of rules and families of signals."""
    return [*(f"{SIGNALS}{family}" for family in FAMILIES), *RULES, *doubt_names(), PLACES]


def check_names(names: Iterable[str]) -> None:
    """Raise `InvalidDataError` for a name that is no switch."""
    known = switch_names()
    for name in names:
        if name not in known:
            raise InvalidDataError(f"no rule or signals {name!r}: use {', '.join(known)}")


@dataclass
class FiredRules:
    """Which rules have fired since this was last cleared."""

    names: set[str] = field(default_factory=set[str])

    def take(self) -> frozenset[str]:
        """The rules that have fired; clears them."""
        fired, self.names = frozenset(self.names), set()
        return fired


@contextmanager
def without(names: Iterable[str]) -> Generator[None]:
    """Switch rules and families of signals off while the context lasts."""
    names = list(names)
    check_names(names)
    with ExitStack() as stack:
        for name in names:
            if name.startswith(SIGNALS):
                _switch_signals_off(stack, name.removeprefix(SIGNALS))
            elif name in RULES:
                rule = RULES[name]
                _replace(stack, rule.module, rule.function, rule.neutral)
        off = {name for name in names if name.startswith(DOUBTS)}
        if off:
            pairs = zip(doubt_names(), _reasons(), strict=True)
            _replace(stack, *_REASONS, tuple(reason for name, reason in pairs if name not in off))
        yield


@contextmanager
def recorded() -> Generator[FiredRules]:
    """Record which rules fire while the context lasts; those that were switched off before do not."""
    fired = FiredRules()
    with ExitStack() as stack:
        for name, rule in RULES.items():
            function = getattr(import_module(rule.module), rule.function)
            _replace(stack, rule.module, rule.function, _recorder(name, function, rule.neutral, fired))
        reasons = [
            _recorder(name, reason, _false, fired)
            for name, reason in zip(doubt_names(), _reasons(), strict=True)
        ]
        _replace(stack, *_REASONS, tuple(reasons))
        yield fired


def _recorder(
    name: str, function: Callable[..., Any], neutral: Neutral, fired: FiredRules
) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        result = function(*args, **options)
        expected = neutral(*args, **options)
        # None and an empty list mean the same: the rule has nothing to say
        if (result or expected) and result != expected:
            fired.names.add(name)
        return result

    return call


def _reasons() -> Sequence[Callable[..., bool]]:
    module, name = _REASONS
    reasons: Sequence[Callable[..., bool]] = getattr(import_module(module), name)
    return reasons


def _replace(stack: ExitStack, module: str, name: str, value: object) -> None:
    """Set a name of a module until the stack is closed."""
    owner = import_module(module)
    stack.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, value)


def _switch_signals_off(stack: ExitStack, name: str) -> None:
    """Make all features of a family missing; models know missing values."""
    families = cast("dict[str, Family]", FAMILIES)
    family = families[name]

    def compute(scene: Scene, strength: Floats) -> FeatureColumns:
        del strength
        return _missing(family, scene)

    stack.callback(families.__setitem__, name, family)
    families[name] = replace(family, compute=compute)
    if name == "links":  # computed again after the first pass
        _replace(stack, links.__name__, "compute", compute)


def _missing(family: Family, scene: Scene) -> FeatureColumns:
    missing: Floats = np.full(len(scene.rows), np.nan)
    return dict.fromkeys(family.features, missing)
