"""An evaluation as JUnit XML, which CI services show: a test case a query, and one a bar."""

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from xml.etree import ElementTree as Xml

from contextune.evaluate.evaluation import DEEP, EvaluatedQuery, Evaluation
from contextune.evaluate.thresholds import ABSTENTION, ThresholdResult

_NAME = "contextune.eval.tools"
_SHOWN = 5


def to_junit(
    evaluation: Evaluation,
    verdicts: Sequence[ThresholdResult] = (),
    *,
    about: Mapping[str, str] | None = None,
) -> bytes:
    """XML as both Ant's schema and Jenkins's have it; `about` becomes its properties."""
    now = datetime.now(UTC)
    root = Xml.Element("testsuites")
    queries = [_query(case, evaluation.k) for case in evaluation.cases]
    _suite(root, "queries", queries, about or {}, now)
    if verdicts:
        _suite(root, "bars", [_bar(verdict) for verdict in verdicts], {}, now)
    Xml.indent(root)
    return Xml.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def printable(text: str) -> str:
    """Text on one line, without what XML refuses or a terminal obeys: control characters, half characters."""
    kept = (" " if character in "\t\n\r" else _kept(character) for character in text)
    return "".join(kept)


def _kept(character: str) -> str:
    forbidden = unicodedata.category(character) in ("Cc", "Cs") or character in "\ufffe\uffff"
    return "\N{REPLACEMENT CHARACTER}" if forbidden else character


def _suite(
    root: Xml.Element, name: str, cases: Sequence[Xml.Element], about: Mapping[str, str], now: datetime
) -> None:
    suite = Xml.SubElement(
        root,
        "testsuite",
        {
            "name": name,
            "package": _NAME,
            "id": str(len(root)),
            "timestamp": now.strftime("%Y-%m-%dT%H:%M:%S"),  # Ant's schema takes no zone
            "hostname": "localhost",  # what the schema has for a host that is not named
            "tests": str(len(cases)),
            "failures": str(sum(case.find("failure") is not None for case in cases)),
            "errors": "0",
            "skipped": str(sum(case.find("skipped") is not None for case in cases)),
            "time": f"{sum(float(case.get('time', 0)) for case in cases):.3f}",
        },
    )
    properties = Xml.SubElement(suite, "properties")
    for key, value in about.items():
        Xml.SubElement(properties, "property", name=key, value=printable(value))
    suite.extend(cases)
    Xml.SubElement(suite, "system-out")
    Xml.SubElement(suite, "system-err")


def _query(case: EvaluatedQuery, k: int) -> Xml.Element:
    query = case.query
    element = _case(f"{query.id}: {query.text}", "queries", case.seconds)
    found = [f"{rank}. {hit.tool.id} ({hit.score:.3f})" for rank, hit in enumerate(case.found, 1)]
    if case.missed:
        ranks = case.ranks
        where = [f"{tool} ({_rank(ranks[tool])})" for tool in case.missed]
        message = f"not in the top {k}: {', '.join(where)}"
        _outcome(element, "failure", message, "miss", found[:_SHOWN])
    elif case.right is None:
        _outcome(element, "skipped", "no tool fits, and this method does not say so", "skipped", [])
    elif not case.right:
        message = f"no tool fits, and the retriever thinks that one does ({case.fits:.2f})"
        _outcome(element, "failure", message, ABSTENTION, found[:_SHOWN])
    return element


def _bar(verdict: ThresholdResult) -> Xml.Element:
    element = _case(f"{verdict.bar.metric} >= {verdict.bar.least:g}", "bars", 0.0)
    if not verdict.holds:
        _outcome(element, "failure", str(verdict), "bar", [])
    return element


def _case(name: str, group: str, seconds: float) -> Xml.Element:
    about = {"name": printable(name), "classname": f"{_NAME}.{group}", "time": f"{seconds:.6f}"}
    return Xml.Element("testcase", about)


def _outcome(element: Xml.Element, kind: str, message: str, sort: str, lines: Sequence[str]) -> None:
    outcome = Xml.SubElement(element, kind, message=printable(message), type=sort)
    if lines:
        outcome.text = "\n".join(map(printable, lines))


def _rank(rank: int | None) -> str:
    return f"rank {rank}" if rank else f"beyond {DEEP}"
