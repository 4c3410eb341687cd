"""An evaluation of a catalogue as plain values, for JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from contextune.evaluate.confusable import Confusable
from contextune.evaluate.evaluation import EvaluatedQuery, Evaluation
from contextune.evaluate.misses import Miss, RankedTool
from contextune.evaluate.results import ALL, LEVEL
from contextune.evaluate.stats import Interval
from contextune.evaluate.thresholds import ABSTENTION, ThresholdResult


def to_json(
    about: Mapping[str, Any],
    evaluation: Evaluation | None,
    *,
    verdicts: Sequence[ThresholdResult] = (),
    misses: Sequence[Miss] = (),
    confusables: Sequence[Confusable] | None = None,
) -> bytes:
    """Everything that was measured, as UTF-8; `about` says on what and how."""
    values: dict[str, Any] = {"config": dict(about)}
    if evaluation:
        values |= _measured(evaluation)
        values["bars"] = [
            {"metric": seen.bar.metric, "least": seen.bar.least, "holds": seen.holds} for seen in verdicts
        ]
        values["misses"] = [
            {
                "id": miss.case.query.id,
                "wanted": [_seen(seen) for seen in miss.wanted],
                "instead": [_seen(seen) for seen in miss.above],
            }
            for miss in misses
        ]
    if confusables is not None:
        values["confusable"] = [_confusable(found) for found in confusables]
    # half a character, as JSON may hold it, is kept as JSON writes it
    text = json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _measured(evaluation: Evaluation) -> dict[str, Any]:
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
    silent = evaluation.abstention
    return {
        "level": LEVEL,
        "milliseconds": round(evaluation.milliseconds, 3),
        "metrics": metrics.pop(ALL),
        "servers": metrics,
        ABSTENTION: {"rightly": _interval(silent.rightly), "wrongly": _interval(silent.wrongly)}
        if silent
        else None,
        "skipped": evaluation.skipped,
        "queries": [_case(case) for case in evaluation.cases],
    }


def _case(case: EvaluatedQuery) -> dict[str, Any]:
    return {
        "id": case.query.id,
        "query": case.query.text,
        "relevant": list(case.query.relevant),
        "right": case.right,
        "ranks": case.ranks,
        "fits": case.fits,
        "milliseconds": round(case.seconds * 1000, 3),
        "found": [{"tool": hit.tool.id, "score": hit.score} for hit in case.found],
    }


def _seen(seen: RankedTool) -> dict[str, Any]:
    return {"tool": seen.tool, "rank": seen.rank, "score": seen.score, "why": list(seen.why)}


def _confusable(found: Confusable) -> dict[str, Any]:
    return {
        "kind": found.kind,
        "tools": [tool.id for tool in found.tools],
        "likeness": round(found.likeness, 4),
        "overlap": round(found.overlap, 4),
        "own": {tool.id: list(own) for tool, own in zip(found.tools, found.own, strict=True)},
        "queries": list(found.queries),
        "advice": found.advice,
    }


def _interval(interval: Interval) -> dict[str, float | None]:
    known = not math.isnan(interval.low)
    return {
        "mean": interval.mean,
        "low": interval.low if known else None,
        "high": interval.high if known else None,
    }
