"""Confusable tools: similar pairs, duplicates, pairs confused by queries, and the advice given."""

import json

import numpy as np
import pytest

from contextune.embed import Embedder, Matrix
from contextune.embed.protocol import normalize_rows
from contextune.evaluate.confusable import ConfusableTools, find_confusable, similar_pairs
from contextune.evaluate.evaluation import EvaluatedQuery
from contextune.evaluate.export import evaluation_to_json
from contextune.evaluate.queries import LabelledQuery
from contextune.tools import Catalog
from contextune.tools.tool_text import tool_text
from contextune.types import Tool, ToolHit

RENT = Tool("rent", "Tells all sorts of things about a house to rent in town", app="homes")
BUY = Tool("buy", "Tells all sorts of things about a house to buy in town", app="homes")
LAMP = Tool("lamp_on", "Turns the lamp in the hall on", app="light")
FIND = Tool("find_issue", "Finds an issue by its number", app="hub", parameters={"type": "object"})
MIRROR = Tool("find_issue", "Finds an issue by its number", app="mirror", parameters={"type": "object"})


def confusable(tools: list[Tool], embedder: Embedder, *cases: EvaluatedQuery) -> list[ConfusableTools]:
    catalog = Catalog(tools)
    return find_confusable(catalog, embedder.embed([tool_text(tool) for tool in catalog]), cases)


def ids(confused: ConfusableTools) -> list[str]:
    return [tool.id for tool in confused.tools]


def case(text: str, relevant: Tool, *ranking: Tool, name: str = "q") -> EvaluatedQuery:
    hits = tuple(ToolHit(tool, 1 / rank) for rank, tool in enumerate(ranking, 1))
    return EvaluatedQuery(LabelledQuery(name, text, (relevant.id,)), hits, (), None, 0.01)


def random_rows(count: int) -> Matrix:
    rows = np.random.default_rng(0).normal(size=(count, 8))
    return normalize_rows(rows, texts=count, source="the test")


@pytest.mark.parametrize("limit", [7, 10_000_000])
def test_blockwise_pairs_equal_those_of_the_full_product(limit: int) -> None:
    rows = random_rows(1100)  # more than two blocks
    product = rows @ rows.T
    whole = sorted(
        (
            (float(product[one, other]), one, other)
            for one, other in zip(*np.nonzero(np.triu(product >= 0.8, 1)), strict=True)
        ),
        reverse=True,
    )
    first, second, cosines = similar_pairs(rows, 0.8, limit)
    assert (first < second).all()
    assert len(cosines) == min(limit, len(whole)) > 5
    assert cosines.tolist() == pytest.approx([pair[0] for pair in whole[:limit]], abs=1e-5)
    assert {*zip(first.tolist(), second.tolist(), strict=True)} == {
        (int(one), int(other)) for _, one, other in whole[:limit]
    }


def test_close_tools_are_reported_with_their_unique_words(word_embedder: Embedder) -> None:
    (pair,) = confusable([RENT, LAMP, BUY], word_embedder)
    assert pair.kind == "close"
    assert ids(pair) == ["homes/rent", "homes/buy"]
    assert pair.unique_words == (("rent",), ("buy",))
    assert pair.similarity > 0.75
    assert 0.5 < pair.overlap < 1
    assert "Only homes/rent says “rent”; only homes/buy says “buy”" in pair.advice


def test_same_tool_on_two_servers_is_a_duplicate(word_embedder: Embedder) -> None:
    (duplicate,) = confusable([FIND, LAMP, MIRROR], word_embedder)
    assert duplicate.kind == "same"
    assert ids(duplicate) == ["hub/find_issue", "mirror/find_issue"]
    assert "The same tool on two servers" in duplicate.advice
    third = Tool("find_issue", FIND.description, app="other", parameters=FIND.parameters)
    (group,) = confusable([FIND, MIRROR, third], word_embedder)
    assert len(group.tools) == len(group.unique_words) == 3


@pytest.mark.parametrize(
    ("one", "other", "advice"),
    [
        (
            "Finds an open issue by its number",
            "Finds an issue by its number",
            "Only x/find_issue says “open”",
        ),
        ("Finds an issue by its number", "Finds issues by number", "Both say the same."),
        ("", "", "x/find_issue has no description"),
    ],
)
def test_advice_from_descriptions(one: str, other: str, advice: str, word_embedder: Embedder) -> None:
    few = Tool("find_issue", one, app="x", parameters={"properties": {"state": {}}})
    (pair,) = confusable([few, Tool("find_issue", other, app="y")], word_embedder)
    assert advice in pair.advice
    if "same" in advice:
        assert "parameters differ in “state”" in pair.advice


def test_pairs_confused_by_queries_come_first_most_often_first(word_embedder: Embedder) -> None:
    cases = [
        case("a rent for my house", RENT, LAMP, RENT, name="q1"),
        case("what is for rent", RENT, BUY, RENT, name="q2"),
        case("buy a house", BUY, RENT, BUY, name="q3"),
        case("rent in town", RENT, BUY, name="q4"),
        case("turn on the lamp", LAMP, LAMP, name="q5"),
    ]
    pairs = confusable([RENT, BUY, LAMP, FIND, MIRROR], word_embedder, *cases)
    assert [pair.kind for pair in pairs] == [
        "confused",
        "confused",
        "same",
    ]  # RENT and BUY are not listed again as close
    assert ids(pairs[0]) == ["homes/rent", "homes/buy"]
    assert pairs[0].queries == ("q2", "q3", "q4")
    assert ids(pairs[1]) == ["homes/rent", "light/lamp_on"]
    assert pairs[1].queries == ("q1",)


def test_advice_from_queries(word_embedder: Embedder) -> None:
    tools = [RENT, LAMP, Tool("search", "Looks for a ship", app="sea")]

    def advice(text: str, instead: Tool) -> str:
        (pair,) = confusable(tools, word_embedder, case(text, RENT, instead))
        return pair.advice

    assert "Requests say “hall”, which light/lamp_on has and homes/rent lacks" in advice(
        "a hall in town", LAMP
    )
    assert "share no word with homes/rent: describe it" in advice("flats to let", LAMP)
    assert "Requests contain “search”, the whole name of sea/search" in advice("search a house", tools[2])
    assert advice("a house in town", LAMP)


def test_one_family_of_tools_does_not_fill_the_list(word_embedder: Embedder) -> None:
    family = [Tool(f"gas_{name}", f"Gives the price of gas in {name}") for name in "abcdefghijklmnop"]
    pairs = confusable([*family, RENT, BUY], word_embedder)
    assert ["homes/rent", "homes/buy"] in map(ids, pairs)
    assert max(sum(tool in pair.tools for pair in pairs) for tool in family) == 2


def test_different_tools_are_not_reported(word_embedder: Embedder) -> None:
    assert confusable([RENT, LAMP, FIND], word_embedder) == []
    assert confusable([RENT], word_embedder) == []


def test_json_report_has_unique_words(word_embedder: Embedder) -> None:
    values = json.loads(evaluation_to_json({}, None, confusables=confusable([RENT, BUY], word_embedder)))
    assert values["confusable"][0]["own"] == {"homes/rent": ["rent"], "homes/buy": ["buy"]}
