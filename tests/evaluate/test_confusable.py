"""Tools that are hard to tell apart."""

import json

import numpy as np
import pytest

from contextune.embed import Embedder, Matrix
from contextune.embed.protocol import unit_rows
from contextune.evaluate.confusable import Confusable, close_pairs, confusable
from contextune.evaluate.evaluation import EvaluatedQuery
from contextune.evaluate.json_report import to_json
from contextune.evaluate.queries import LabelledQuery
from contextune.tools import Catalog
from contextune.tools.tool_text import tool_text
from contextune.types import Tool, ToolHit

RENT = Tool("rent", "Tells all sorts of things about a house to rent in town", app="homes")
BUY = Tool("buy", "Tells all sorts of things about a house to buy in town", app="homes")
LAMP = Tool("lamp_on", "Turns the lamp in the hall on", app="light")
FIND = Tool("find_issue", "Finds an issue by its number", app="hub", parameters={"type": "object"})
MIRROR = Tool("find_issue", "Finds an issue by its number", app="mirror", parameters={"type": "object"})


def found(tools: list[Tool], embedder: Embedder, *cases: EvaluatedQuery) -> list[Confusable]:
    catalog = Catalog(tools)
    return confusable(catalog, embedder.embed([tool_text(tool) for tool in catalog]), cases)


def ids(confused: Confusable) -> list[str]:
    return [tool.id for tool in confused.tools]


def case(text: str, wanted: Tool, *ranking: Tool, name: str = "q") -> EvaluatedQuery:
    hits = tuple(ToolHit(tool, 1 / rank) for rank, tool in enumerate(ranking, 1))
    return EvaluatedQuery(LabelledQuery(name, text, (wanted.id,)), hits, (), None, 0.01)


def random_rows(count: int) -> Matrix:
    rows = np.random.default_rng(0).normal(size=(count, 8))
    return unit_rows(rows, texts=count, source="the test")


@pytest.mark.parametrize("limit", [7, 10_000_000])
def test_pairs_found_in_blocks_are_those_of_the_whole_product(limit: int) -> None:
    rows = random_rows(1100)  # more than two blocks
    product = rows @ rows.T
    whole = sorted(
        (
            (float(product[one, other]), one, other)
            for one, other in zip(*np.nonzero(np.triu(product >= 0.8, 1)), strict=True)
        ),
        reverse=True,
    )
    first, second, alike = close_pairs(rows, 0.8, limit)
    assert (first < second).all()
    assert len(alike) == min(limit, len(whole)) > 5
    assert alike.tolist() == pytest.approx([pair[0] for pair in whole[:limit]], abs=1e-5)
    assert {*zip(first.tolist(), second.tolist(), strict=True)} == {
        (int(one), int(other)) for _, one, other in whole[:limit]
    }


def test_close_tools_are_named_with_what_tells_them_apart(word_embedder: Embedder) -> None:
    (pair,) = found([RENT, LAMP, BUY], word_embedder)
    assert pair.kind == "close"
    assert ids(pair) == ["homes/rent", "homes/buy"]
    assert pair.own == (("rent",), ("buy",))
    assert pair.likeness > 0.75
    assert 0.5 < pair.overlap < 1
    assert "Only homes/rent says “rent”; only homes/buy says “buy”" in pair.advice


def test_the_same_tool_twice(word_embedder: Embedder) -> None:
    (twins,) = found([FIND, LAMP, MIRROR], word_embedder)
    assert twins.kind == "same"
    assert ids(twins) == ["hub/find_issue", "mirror/find_issue"]
    assert "the same tool twice" in twins.advice
    third = Tool("find_issue", FIND.description, app="other", parameters=FIND.parameters)
    (group,) = found([FIND, MIRROR, third], word_embedder)
    assert len(group.tools) == len(group.own) == 3


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
def test_advice(one: str, other: str, advice: str, word_embedder: Embedder) -> None:
    few = Tool("find_issue", one, app="x", parameters={"properties": {"state": {}}})
    (pair,) = found([few, Tool("find_issue", other, app="y")], word_embedder)
    assert advice in pair.advice
    if "same" in advice:
        assert "parameters differ in “state”" in pair.advice


def test_what_queries_confused_comes_first_most_often_first(word_embedder: Embedder) -> None:
    cases = [
        case("a rent for my house", RENT, LAMP, RENT, name="q1"),
        case("what is for rent", RENT, BUY, RENT, name="q2"),
        case("buy a house", BUY, RENT, BUY, name="q3"),
        case("rent in town", RENT, BUY, name="q4"),
        case("turn on the lamp", LAMP, LAMP, name="q5"),
    ]
    pairs = found([RENT, BUY, LAMP, FIND, MIRROR], word_embedder, *cases)
    assert [pair.kind for pair in pairs] == [
        "confused",
        "confused",
        "same",
    ]  # RENT and BUY are not named twice
    assert ids(pairs[0]) == ["homes/rent", "homes/buy"]
    assert pairs[0].queries == ("q2", "q3", "q4")
    assert ids(pairs[1]) == ["homes/rent", "light/lamp_on"]
    assert pairs[1].queries == ("q1",)


def test_advice_from_the_requests(word_embedder: Embedder) -> None:
    tools = [RENT, LAMP, Tool("search", "Looks for a ship", app="sea")]

    def advice(text: str, instead: Tool) -> str:
        (pair,) = found(tools, word_embedder, case(text, RENT, instead))
        return pair.advice

    assert "Requests say “hall”, which light/lamp_on has and homes/rent lacks" in advice(
        "a hall in town", LAMP
    )
    assert "no word in common with homes/rent: describe it" in advice("flats to let", LAMP)
    assert "Requests hold “search”, the whole name of sea/search" in advice("search a house", tools[2])
    assert advice("a house in town", LAMP)


def test_one_family_does_not_fill_the_list(word_embedder: Embedder) -> None:
    family = [Tool(f"gas_{name}", f"Gives the price of gas in {name}") for name in "abcdefghijklmnop"]
    pairs = found([*family, RENT, BUY], word_embedder)
    assert ["homes/rent", "homes/buy"] in map(ids, pairs)
    assert max(sum(tool in pair.tools for pair in pairs) for tool in family) == 2


def test_nothing_is_close_where_nothing_is(word_embedder: Embedder) -> None:
    assert found([RENT, LAMP, FIND], word_embedder) == []
    assert found([RENT], word_embedder) == []


def test_the_json_names_them(word_embedder: Embedder) -> None:
    values = json.loads(to_json({}, None, confusables=found([RENT, BUY], word_embedder)))
    assert values["confusable"][0]["own"] == {"homes/rent": ["rent"], "homes/buy": ["buy"]}
