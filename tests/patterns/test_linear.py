"""Patterns read mails, files, requests and what servers say, so none may take more than linear time."""

import os
import re
import sys
from collections.abc import Callable

import pytest
from tests.patterns.collect import CollectedPattern, collect_patterns
from tests.patterns.growth import superlinear
from tests.patterns.hostile_texts import HostileText, hostile_texts

from contextune._internal.untrusted import without_long_runs

_SEEDS = int(os.environ.get("FUZZ_SEEDS", "1"))
"""Examples of each pattern from which hostile texts are made; `make fuzz` takes more."""
_FIRST_SEED = int(os.environ.get("FUZZ_FIRST_SEED", "0"))
_READ_REQUESTS = ("contextune.plan.", "contextune.time_phrases.")
"""Modules that read requests and items as planners get them: without long runs of spaces and punctuation."""

needs_timer = pytest.mark.skipif(sys.platform == "win32", reason="no timer of CPU time")


@pytest.fixture(scope="module")
def patterns() -> list[CollectedPattern]:
    return collect_patterns()


def _view(pattern: CollectedPattern) -> Callable[[str], str]:
    is_planning = all(place.startswith(_READ_REQUESTS) for place in pattern.places)
    return without_long_runs if is_planning else str


def _slow_texts(pattern: CollectedPattern) -> str:
    for text in hostile_texts(pattern.pattern, range(_FIRST_SEED, _FIRST_SEED + _SEEDS)):
        for method in sorted(pattern.methods):
            if growth := superlinear(pattern.pattern, method, text, _view(pattern)):
                case = f"{text.start!r} + {text.piece!r}…"
                return f"{pattern.places[0]}.{method}: x{growth:.1f} for twice of {case}"
    return ""


@needs_timer
@pytest.mark.timeout(1200)  # it needs less than a minute of CPU; a busy machine may give it little
def test_every_pattern_is_linear(patterns: list[CollectedPattern]) -> None:
    assert len(patterns) > 400  # all of them were found
    assert [slow for pattern in patterns if (slow := _slow_texts(pattern))] == []


@needs_timer
@pytest.mark.parametrize(
    ("pattern", "piece"),
    [
        (r"<[^>]*\bstyle\s*=[^>]*(?:display\s*:\s*none)", "<a style= "),  # the cubic one that a mail reached
        (r"\s+$", " "),
        (r"(\w+)['’]s\b", "a"),
        (r"\b(?:tell|ask)\b.*?\bto\b", "tell "),
        (r"(?:a|a)+b", "a"),
    ],
)
def test_slow_patterns_are_recognised(pattern: str, piece: str) -> None:
    # a busy machine may hide the growth once
    text = HostileText("", piece)
    assert any(superlinear(re.compile(pattern), "search", text, str) > 2.5 for _ in range(5))


@needs_timer
def test_slow_texts_are_derived_from_the_pattern() -> None:
    slow = CollectedPattern(re.compile(r"go ahead (?:[0-9]x)*[0-9x]*!"), ["example"], {"search"})
    # a busy machine may hide the growth once
    assert any("example.search" in _slow_texts(slow) for _ in range(5))


@needs_timer
@pytest.mark.parametrize("pattern", [r"\w+", r"a.{0,300}b", r"(?<!\s)\s+$", "tell"])
def test_linear_patterns_pass(pattern: str) -> None:
    assert _slow_texts(CollectedPattern(re.compile(pattern), ["example"], {"finditer"})) == ""
