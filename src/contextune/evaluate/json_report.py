"""An evaluation as JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from contextune.evaluate.confusable import ConfusableTools
from contextune.evaluate.evaluation import EvaluatedQuery, Evaluation
from contextune.evaluate.misses import Miss, RankedTool
from contextune.evaluate.results import ALL, LEVEL
from contextune.evaluate.stats import Interval
from contextune.evaluate.thresholds import ABSTENTION, ThresholdResult


def evaluation_to_json(
    config: Mapping[str, Any],
    evaluation: Evaluation | None,
    *,
    results: Sequence[ThresholdResult] = (),
    misses: Sequence[Miss] = (),
    confusables: Sequence[ConfusableTools] | None = None,
) -> bytes:
    """The whole evaluation as UTF-8 JSON; `config` says what was evaluated and how."""
    values: dict[str, Any] = {"config": dict(config)}
    if evaluation:
        values |= _metrics(evaluation)
        values["bars"] = [
            {
                "metric": result.threshold.metric,
                "least": result.threshold.minimum,
                "holds": result.passed,
            }
            for result in results
        ]
        values["misses"] = [
            {
                "id": miss.case.query.id,
                "wanted": [_ranked_tool(ranked) for ranked in miss.missed],
                "instead": [_ranked_tool(ranked) for ranked in miss.instead],
            }
            for miss in misses
        ]
    if confusables is not None:
        values["confusable"] = [_confusable(group) for group in confusables]
    # lone surrogates, which JSON input may contain, are written as escapes
    text = json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _metrics(evaluation: Evaluation) -> dict[str, Any]:
    table = evaluation.table
    metrics: dict[str, Any] = {
        kind: {
            "n": table.cell(evaluation.method, table.metrics[0].name, kind).n,
            **{
                m.name: _interval(table.cell(evaluation.method, m.name, kind).interval) for m in table.metrics
            },
        }
        for kind in (ALL, *table.kinds)
    }
    abstention = evaluation.abstention
    return {
        "level": LEVEL,
        "milliseconds": round(evaluation.milliseconds, 3),
        "metrics": metrics.pop(ALL),
        "servers": metrics,
        ABSTENTION: {
            "rightly": _interval(abstention.correct),
            "wrongly": _interval(abstention.incorrect),
            "threshold": evaluation.cases[0].min_fit,
        }
        if abstention
        else None,
        "min_fit": [
            {
                "value": threshold.min_fit,
                "allowed": threshold.allowed,
                "wrongly": _interval(threshold.false_refusals),
                "rightly": _interval(threshold.refusals) if threshold.refusals else None,
            }
            for threshold in evaluation.thresholds
        ],
        "skipped": evaluation.skipped,
        "queries": [_case(case) for case in evaluation.cases],
    }


def _case(case: EvaluatedQuery) -> dict[str, Any]:
    return {
        "id": case.query.id,
        "query": case.query.text,
        "relevant": list(case.query.relevant),
        "right": case.correct,
        "ranks": case.ranks,
        "fits": case.fits,
        "milliseconds": round(case.seconds * 1000, 3),
        "found": [{"tool": hit.tool.id, "score": hit.score} for hit in case.hits],
    }


def _ranked_tool(ranked: RankedTool) -> dict[str, Any]:
    return {
        "tool": ranked.tool,
        "rank": ranked.rank,
        "score": ranked.score,
        "why": list(ranked.reasons),
    }


def _confusable(group: ConfusableTools) -> dict[str, Any]:
    return {
        "kind": group.kind,
        "tools": [tool.id for tool in group.tools],
        "likeness": round(group.similarity, 4),
        "overlap": round(group.overlap, 4),
        "own": {tool.id: list(words) for tool, words in zip(group.tools, group.unique_words, strict=True)},
        "queries": list(group.queries),
        "advice": group.advice,
    }


def _interval(interval: Interval) -> dict[str, float | None]:
    has_bounds = not math.isnan(interval.low)
    return {
        "mean": interval.mean,
        "low": interval.low if has_bounds else None,
        "high": interval.high if has_bounds else None,
    }
