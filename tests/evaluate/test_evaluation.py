"""A catalogue and queries of one's own: read, searched, measured, reported."""

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
from contextune.evaluate.evaluation import NOWHERE, SEVERAL, CatalogEvaluator, EvaluatedQuery, Evaluation
from contextune.evaluate.json_report import to_json
from contextune.evaluate.junit import printable, to_junit
from contextune.evaluate.misses import misses
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
def trial(word_embedder: Embedder) -> CatalogEvaluator:
    return CatalogEvaluator(TOOLS, method="bm25", embedder=word_embedder)


@pytest.fixture
def evaluation(trial: CatalogEvaluator) -> Evaluation:
    return trial.run(QUERIES, k=2, bars=[Threshold("map", 0.1), Threshold("recall@300", 0.1)])


def read(tmp_path: Path, *lines: str) -> list[LabelledQuery]:
    file = tmp_path / "q.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    return read_queries(file, TOOLS)


def test_queries_are_read_in_every_spelling(tmp_path: Path) -> None:
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
FAULTS = {
    '{"query": "a", "tool": "rost"}': "there is no tool 'rost' in the catalogue; did you mean 'all/roast'?",
    '{"query": "a", "tools": ["quite another", "search"]}': "no tool 'quite another' in the catalogue; more "
    "than one tool is called 'search': say which of 'post/search', 'all/search'",
    '{"query": "a"': "is no JSON",
    "[" * 100_000: "is no JSON",
    '["a"]': "is no object",
    '{"query": " ", "relevant": []}': '"query" must be',
    '{"query": "a"}': "names no tool",
    '{"query": "a", "relevant": null}': '"relevant" must be a list',
    '{"query": "a", "tool": ["roast", 3]}': '"tool" must be a list',
    ROAST + ', "tools": []}': "names its tools twice, as 'tools' and 'tool'",
    ROAST + ', "id": true}': '"id" must be text',
    ROAST + ', "id": "x"}\n' + ROAST + ', "id": "x"}': "line 13: another query has the id 'x' too",
}


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError) as error:
        read(tmp_path, *FAULTS)
    text = str(error.value)
    assert f"q.jsonl: {len(FAULTS)} lines cannot be used:" in text
    for number, part in enumerate(FAULTS.values(), 1):
        assert part in text
        assert f"line {min(number, 11)}: " in text


def test_many_faults_are_counted_and_a_good_line_among_them_is_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="and 50 more") as error:
        read(tmp_path, '{"query": "a", "tool": "roast"}', *['{"query": "a", "tool": "no"}'] * 150)
    assert "line 1:" not in str(error.value)


def test_files_of_no_use(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"gone\.jsonl: cannot be read: No such file"):
        read_queries(tmp_path / "gone.jsonl", TOOLS)
    with pytest.raises(InvalidDataError, match="holds no query"):
        read(tmp_path, "", " ")
    (tmp_path / "q.jsonl").write_bytes(b"\xff\xfe{}")
    with pytest.raises(InvalidDataError, match="is not UTF-8"):
        read_queries(tmp_path / "q.jsonl", TOOLS)


def test_metrics_are_those_of_the_rankings(evaluation: Evaluation) -> None:
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
    assert evaluation.table.kinds == ("post", SEVERAL, "all (server)", NOWHERE)
    assert evaluation.table.cell("bm25", "recall@2", "all (server)").interval.mean == 0
    assert evaluation.milliseconds > 0


def test_the_top_k_is_what_a_caller_gets(trial: CatalogEvaluator, evaluation: Evaluation) -> None:
    for case in evaluation.cases:
        assert case.found == trial.retriever.find(case.query.text, 2).hits
        assert bool(case.beyond) == bool(case.missed)
        assert len(set(case.ranking)) == len(case.ranking)


