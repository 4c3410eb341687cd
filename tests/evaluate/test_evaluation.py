"""Evaluation of a user's own catalogue and queries: reading, metrics, misses, reports."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from contextune.embed import Embedder, Matrix
from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.evaluate.evaluation import (
    MULTIPLE_SERVERS,
    NO_SERVER,
    CatalogEvaluator,
    EvaluatedQuery,
    Evaluation,
)
from contextune.evaluate.export import evaluation_to_json, printable, to_junit
from contextune.evaluate.misses import find_misses
from contextune.evaluate.queries import LabelledQuery, read_queries
from contextune.evaluate.stats import Interval
from contextune.evaluate.thresholds import Threshold, ThresholdResult
from contextune.tools import Catalog, ToolMatches
from contextune.types import Tool, ToolHit

TOOLS = Catalog(
    [
        Tool("send_mail", "Sends a letter to somebody", app="post"),
        Tool("read_mail", "Opens a letter and reads it out", app="post"),
        Tool("roast", "Roasts potatoes and onions in the oven", app="all"),
        Tool("boil", "Boils eggs in water", app="all"),
        Tool("lamp_on", "Turns the lamp on"),
        Tool("search", "Searches the post", app="post"),
        Tool("search", "Searches recipes", app="all"),
    ]
)
QUERIES = [
    LabelledQuery("q1", "sends a letter to Anna", ("post/send_mail",)),
    LabelledQuery("q2", "reads out a letter, then turns on a lamp", ("post/read_mail", "lamp_on")),
    LabelledQuery("q3", "potatoes and onions", ("all/boil",)),
    LabelledQuery("q4", "lamp on", ("lamp_on",)),
]


@pytest.fixture
def evaluator(word_embedder: Embedder) -> CatalogEvaluator:
    return CatalogEvaluator(TOOLS, method="semantic", embedder=word_embedder)


@pytest.fixture
def evaluation(evaluator: CatalogEvaluator) -> Evaluation:
    return evaluator.run(QUERIES, k=2, thresholds=[Threshold("map", 0.1), Threshold("recall@300", 0.1)])


def read(tmp_path: Path, *lines: str) -> list[LabelledQuery]:
    file = tmp_path / "q.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    return read_queries(file, TOOLS)


def test_read_queries_accepts_every_key_for_the_tools(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        '\ufeff{"query": "a", "relevant": ["send_mail", "post/send_mail", "lamp_on"]}',
        "",
        '{"query": "b\u2028", "tools": ["all/search"], "note": 1}\r',
        '{"query": "c", "tool": "roast", "id": 7}',
        '{"query": "d", "expected": []}',
    )
    assert found == [
        LabelledQuery("line 1", "a", ("post/send_mail", "lamp_on")),
        LabelledQuery("line 3", "b\u2028", ("all/search",)),
        LabelledQuery("7", "c", ("all/roast",)),
        LabelledQuery("line 5", "d", ()),
    ]


ROAST = '{"query": "a", "tool": "roast"'
INVALID_LINES = {
    '{"query": "a", "tool": "rost"}': "there is no tool 'rost' in the catalogue; did you mean 'all/roast'?",
    '{"query": "a", "tools": ["quite another", "search"]}': "no tool 'quite another' in the catalogue; more "
    "than one tool is named 'search': use an id, such as 'post/search', 'all/search'",
    '{"query": "a"': "is not valid JSON",
    "[" * 100_000: "is not valid JSON",
    '["a"]': "is not a JSON object",
    '{"query": " ", "relevant": []}': '"query" must be',
    '{"query": "a"}': 'has no "relevant"',
    '{"query": "a", "relevant": null}': '"relevant" must be a list',
    '{"query": "a", "tool": ["roast", 3]}': '"tool" must be a list',
    ROAST + ', "tools": []}': "has both 'tools' and 'tool'",
    ROAST + ', "id": true}': '"id" must be a string',
    ROAST + ', "id": "x"}\n' + ROAST + ', "id": "x"}': "line 13: the id 'x' is used by another query",
}


def test_error_lists_every_invalid_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError) as error:
        read(tmp_path, *INVALID_LINES)
    text = str(error.value)
    assert f"q.jsonl: {len(INVALID_LINES)} invalid lines:" in text
    for number, part in enumerate(INVALID_LINES.values(), 1):
        assert part in text
        assert f"line {min(number, 11)}: " in text


def test_error_counts_invalid_lines_beyond_the_limit(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="and 50 more") as error:
        read(tmp_path, '{"query": "a", "tool": "roast"}', *['{"query": "a", "tool": "no"}'] * 150)
    assert "line 1:" not in str(error.value)


def test_unreadable_query_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"gone\.jsonl: cannot be read: No such file"):
        read_queries(tmp_path / "gone.jsonl", TOOLS)
    with pytest.raises(InvalidDataError, match="contains no query"):
        read(tmp_path, "", " ")
    (tmp_path / "q.jsonl").write_bytes(b"\xff\xfe{}")
    with pytest.raises(InvalidDataError, match="is not UTF-8"):
        read_queries(tmp_path / "q.jsonl", TOOLS)


def test_metrics_match_the_rankings(evaluation: Evaluation) -> None:
    by_id = {case.query.id: case for case in evaluation.cases}
    assert by_id["q1"].ranks == {"post/send_mail": 1}
    assert set(by_id["q2"].ranks.values()) == {1, 2}
    rank = by_id["q3"].ranks["all/boil"]
    assert rank is not None
    assert rank > 2
    assert evaluation.interval("recall@2").mean == pytest.approx(3 / 4)
    assert evaluation.interval("comp@2").mean == pytest.approx(3 / 4)
    assert evaluation.interval("mrr").mean == pytest.approx((3 + 1 / rank) / 4)
    assert evaluation.interval("recall@300").mean == 1
    assert evaluation.table.kinds == ("post", MULTIPLE_SERVERS, "all (server)", NO_SERVER)
    assert evaluation.table.cell("semantic", "recall@2", "all (server)").interval.mean == 0
    assert evaluation.milliseconds > 0


def test_hits_are_those_of_the_retriever(evaluator: CatalogEvaluator, evaluation: Evaluation) -> None:
    for case in evaluation.cases:
        assert case.hits == evaluator.retriever.find(case.query.text, 2).hits
        assert bool(case.further_hits) == bool(case.missed)
        assert len(set(case.ranking)) == len(case.ranking)


def test_queries_for_the_same_tool_are_one_group(evaluator: CatalogEvaluator) -> None:
    again = [replace(QUERIES[0], id=f"q{number}") for number in range(9)]
    assert math.isnan(evaluator.run(again).interval("recall@10").low)


def test_tools_and_queries_are_embedded_once(word_embedder: Embedder) -> None:
    embedded: list[str] = []

    class Counting:
        name = "counting"

        def embed(self, texts: Sequence[str]) -> Matrix:
            embedded.extend(texts)
            return word_embedder.embed(texts)

    progress: list[tuple[int, int]] = []
    evaluator = CatalogEvaluator(
        TOOLS, embedder=Counting(), progress=lambda done, of: progress.append((done, of))
    )
    assert len(embedded) == len(set(embedded)) == len(TOOLS)
    assert progress == [(len(TOOLS), len(TOOLS))]
    find_misses(evaluator, evaluator.run(QUERIES, k=1))
    assert len(embedded) == len(set(embedded))  # several parts need a query's vector


def test_miss_explains_the_tools_ranked_above(evaluator: CatalogEvaluator, evaluation: Evaluation) -> None:
    (miss,) = find_misses(evaluator, evaluation)
    assert miss.case.query.id == "q3"
    assert [ranked.tool for ranked in miss.missed] == ["all/boil"]
    assert miss.missed[0].reasons[0] == "no shared word"
    assert miss.instead[0].tool == "all/roast"
    assert miss.instead[0].rank == 1
    assert miss.instead[0].reasons[0].startswith("words: ")
    assert {"potatoes", "onions", "and"} == set(
        miss.instead[0].reasons[0].removeprefix("words: ").split(", ")
    )
    assert miss.instead[0].reasons[1].startswith("similarity 0.")
    assert find_misses(evaluator, evaluation, 0) == []


def test_misses_are_sorted_by_rank_lowest_first(evaluator: CatalogEvaluator) -> None:
    queries = [
        *QUERIES,
        LabelledQuery("q5", "letter", ("lamp_on",)),
        LabelledQuery("q6", "a letter", ("post/send_mail",)),
    ]
    misses = find_misses(evaluator, evaluator.run(queries, k=1))
    ranks = [max(miss.case.ranks[tool] or 0 for tool in miss.case.missed) for miss in misses]
    assert ranks == sorted(ranks, reverse=True)
    assert len(ranks) >= 3


@pytest.mark.parametrize(
    ("text", "name", "minimum"),
    [
        ("recall@5=0.9", "recall@5", 0.9),
        (" NDCG@10 = .5", "ndcg@10", 0.5),
        ("mrr=1", "mrr", 1),
        ("abstention=0.8", "abstention", 0.8),
    ],
)
def test_parse_threshold(text: str, name: str, minimum: float) -> None:
    assert Threshold.parse(text) == Threshold(name, minimum)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("recall@5", "invalid threshold 'recall@5'"),
        ("recall@5=90", "a minimum from 0 to 1"),
        ("recall@5=nan", "a minimum from 0 to 1"),
        ("recall@5=-0.1", "a minimum from 0 to 1"),
        ("precision@5=0.9", r"unknown metric 'precision@5' in .*: use one of recall@K.*mrr.*abstention"),
        ("recall=0.9", "unknown metric 'recall'"),
        ("recall@0=0.9", "unknown metric 'recall@0'"),
    ],
)
def test_invalid_thresholds_are_errors(text: str, reason: str) -> None:
    with pytest.raises(InvalidRequestError, match=reason):
        Threshold.parse(text)


def test_threshold_result_says_the_distance() -> None:
    threshold = Threshold("recall@5", 0.9)
    low = ThresholdResult(threshold, Interval(0.8725, 0.8, 0.93))
    assert not low.passed
    assert str(low) == "recall@5 is 0.8725 (0.800 to 0.930), 0.027 below the threshold of 0.9"
    rounded = ThresholdResult(threshold, Interval(sum([0.3] * 3), math.nan, math.nan))
    assert rounded.passed  # its mean is 0.8999999999999999
    exact = ThresholdResult(threshold, Interval(0.9, math.nan, math.nan))
    assert str(exact) == "recall@5 is 0.9000, at the threshold of 0.9"


class AbstainsOnPizza:
    """Finds one tool for anything; `fits` is low for requests for pizza."""

    def find(self, text: str, k: int = 10) -> ToolMatches:
        return ToolMatches((ToolHit(TOOLS[0], 1.0),)[:k], 0.2 if "pizza" in text else 0.9)


def test_abstention_is_measured(word_embedder: Embedder) -> None:
    evaluator = CatalogEvaluator(TOOLS, method="unsure", retriever=AbstainsOnPizza(), embedder=word_embedder)
    unserved = [
        LabelledQuery("n1", "pizza", ()),
        LabelledQuery("n2", "a taxi", ()),
        LabelledQuery("n3", "more pizza", ()),
    ]
    evaluation = evaluator.run([*QUERIES, *unserved], thresholds=[Threshold("abstention", 0.5)])
    assert evaluation.abstention is not None
    assert evaluation.abstention.correct.mean == pytest.approx(2 / 3)
    assert evaluation.abstention.incorrect.mean == 0
    assert evaluation.skipped == 0
    assert len(evaluation.table.qrels) == len(QUERIES)
    assert [
        result.passed
        for result in evaluation.check([Threshold("abstention", 0.6), Threshold("abstention", 0.7)])
    ] == [True, False]
    failure = cases(to_junit(evaluation))["n2: a taxi"].find("failure")
    assert failure is not None
    assert "0.90" in failure.get("message", "")


def test_false_refusals_fail_the_gate(word_embedder: Embedder) -> None:
    evaluator = CatalogEvaluator(TOOLS, method="unsure", retriever=AbstainsOnPizza(), embedder=word_embedder)
    refused = LabelledQuery("p", "bake a pizza", QUERIES[0].relevant)
    evaluation = evaluator.run([*QUERIES, refused])
    share = len(QUERIES) / (len(QUERIES) + 1)
    high, low = evaluation.check([Threshold("acceptance", share + 0.01), Threshold("acceptance", share)])
    assert (high.passed, low.passed) == (False, True)
    assert evaluation.thresholds[0].min_fit == 0.2
    assert evaluation.thresholds[0].false_refusals.mean == 0
    report: dict[str, Any] = json.loads(evaluation_to_json({}, evaluation))
    assert [entry["allowed"] for entry in report["min_fit"]] == [0.05, 0.1]


def test_acceptance_needs_a_method_that_can_refuse(evaluator: CatalogEvaluator) -> None:
    with pytest.raises(InvalidRequestError, match="acceptance was not measured"):
        evaluator.run(QUERIES).check([Threshold("acceptance", 0.5)])


def test_unserved_queries_are_skipped_if_the_method_cannot_abstain(evaluator: CatalogEvaluator) -> None:
    evaluation = evaluator.run([*QUERIES, LabelledQuery("n1", "pizza", ())])
    assert evaluation.skipped == 1
    assert evaluation.abstention is None
    with pytest.raises(InvalidRequestError, match="abstention was not measured"):
        evaluation.check([Threshold("abstention", 0.5)])
    assert cases(to_junit(evaluation))["n1: pizza"].find("skipped") is not None


def test_nothing_to_measure_is_an_error(evaluator: CatalogEvaluator, word_embedder: Embedder) -> None:
    with pytest.raises(InvalidDataError, match="nothing to measure"):
        evaluator.run([LabelledQuery("n1", "pizza", ())])
    with pytest.raises(InvalidRequestError, match="not 0"):
        evaluator.run(QUERIES, k=0)
    with pytest.raises(InvalidDataError, match="the catalogue is empty"):
        CatalogEvaluator(Catalog(), embedder=word_embedder)
    with pytest.raises(InvalidRequestError, match="unknown method 'magic'"):
        CatalogEvaluator(TOOLS, method="magic", embedder=word_embedder)


def test_json_report_has_everything(evaluator: CatalogEvaluator, evaluation: Evaluation) -> None:
    odd = replace(
        evaluation.cases[0], query=LabelledQuery("q\ud800", "half \udc00 \x1b é", ("post/send_mail",))
    )
    changed = replace(evaluation, cases=(odd, *evaluation.cases[1:]))
    results = evaluation.check([Threshold("map", 0.99)])
    content = evaluation_to_json(
        {"k": 2}, changed, results=results, misses=find_misses(evaluator, changed), confusables=[]
    )
    values: dict[str, Any] = json.loads(content.decode("utf-8"))
    assert "é".encode() in content
    assert values["config"] == {"k": 2}
    assert values["metrics"]["n"] == 4
    assert values["metrics"]["recall@2"]["mean"] == 0.75
    assert values["metrics"]["recall@2"]["low"] < 0.75 < values["metrics"]["recall@2"]["high"]
    assert values["servers"]["all (server)"]["recall@2"] == {"mean": 0.0, "low": None, "high": None}
    assert values["bars"] == [{"metric": "map", "least": 0.99, "holds": False}]
    assert values["queries"][0]["query"] == "half \udc00 \x1b é"
    assert values["queries"][0]["found"][0]["tool"] == "post/send_mail"
    assert [query["right"] for query in values["queries"]] == [True, True, False, True]
    assert values["misses"][0]["instead"][0]["tool"] == "all/roast"
    assert values["confusable"] == []


def cases(xml: bytes) -> dict[str, Xml.Element]:
    return {case.get("name", ""): case for case in Xml.fromstring(xml).iter("testcase")}


def test_junit_has_a_case_per_query_and_threshold(evaluation: Evaluation) -> None:
    results = evaluation.check([Threshold("mrr", 0.1), Threshold("map", 0.99)])
    xml = to_junit(evaluation, results, properties={"method": "hybrid"})
    found = cases(xml)
    assert [name for name, case in found.items() if case.find("failure") is not None] == [
        "q3: potatoes and onions",
        "map >= 0.99",
    ]
    assert len(found) == len(QUERIES) + 2
    miss = found["q3: potatoes and onions"].find("failure")
    assert miss is not None
    assert miss.get("message", "").startswith("not in the top 2: all/boil (rank ")
    assert (miss.text or "").startswith("1. all/roast (")
    suites = Xml.fromstring(xml).findall("testsuite")
    assert [(suite.get("tests"), suite.get("failures"), suite.get("skipped")) for suite in suites] == [
        ("4", "1", "0"),
        ("2", "1", "0"),
    ]


def test_junit_is_valid_for_ant_and_jenkins(evaluation: Evaluation) -> None:
    """Their schemas require these attributes, and these elements in this order."""
    root = Xml.fromstring(to_junit(evaluation, evaluation.check([Threshold("mrr", 0.1)])))
    assert root.tag == "testsuites"
    assert not root.attrib
    for number, suite in enumerate(root):
        assert suite.get("id") == str(number)
        assert set(suite.attrib) == {
            *("name", "package", "id", "timestamp", "hostname"),
            *("tests", "failures", "errors", "skipped", "time"),
        }
        tags = [child.tag for child in suite]
        assert tags == ["properties", *["testcase"] * (len(tags) - 3), "system-out", "system-err"]
        for case in suite.iter("testcase"):
            assert set(case.attrib) == {"name", "classname", "time"}
            assert [child.tag for child in case] in ([], ["failure"], ["skipped"])
            assert float(case.attrib["time"]) >= 0


def test_forbidden_characters_are_replaced_in_junit(evaluation: Evaluation) -> None:
    nasty = 'a\x00b\x1b[31m\ud800\ufffe\n<&"]]>\u0085 é 🚀'
    case = evaluation.cases[2]
    tool = Tool(f"{nasty}", "")
    odd = EvaluatedQuery(
        LabelledQuery(nasty, nasty, (tool.id,)),
        (ToolHit(TOOLS[0], 1.0),),
        (ToolHit(tool, 0.5),),
        None,
        case.seconds,
    )
    found = cases(to_junit(replace(evaluation, cases=(odd,)), properties={"odd": nasty}))
    assert list(found) == [f"{printable(nasty)}: {printable(nasty)}"]
    assert printable(nasty) == 'a�b�[31m�� <&"]]>� é 🚀'
