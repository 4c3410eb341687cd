"""An evaluation as JUnit XML for CI: one test case per query and per threshold."""

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from xml.etree import ElementTree as Xml

from contextune.evaluate.evaluation import SEARCH_DEPTH, EvaluatedQuery, Evaluation
from contextune.evaluate.thresholds import ABSTENTION, ThresholdResult

_NAME = "contextune.eval.tools"
_MAX_HITS = 5


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
    element = _case(f"{query.id}: {query.text}", "queries", case.seconds)
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
    element = _case(f"{result.threshold.metric} >= {result.threshold.minimum:g}", "bars", 0.0)
    if not result.passed:
        _outcome(element, "failure", str(result), "bar", [])
    return element


def _case(name: str, group: str, seconds: float) -> Xml.Element:
    attributes = {"name": printable(name), "classname": f"{_NAME}.{group}", "time": f"{seconds:.6f}"}
    return Xml.Element("testcase", attributes)


def _outcome(element: Xml.Element, tag: str, message: str, kind: str, lines: Sequence[str]) -> None:
    outcome = Xml.SubElement(element, tag, message=printable(message), type=kind)
    if lines:
        outcome.text = "\n".join(map(printable, lines))


def _rank(rank: int | None) -> str:
    return f"rank {rank}" if rank else f"not among the first {SEARCH_DEPTH}"