def test_wordings_of_one_wish_are_one_draw(trial: CatalogEvaluator) -> None:
    again = [replace(QUERIES[0], id=f"q{number}") for number in range(9)]
    assert math.isnan(trial.run(again).interval("recall@10").low)


def test_a_tool_is_embedded_once(word_embedder: Embedder) -> None:
    asked: list[str] = []

    class Counting:
        name = "counting"

        def embed(self, texts: Sequence[str]) -> Matrix:
            asked.extend(texts)
            return word_embedder.embed(texts)

    told: list[tuple[int, int]] = []
    trial = CatalogEvaluator(TOOLS, embedder=Counting(), progress=lambda done, of: told.append((done, of)))
    assert len(asked) == len(set(asked)) == len(TOOLS)
    assert told == [(len(TOOLS), len(TOOLS))]
    misses(trial, trial.run(QUERIES, k=1))
    assert len(asked) == len(set(asked))  # nor is a query, though each of several parts needs its vector


def test_misses_say_what_stood_above_and_why(trial: CatalogEvaluator, evaluation: Evaluation) -> None:
    (miss,) = misses(trial, evaluation)
    assert miss.case.query.id == "q3"
    assert [seen.tool for seen in miss.wanted] == ["all/boil"]
    assert miss.wanted[0].why[0] == "no word in common"
    assert miss.above[0].tool == "all/roast"
    assert miss.above[0].rank == 1
    assert miss.above[0].why[0].startswith("words: ")
    assert {"potatoes", "onions", "and"} == set(miss.above[0].why[0].removeprefix("words: ").split(", "))
    assert miss.above[0].why[1].startswith("likeness 0.")
    assert misses(trial, evaluation, 0) == []


def test_the_furthest_misses_come_first(trial: CatalogEvaluator) -> None:
    queries = [
        *QUERIES,
        LabelledQuery("q5", "letter", ("lamp_on",)),
        LabelledQuery("q6", "a letter", ("post/send_mail",)),
    ]
    found = misses(trial, trial.run(queries, k=1))
    far = [max(case.ranks[tool] or 0 for tool in case.missed) for case in (miss.case for miss in found)]
    assert far == sorted(far, reverse=True)
    assert len(far) >= 3


@pytest.mark.parametrize(
    ("text", "name", "least"),
    [
        ("recall@5=0.9", "recall@5", 0.9),
        (" NDCG@10 = .5", "ndcg@10", 0.5),
        ("mrr=1", "mrr", 1),
        ("abstention=0.8", "abstention", 0.8),
    ],
)
def test_bars(text: str, name: str, least: float) -> None:
    assert Threshold.parse(text) == Threshold(name, least)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("recall@5", "is no bar"),
        ("recall@5=90", "share of 1"),
        ("recall@5=nan", "share of 1"),
        ("recall@5=-0.1", "share of 1"),
        ("precision@5=0.9", r"no metric 'precision@5'; there are: recall@K.*mrr.*abstention"),
        ("recall=0.9", "no metric 'recall'"),
        ("recall@0=0.9", "no metric 'recall@0'"),
    ],
)
def test_bars_that_are_none(text: str, reason: str) -> None:
    with pytest.raises(InvalidRequestError, match=reason):
        Threshold.parse(text)


def test_a_verdict_says_by_how_much() -> None:
    bar = Threshold("recall@5", 0.9)
    low = ThresholdResult(bar, Interval(0.8725, 0.8, 0.93))
    assert not low.holds
    assert str(low) == "recall@5 is 0.8725 (0.800 to 0.930), 0.027 below the bar of 0.9"
    assert ThresholdResult(
        bar, Interval(sum([0.3] * 3), math.nan, math.nan)
    ).holds  # which is 0.8999999999999999
    assert (
        str(ThresholdResult(bar, Interval(0.9, math.nan, math.nan)))
        == "recall@5 is 0.9000, at the bar of 0.9"
    )


