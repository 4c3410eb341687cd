"""An evaluation as JSON, and as JUnit XML for CI: one test case per query and per threshold."""

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree as Xml

from contextune.evaluate.confusable import ConfusableTools
from contextune.evaluate.evaluation import SEARCH_DEPTH, EvaluatedQuery, Evaluation
from contextune.evaluate.misses import Miss, RankedTool
from contextune.evaluate.results import ALL, LEVEL
from contextune.evaluate.stats import Interval
from contextune.evaluate.thresholds import ABSTENTION, ThresholdResult

_NAME = "contextune.eval.tools"
_MAX_HITS = 5


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


def to_junit(
    evaluation: Evaluation,
    results: Sequence[ThresholdResult] = (),
    *,
    properties: Mapping[str, str] | None = None,
) -> bytes:
    """XML that is valid for Ant's and Jenkins's schemas."""
    now = datetime.now(UTC)
    root = Xml.Element("testsuites")
    queries = [_query(case, evaluation.k) for case in evaluation.cases]
    _add_suite(root, "queries", queries, properties or {}, now)
    if results:
        _add_suite(root, "bars", [_threshold(result) for result in results], {}, now)
    Xml.indent(root)
    return Xml.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def printable(text: str) -> str:
    """Text on one line, without characters that XML forbids or terminals interpret."""
    return "".join(" " if character in "\t\n\r" else _printable(character) for character in text)


def _printable(character: str) -> str:
    forbidden = unicodedata.category(character) in ("Cc", "Cs") or character in "\ufffe\uffff"
    return "\N{REPLACEMENT CHARACTER}" if forbidden else character


def _add_suite(
    root: Xml.Element, name: str, cases: Sequence[Xml.Element], properties: Mapping[str, str], now: datetime
) -> None:
    suite = Xml.SubElement(
        root,
        "testsuite",
        {
            "name": name,
            "package": _NAME,
            "id": str(len(root)),
            "timestamp": now.strftime("%Y-%m-%dT%H:%M:%S"),  # Ant's schema allows no time zone
            "hostname": "localhost",  # the schema's value for an unnamed host
            "tests": str(len(cases)),
            "failures": str(sum(case.find("failure") is not None for case in cases)),
            "errors": "0",
            "skipped": str(sum(case.find("skipped") is not None for case in cases)),
            "time": f"{sum(float(case.get('time', 0)) for case in cases):.3f}",
        },
    )
    element = Xml.SubElement(suite, "properties")
    for key, value in properties.items():
        Xml.SubElement(element, "property", name=key, value=printable(value))
    suite.extend(cases)
    Xml.SubElement(suite, "system-out")
    Xml.SubElement(suite, "system-err")


def _query(case: EvaluatedQuery, k: int) -> Xml.Element:
    query = case.query
    element = _test_case(f"{query.id}: {query.text}", "queries", case.seconds)
    hits = [f"{rank}. {hit.tool.id} ({hit.score:.3f})" for rank, hit in enumerate(case.hits, 1)]
    if case.missed:
        ranks = case.ranks
        missed = [f"{tool} ({_rank(ranks[tool])})" for tool in case.missed]
        message = f"not in the top {k}: {', '.join(missed)}"
        _outcome(element, "failure", message, "miss", hits[:_MAX_HITS])
    elif case.correct is None:
        _outcome(element, "skipped", "no tool fits, and this method cannot abstain", "skipped", [])
    elif not case.correct:
        message = f"no tool fits, but the retriever did not abstain (fits: {case.fits:.2f})"
        _outcome(element, "failure", message, ABSTENTION, hits[:_MAX_HITS])
    return element


def _threshold(result: ThresholdResult) -> Xml.Element:
    element = _test_case(f"{result.threshold.metric} >= {result.threshold.minimum:g}", "bars", 0.0)
    if not result.passed:
        _outcome(element, "failure", str(result), "bar", [])
    return element


def _test_case(name: str, group: str, seconds: float) -> Xml.Element:
    attributes = {"name": printable(name), "classname": f"{_NAME}.{group}", "time": f"{seconds:.6f}"}
    return Xml.Element("testcase", attributes)


def _outcome(element: Xml.Element, tag: str, message: str, kind: str, lines: Sequence[str]) -> None:
    outcome = Xml.SubElement(element, tag, message=printable(message), type=kind)
    if lines:
        outcome.text = "\n".join(map(printable, lines))


def _rank(rank: int | None) -> str:
    return f"rank {rank}" if rank else f"not among the first {SEARCH_DEPTH}"
