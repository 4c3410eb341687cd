"""Trains the light planner: which candidate fills an argument, and how probable it is that it is right.

It learns from the calls that personas' requests were written for, seen with the context that was found by
what had not seen the persona, with the right context, and with none; from training pairs; and from made
requests about times. What is known of an argument (where its value mostly stands) is always counted
on other folds than the request's: on its own it would know too much.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.datasets import Pair
from contextune.lab.train.rankers.argument_examples import (
    ALONE,
    FOUND,
    ORACLE,
    ArgumentExample,
    PlannedRequest,
    to_fill,
)
from contextune.lab.train.rankers.argument_pairs import pair_examples
from contextune.plan.pointer.feature_names import NAMES
from contextune.plan.pointer.priors import ArgumentPriors, ArgumentStatistics, CommonWords
from contextune.plan.pointer.scorer import DOUBTS, ArgumentScorer, doubt_inputs
from contextune.rank import CandidateGroup, LogisticRegression, Ranker, RankerSettings
from contextune.search import tokenize
from contextune.types import Progress, Tool

Floats = NDArray[np.float64]
SETTINGS = RankerSettings(
    rounds=160,
    seeds=1,
    rate=0.08,
    leaves=12,
    smallest_leaf=15,
    feature_share=0.5,
    row_share=0.8,
    truncation=4,
)
_WRONG = 40
"""So many wrong candidates of an argument are learnt from; there may be hundreds, most of them alike."""
_PAIRS = 3
"""Of so many pairs one is learnt from: more of them outweigh the personas, whose items are real ones."""
_UNKNOWN = 0.2
"""Share of the arguments that are learnt as if nothing were known of them, as those of new tools are."""
_PRIORS = [NAMES.index(name) for name in ("prior", "prior by name", "prior rank", "given")]


@dataclass(frozen=True, eq=False)
class ArgumentTrainingData:
    """All there is to learn from. `counted` says which examples priors are counted on."""

    examples: Sequence[ArgumentExample]
    counted: Sequence[bool]
    common: CommonWords

    @classmethod
    def of(
        cls,
        requests: Sequence[PlannedRequest],
        made: Sequence[ArgumentExample],
        pairs: Sequence[Pair],
        tools: Mapping[str, Tool],
        *,
        progress: Progress | None = None,
    ) -> "ArgumentTrainingData":
        """From personas' requests, made ones, and pairs."""
        examples: list[ArgumentExample] = []
        counted: list[bool] = []
        for number, one in enumerate(requests, 1):
            for what in (FOUND, ORACLE, ALONE):
                found = list(to_fill(one, tools, what))
                examples += found
                counted += [what == ORACLE] * len(found)
            if progress:
                progress(number, len(requests))
        extra = [*made, *pair_examples(pairs[::_PAIRS], tools)]
        return cls([*examples, *extra], [*counted, *[False] * len(extra)], common_words(pairs))

    def known(self, *but: int) -> ArgumentStatistics:
        """What is known from all folds but some."""
        kept = zip(self.examples, self.counted, strict=True)
        return ArgumentStatistics(
            ArgumentPriors.of(one.filled for one, counts in kept if counts and one.fold not in but),
            self.common,
        )


def common_words(pairs: Sequence[Pair]) -> CommonWords:
    """Words that many texts of the pairs have."""
    texts = [text for pair in pairs for text in (pair.query, *(item.text for item in pair.items))]
    return CommonWords.of(tokenize(text) for text in texts)


def fit(lessons: ArgumentTrainingData, *but: int, progress: Progress | None = None) -> Ranker:
    """A ranker of candidates that has seen no example of some folds."""
    folds = sorted({one.fold for one in lessons.examples} - set(but))
    draw = np.random.default_rng(0)
    groups: list[CandidateGroup] = []
    for fold in folds:
        known = lessons.known(*but, fold)
        mine = [one for one in lessons.examples if one.fold == fold]
        # what has nothing right, or nothing wrong, teaches nothing
        made = [_group(one, known, draw) for one in mine]
        groups += [group for group in made if group.grades.any() and not group.grades.all()]
    return Ranker.fit(groups, NAMES, SETTINGS, progress=progress)


def _group(one: ArgumentExample, known: ArgumentStatistics, draw: np.random.Generator) -> CandidateGroup:
    """An argument as it is in use: of a tool that is known, its candidates narrowed, or of a new one."""
    unknown = draw.random() < _UNKNOWN
    one = one if unknown else one.narrowed(known)
    wrong = np.flatnonzero(one.grades == 0)
    if len(wrong) > _WRONG:
        wrong = draw.choice(wrong, _WRONG, replace=False)
    kept = np.sort(np.concatenate([np.flatnonzero(one.grades), wrong]))
    matrix = one.matrix(known)[kept]
    if unknown:
        matrix[:, _PRIORS] = np.nan
    return CandidateGroup(matrix, one.grades[kept])


@dataclass(frozen=True, eq=False)
class ArgumentFold:
    """What is learnt without a fold, for requests of that fold."""

    scores: Ranker
    known: ArgumentStatistics


def by_fold(lessons: ArgumentTrainingData, *, progress: Progress | None = None) -> dict[int, ArgumentFold]:
    """For each fold a ranker, and what is known, without it."""
    folds = sorted({one.fold for one in lessons.examples if one.fold >= 0})
    found: dict[int, ArgumentFold] = {}
    for number, fold in enumerate(folds, 1):
        found[fold] = ArgumentFold(fit(lessons, fold), lessons.known(fold))
        if progress:
            progress(number, len(folds))
    return found


def doubts(
    lessons: ArgumentTrainingData, learnt: Mapping[int, ArgumentFold], *but: int
) -> LogisticRegression:
    """The probability that a choice is right, from choices by rankers that had not seen the request."""
    rows: list[Floats] = []
    right: list[bool] = []
    for one in lessons.examples:
        if one.fold < 0 or one.fold in but or one.name.rpartition("/")[2].startswith("time"):
            continue  # pairs and made requests are not what is asked in use
        seen = one.narrowed(learnt[one.fold].known)
        matrix = seen.matrix(learnt[one.fold].known)
        scores = learnt[one.fold].scores.score(matrix)
        best = int(np.argmax(scores))
        rows.append(doubt_inputs(seen.found, matrix, scores, best))
        right.append(bool(seen.grades[best]))
    made = LogisticRegression.fit(np.stack(rows), np.array(right), DOUBTS)
    # it weighs right and wrong the same; how often choices are right is put back, so that 0.1 is one in ten
    often = float(np.mean(right))
    return replace(made, constant=made.constant + math.log(often / (1 - often)))


def train(
    lessons: ArgumentTrainingData, about: Mapping[str, Any], *, progress: Progress | None = None
) -> ArgumentScorer:
    """The scorer that ships, from all examples."""
    learnt = by_fold(lessons, progress=progress)
    return ArgumentScorer(fit(lessons), lessons.known(), doubts(lessons, learnt), about)
