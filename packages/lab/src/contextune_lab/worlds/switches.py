"""Switch rules and families of signals off by name, and record which rules have an effect.

A switch replaces a function where it is called, so that planning needs no code for it. A rule *fires* at a
request if it returns something else than it would when switched off. Rules are switched off for the whole
process: ask worlds with other switches in processes of their own.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
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
from contextune_lab.worlds.splits import CHOOSE_ON, REPORT_ON

Neutral = Callable[..., Any]
"""What a function returns when its rule is switched off, given its arguments."""
SIGNALS = "signals."
"""Prefix of the names of families of signals."""
PLACES = "places"
"""Name of the switch that leaves out the places of the person; what asks a world knows it."""


@dataclass(frozen=True)
class RuleSwitch:
    """A function that is called for a rule, and what it returns without the rule."""

    module: str
    """The module that calls the function, as the name is looked up there."""
    function: str
    """A name of the module, or of a class of it: `Class.method`."""
    neutral: Neutral
    written_from: tuple[str, ...] = ()
    """Worlds whose requests the rule was written or chosen from: it has seen them."""

    @property
    def owner(self) -> Any:
        """The module or the class that has the function."""
        module = import_module(self.module)
        name = self.function.rpartition(".")[0]
        return getattr(module, name) if name else module

    @property
    def name(self) -> str:
        """The name of the function in its owner."""
        return self.function.rpartition(".")[2]


def _first(value: Any, *_: Any, **__: Any) -> Any:
    return value


def _none(*_: Any, **__: Any) -> None:
    return None


def _false(*_: Any, **__: Any) -> bool:
    return False


def _nothing(*_: Any, **__: Any) -> list[Any]:
    return []


def _all(values: Iterable[Any], *_: Any, **__: Any) -> list[Any]:
    return [*values]


def _no_words(*_: Any, **__: Any) -> frozenset[str]:
    return frozenset()


def _undivided(text: str, **_: Any) -> tuple[str, ...]:
    return (text,)


_COMPLETE = "contextune.plan.complete_request"
_RETRIEVER, _TUNER = "contextune.context.retriever", "contextune.tuner"
RULES: Mapping[str, RuleSwitch] = {
    "courtesy": RuleSwitch(_COMPLETE, "planned_request", _first),
    "wording": RuleSwitch(_RETRIEVER, "canonical_request", _first),
    "spelling": RuleSwitch(_COMPLETE, "respell", _first),
    "unknown-spellings": RuleSwitch("contextune.plan.misspellings", "meant_word", _none),
    "follow-ups": RuleSwitch(_COMPLETE, "complete_follow_up", _none),
    "antecedents": RuleSwitch(_COMPLETE, "name_antecedent", _none),
    "turns": RuleSwitch(_TUNER, "read_turn", _none),
    "series": RuleSwitch(_RETRIEVER, "first_occurrences", _all),
    "occurrences": RuleSwitch(_RETRIEVER, "meant_occurrence", _first, ("w08",)),
    "named-tools": RuleSwitch("contextune.tools.retriever", "find_telling_names", _nothing),
    "whole-names": RuleSwitch("contextune.tools.naming", "_Mentions.is_whole_request", _false),
    "confirmed-tools": RuleSwitch(_TUNER, "confirmed_tools", _nothing),
    "private-words": RuleSwitch(_TUNER, "private_words", _no_words),
    "wrong-calls": RuleSwitch(_TUNER, "without_wrong_calls", _first),
    "rejected-items": RuleSwitch(_TUNER, "without_rejected", _first),
    "lures": RuleSwitch("contextune.plan.planning_input", "is_lure", _false),
    "namesakes": RuleSwitch("contextune.plan.arguments.reader", "ReadCall.namesakes", _nothing),
    "given-times": RuleSwitch(
        "contextune.plan.arguments.reader", "_without_given_times", _first, (*CHOOSE_ON, *REPORT_ON)
    ),
    "personal-values": RuleSwitch(_TUNER, "guard_readings", _first),
    "doubts": RuleSwitch(_TUNER, "doubt_readings", _first),
    "steps": RuleSwitch(_TUNER, "split_request", _undivided),
}
"""The rules that can be switched off, named for what they do."""


def switch_names() -> list[str]:
    """All names of rules and families of signals."""
    return [*(f"{SIGNALS}{family}" for family in FAMILIES), *RULES, PLACES]


def written_from(name: str) -> tuple[str, ...]:
    """The worlds that a rule was written from; none for signals."""
    return RULES[name].written_from if name in RULES else ()


def is_everywhere(name: str) -> bool:
    """Whether a switch changes every request, so that it is not recorded where it fires."""
    return name not in RULES


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
                replace_name(stack, RULES[name].owner, RULES[name].name, RULES[name].neutral)
        yield


@contextmanager
def recorded() -> Generator[FiredRules]:
    """Record which rules fire while the context lasts; those that were switched off before do not."""
    fired = FiredRules()
    with ExitStack() as stack:
        for name, rule in RULES.items():
            recorder = _recorder(name, getattr(rule.owner, rule.name), rule.neutral, fired)
            replace_name(stack, rule.owner, rule.name, recorder)
        yield fired


def _recorder(
    name: str, function: Callable[..., Any], neutral: Neutral, fired: FiredRules
) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        result: object = function(*args, **options)
        if isinstance(result, Iterator):
            result = [*cast("Iterator[object]", result)]
        expected = neutral(*args, **options)
        # None and an empty text mean the same: the rule has nothing to say
        if (result or expected) and result != expected:
            fired.names.add(name)
        return result

    return call


def replace_name(stack: ExitStack, owner: object, name: str, value: object) -> None:
    """Set a name of a module or a class until the stack is closed."""
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
        replace_name(stack, links, "compute", compute)


def _missing(family: Family, scene: Scene) -> FeatureColumns:
    missing: Floats = np.full(len(scene.rows), np.nan)
    return dict.fromkeys(family.features, missing)