class Unsure:
    """Finds one tool for anything, and says how probable it is that it fits."""

    def find(self, text: str, k: int = 10) -> ToolMatches:
        return ToolMatches((ToolHit(TOOLS[0], 1.0),)[:k], 0.2 if "pizza" in text else 0.9)


def test_saying_that_none_fits_is_measured(word_embedder: Embedder) -> None:
    trial = CatalogEvaluator(TOOLS, method="unsure", retriever=Unsure(), embedder=word_embedder)
    none = [
        LabelledQuery("n1", "pizza", ()),
        LabelledQuery("n2", "a taxi", ()),
        LabelledQuery("n3", "more pizza", ()),
    ]
    found = trial.run([*QUERIES, *none], bars=[Threshold("abstention", 0.5)])
    assert found.abstention is not None
    assert found.abstention.rightly.mean == pytest.approx(2 / 3)
    assert found.abstention.wrongly.mean == 0
    assert found.skipped == 0
    assert len(found.table.qrels) == len(QUERIES)
    assert [
        verdict.holds
        for verdict in found.verdicts([Threshold("abstention", 0.6), Threshold("abstention", 0.7)])
    ] == [True, False]
    wrong = cases(to_junit(found))["n2: a taxi"].find("failure")
    assert wrong is not None
    assert "0.90" in wrong.get("message", "")


def test_without_a_probability_such_queries_are_skipped(trial: CatalogEvaluator) -> None:
    found = trial.run([*QUERIES, LabelledQuery("n1", "pizza", ())])
    assert found.skipped == 1
    assert found.abstention is None
    with pytest.raises(InvalidRequestError, match="abstention was not measured"):
        found.verdicts([Threshold("abstention", 0.5)])
    assert cases(to_junit(found))["n1: pizza"].find("skipped") is not None


def test_what_cannot_be_measured(trial: CatalogEvaluator, word_embedder: Embedder) -> None:
    with pytest.raises(InvalidDataError, match="nothing to measure"):
        trial.run([LabelledQuery("n1", "pizza", ())])
    with pytest.raises(InvalidRequestError, match="not 0"):
        trial.run(QUERIES, k=0)
    with pytest.raises(InvalidDataError, match="no tool"):
        CatalogEvaluator(Catalog(), embedder=word_embedder)
    with pytest.raises(InvalidRequestError, match="no method 'magic'"):
        CatalogEvaluator(TOOLS, method="magic", embedder=word_embedder)


def test_the_json_holds_everything(trial: CatalogEvaluator, evaluation: Evaluation) -> None:
    odd = replace(
        evaluation.cases[0], query=LabelledQuery("q\ud800", "half \udc00 \x1b é", ("post/send_mail",))
    )
    changed = replace(evaluation, cases=(odd, *evaluation.cases[1:]))
    verdicts = evaluation.verdicts([Threshold("map", 0.99)])
    content = to_json({"k": 2}, changed, verdicts=verdicts, misses=misses(trial, changed), confusables=[])
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


def test_the_junit_has_a_case_a_query_and_a_bar(evaluation: Evaluation) -> None:
    verdicts = evaluation.verdicts([Threshold("mrr", 0.1), Threshold("map", 0.99)])
    xml = to_junit(evaluation, verdicts, about={"method": "hybrid"})
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


def test_the_junit_keeps_to_the_schemas(evaluation: Evaluation) -> None:
    """What Ant's and Jenkins's schemas ask for: these attributes, and these elements in this order."""
    root = Xml.fromstring(to_junit(evaluation, evaluation.verdicts([Threshold("mrr", 0.1)])))
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


def test_what_xml_and_terminals_do_not_take_is_replaced(evaluation: Evaluation) -> None:
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
    found = cases(to_junit(replace(evaluation, cases=(odd,)), about={"odd": nasty}))
    assert list(found) == [f"{printable(nasty)}: {printable(nasty)}"]
    assert printable(nasty) == 'a�b�[31m�� <&"]]>� é 🚀'
