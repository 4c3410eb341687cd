"""Public benchmarks, in small, in the layouts their authors publish."""

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from contextune.bench.published import (
    Published,
    paper_filter,
    read_metatool,
    read_metatool_awareness,
    read_metatool_scenario,
    read_metatool_shortlists,
    read_retrieval,
    read_toolbench,
    read_toolenv,
    read_toollens,
)
from contextune.bench.published import reading as reading_module
from contextune.bench.published.filtered import ILL_DESCRIBED, MIXED, OUT_OF_DOMAIN, TOO_MANY
from contextune.bench.published.gathering import TESTED, TEXTLESS, UNKNOWN, UNNAMED
from contextune.bench.published.toolbench import AMBIGUOUS
from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.tools import Catalog
from contextune.train.toolsets import ToolQuery, Toolset, read_toolset
from contextune.types import Tool

Json = dict[str, Any]
SHARED = Path(__file__).parents[3] / "shared" / "data"


def write(file: Path, value: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(value if isinstance(value, str) else json.dumps(value, indent=1), encoding="utf-8")
    return file


def table(file: Path, rows: Iterable[Sequence[object]], delimiter: str = "\t") -> None:
    """As pandas writes one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerows(rows)


def api(server: str, name: str, description: str = "", category: str = "Food", **more: Any) -> Json:
    found: Json = {
        "category_name": category,
        "tool_name": server,
        "api_name": name,
        "api_description": description,
        "required_parameters": [],
        "optional_parameters": [],
        "method": "GET",
    }
    return found | more


def request(number: int | None, text: str, apis: list[Json], *relevant: tuple[str, str]) -> Json:
    entry = {"api_list": apis, "query": text, "relevant APIs": [list(one) for one in relevant]}
    return entry if number is None else entry | {"query_id": number}


def asked(published: Published) -> Mapping[str, tuple[str, str, set[str]]]:
    tools = published.toolset.tools
    return {
        query.id: (query.text, query.split, {tools[place].id for place in query.relevant})
        for query in published.toolset.queries
    }


def left_out(published: Published) -> dict[str, tuple[str, str]]:
    return {one.id: (one.reason, one.detail) for one in published.skipped}


DRINKS = api("Drinks", "List", "A list of drinks with their names")
RECIPE = api(
    "Drinks",
    "Recipe",
    " How to mix a drink ",
    required_parameters=[{"name": "id", "type": "NUMBER", "description": "Of the drink", "default": "4"}],
    optional_parameters=[{"name": "units", "type": "ENUM", "description": None, "default": ""}],
    template_response={"id": "str"},
)
NEWS = api("Search", "news", "News on anything", category="Data")


# ToolBench's lists of requests


def test_toolbench_requests_come_with_the_apis_they_list(tmp_path: Path) -> None:
    write(
        tmp_path / "instruction" / "G3_query.json",
        [
            request(7, "Drinks and news?", [DRINKS, RECIPE, NEWS], ("Drinks", "List"), ("Search", "news")),
            request(None, "How is it mixed?", [RECIPE], ("Drinks", "Recipe")),
        ],
    )
    published = read_toolbench(tmp_path)
    assert asked(published) == {
        "G3_query/7": ("Drinks and news?", "train", {"Drinks/List", "Search/news"}),
        "G3_query/1": ("How is it mixed?", "train", {"Drinks/Recipe"}),
    }
    assert published.skipped == ()
    assert [tool.id for tool in published.toolset.tools] == ["Drinks/List", "Drinks/Recipe", "Search/news"]
    recipe = published.toolset.tools[1]
    assert recipe.description == "How to mix a drink"
    assert recipe.parameters == {
        "type": "object",
        "properties": {
            "id": {"type": "number", "description": "Of the drink"},
            "units": {"type": "string", "description": ""},
        },
        "required": ["id"],
    }


def test_what_toolbench_tests_is_not_among_what_it_trains_on(tmp_path: Path) -> None:
    write(
        tmp_path / "test_instruction" / "G1_tool.json", [request(2, "Tested", [DRINKS], ("Drinks", "List"))]
    )
    write(tmp_path / "test_query_ids" / "G1_instruction_test_query_ids.json", {"5": 0})
    write(
        tmp_path / "instruction" / "G1_query.json",
        [
            request(3, "Named in the ids", [DRINKS], ("Drinks", "List")),
            request(2, "Tested", [DRINKS], ("Drinks", "List")),
            request(5, "Named in the ids", [DRINKS], ("Drinks", "List")),
            request(6, "Trained", [DRINKS], ("Drinks", "List")),
        ],
    )
    published = read_toolbench(tmp_path)
    assert {name: split for name, (_, split, _) in asked(published).items()} == {
        "G1_tool/2": "test",
        "G1_query/5": "test",
        "G1_query/6": "train",
    }
    assert left_out(published) == {"G1_query/2": (TESTED, ""), "G1_query/3": (TESTED, "")}
    assert published.counts == {TESTED: 2}


def test_an_api_described_twice_is_one_and_servers_of_one_name_are_two(tmp_path: Path) -> None:
    again: Json = DRINKS | {"api_description": "Told otherwise", "template_response": {}}
    elsewhere = DRINKS | {"category_name": "Sports"}
    write(
        tmp_path / "instruction" / "G1_query.json",
        [
            request(1, "One", [DRINKS], ("Drinks", "List")),
            request(2, "Two", [again, again], ("Drinks", "List")),
            request(3, "Three", [elsewhere], ("Drinks", "List")),
        ],
    )
    published = read_toolbench(tmp_path)
    assert [tool.id for tool in published.toolset.tools] == ["Drinks/List", "Drinks/List 2"]
    assert published.toolset.tools[0].description == "A list of drinks with their names"
    assert [query.relevant for query in published.toolset.queries] == [{0}, {0}, {1}]
    assert len(Catalog(published.toolset.tools)) == 2


def test_requests_for_unknown_tools_are_left_out_and_named(tmp_path: Path) -> None:
    elsewhere = NEWS | {"category_name": "Media"}
    write(
        tmp_path / "instruction" / "G2_query.json",
        [
            request(1, "Listed only by a later one", [DRINKS], ("Drinks", "Recipe")),
            request(2, "Half unknown", [DRINKS], ("Drinks", "List"), ("Drinks", "Gone")),
            request(3, "For nothing", [DRINKS]),
            request(4, "Which of two?", [RECIPE], ("Search", "news")),
            request(5, "Fine", [NEWS, elsewhere], ("Search", "news")),
            request(6, " ", [DRINKS], ("Drinks", "List")),
        ],
    )
    published = read_toolbench(tmp_path, groups=["G2"])
    assert {name: ids for name, (_, _, ids) in asked(published).items()} == {
        "G2_query/1": {"Drinks/Recipe"},
        "G2_query/5": {"Search/news", "Search/news 2"},
    }
    assert left_out(published) == {
        "G2_query/2": (UNKNOWN, "Drinks/Gone"),
        "G2_query/3": (UNNAMED, ""),
        "G2_query/4": (AMBIGUOUS, "Search/news"),
        "G2_query/6": (TEXTLESS, ""),
    }


def toolenv(folder: Path) -> None:
    endpoint: Json = {"name": "List", "url": "https://x", "description": "All drinks", "method": "GET"}
    other: Json = endpoint | {
        "name": "Random",
        "description": None,
        "required_parameters": [],
        "code": "import x",
    }
    drinks: Json = {
        "tool_name": "Drinks",
        "tool_description": "All about drinks",
        "api_list": [endpoint, other, other],
    }
    write(folder / "toolenv" / "tools" / "Food" / "drinks.json", drinks)
    write(folder / "toolenv" / "tools" / "Food" / "drinks" / "api.py", "raise SystemExit")
    nothing: Json = {"tool_name": "Void", "tool_description": None, "api_list": []}
    write(folder / "toolenv" / "tools" / "Data" / "void.json", nothing)


def test_servers_say_what_they_are_about_in_toolenv(tmp_path: Path) -> None:
    toolenv(tmp_path)
    write(
        tmp_path / "instruction" / "G1_query.json", [request(1, "Which?", [DRINKS, NEWS], ("Drinks", "List"))]
    )
    tools = read_toolbench(tmp_path).toolset.tools
    assert [(tool.id, tool.about) for tool in tools] == [
        ("Drinks/List", "All about drinks"),
        ("Search/news", ""),
    ]
    assert tools[0].description == "A list of drinks with their names"

    whole = read_toolbench(tmp_path, whole_toolenv=True)
    assert [tool.id for tool in whole.toolset.tools] == ["Drinks/List", "Drinks/Random", "Search/news"]
    assert whole.toolset.tools[0].description == "All drinks"
    assert asked(whole)["G1_query/1"] == ("Which?", "train", {"Drinks/List"})


def test_toolenv_alone_is_a_catalogue(tmp_path: Path) -> None:
    toolenv(tmp_path)
    tools = read_toolenv(tmp_path)
    assert [(tool.id, tool.description, tool.about) for tool in tools] == [
        ("Drinks/List", "All drinks", "All about drinks"),
        ("Drinks/Random", "", "All about drinks"),
    ]


MALFORMED: list[tuple[object, str]] = [
    ({"query": "x"}, "entry 2 has no 'api_list'"),
    (request(3, "x", [DRINKS]) | {"query": None}, "entry 2: 'query' is None, not a text"),
    (request(3, "x", [DRINKS]) | {"query_id": 1.5}, "entry 2: 'query_id' is 1.5, not an id"),
    (request(3, "x", [DRINKS]) | {"relevant APIs": ["List"]}, "entry 2: 'List' under 'relevant APIs'"),
    (request(3, "x", [DRINKS]) | {"api_list": {}}, "entry 2: 'api_list' is {}, not a list"),
    (request(3, "x", [{"tool_name": "a"}]), "entry 2 has no 'category_name'"),
    (request(3, "x", [api(" ", "")]), "entry 2: neither the API nor its server has a name"),
    (
        request(3, "x", [RECIPE | {"required_parameters": [{"type": "STRING"}]}]),
        "entry 2: one of 'required_parameters' has no 'name'",
    ),
    (request(1, "x", [DRINKS], ("Drinks", "List")), "entry 2: another request has the id 'G1_query/1'"),
    ("no object", "entry 2 is 'no object', not an object"),
]


@pytest.mark.parametrize(("entry", "fault"), MALFORMED)
def test_a_malformed_request_is_named(tmp_path: Path, entry: object, fault: str) -> None:
    good = request(1, "Which?", [DRINKS], ("Drinks", "List"))
    file = write(tmp_path / "instruction" / "G1_query.json", [good, entry])
    with pytest.raises(InvalidDataError, match=re.escape(f"{file}: {fault}")):
        read_toolbench(tmp_path)


def test_a_folder_that_is_not_toolbench_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="give the folder that ToolBench calls data"):
        read_toolbench(tmp_path)
    with pytest.raises(InvalidDataError, match="toolenv/tools has no"):
        read_toolenv(tmp_path)
    write(tmp_path / "instruction" / "G1_query.json", [])
    assert read_toolbench(tmp_path).toolset.queries == ()
    with pytest.raises(InvalidDataError, match="no toolenv/tools"):
        read_toolbench(tmp_path, whole_toolenv=True)


# long lists


def test_a_list_is_read_the_same_in_pieces_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [{"a": 'ü\\"]' * 5, "b": [1, {"c": "},{"}]}, {}, {"d": None}]
    for indent in (None, 2):
        file = write(
            tmp_path / "list.json", " \n" + json.dumps(values, indent=indent, ensure_ascii=False) + "\n"
        )
        for size in (1, 2, 7, 1 << 20):
            monkeypatch.setattr(reading_module, "_PIECE", size)
            assert [entry for _, entry in reading_module.entries(file)] == values


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is no JSON list"),
        ('{"a": 1}', "is no JSON list"),
        ('[{"a": 1}', "does not go on after entry 1, nor end there"),
        ('[{"a": 1} {"a": 2}]', "does not go on after entry 1, nor end there"),
        ('[{"a": 1}, {"a": ]', "entry 2 is no JSON"),
        ('[{"a": 1},]', "entry 2 is no JSON"),
        ("[", "entry 1 is no JSON"),
    ],
)
def test_a_broken_list_is_named_with_the_place(tmp_path: Path, text: str, fault: str) -> None:
    file = write(tmp_path / "list.json", text)
    with pytest.raises(InvalidDataError, match=fault):
        list(reading_module.entries(file))


def test_a_file_in_another_encoding_or_none_is_named(tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    with pytest.raises(InvalidDataError, match=r"list\.json: cannot be read"):
        list(reading_module.entries(file))
    file.write_bytes('[{"a": "ü"}]'.encode("latin-1"))
    with pytest.raises(InvalidDataError, match=r"list\.json: is not UTF-8"):
        list(reading_module.entries(file))


# corpora with labels


def corpus(folder: Path, *documents: tuple[int, object]) -> None:
    texts = [(number, text if isinstance(text, str) else json.dumps(text)) for number, text in documents]
    table(folder / "corpus.tsv", [("docid", "document_content"), *texts])


def test_toolbenchs_retrieval_folders_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "G1"
    again = DRINKS | {"template_response": {"x" * 200_000: "str"}}
    corpus(folder, (1, DRINKS), (2, RECIPE), (1, DRINKS), (3, again))
    table(
        folder / "train.query.txt",
        [(1, 'Say "cheers"\nto all'), (2, "Both"), (1, 'Say "cheers"\nto all'), (4, "Nobody"), (5, "Gone")],
    )
    table(folder / "qrels.train.tsv", [(1, 0, 2, 1), (1, 0, 1, 1), (2, 0, 1, 1), (2, 0, 2, 0), (5, 0, 9, 1)])
    table(folder / "test.query.txt", [(2, "Both"), (3, "Third")])
    table(folder / "qrels.test.tsv", [(2, 0, 3, 1), (3, 0, 2, 1), (6, 0, 2, 1), (7, 0, 2, 0)])
    limit = csv.field_size_limit()
    published = read_retrieval(folder)
    assert csv.field_size_limit() == limit
    assert published.toolset.name == "G1"
    assert [tool.id for tool in published.toolset.tools] == ["Drinks/List", "Drinks/Recipe", "Drinks/List 2"]
    assert asked(published) == {
        "2": ("Both", "test", {"Drinks/List 2"}),
        "3": ("Third", "test", {"Drinks/Recipe"}),
        "1": ('Say "cheers"\nto all', "train", {"Drinks/List", "Drinks/Recipe"}),
    }
    assert [(one.id, one.reason, one.detail) for one in published.skipped] == [
        ("6", TEXTLESS, ""),
        ("7", TEXTLESS, ""),
        ("2", TESTED, ""),
        ("5", UNKNOWN, "9"),
        ("4", UNNAMED, ""),
    ]


LABELLED = (
    "category_name:Food, tool_name:Recipes, and more, api_name:Suggest, api_description:Gets, at once,\n"
    'a dish., required_params: [{"name": "q", "type": "STRING", "description": "as in [salt, \\"sea\\"]"}], '
    'optional_params: [{"name": "few", "type": "BOOLEAN", "description": ""}], return_schema: "{\\"broken"'
)


def toollens(folder: Path) -> None:
    documents: list[Json] = [{"_id": "0", "title": "", "text": LABELLED, "metadata": {}}]
    documents.append({"_id": "1", "title": "", "text": LABELLED.replace("Suggest", "Rate"), "metadata": {}})
    write(folder / "corpus.jsonl", "".join(json.dumps(one) + "\n" for one in documents))
    queries = [("18", "A meal?"), ("19", "How good?"), ("20", "Anything?"), ("21", "Gone?")]
    write(folder / "queries.jsonl", "".join(json.dumps({"_id": n, "text": t}) + "\n" for n, t in queries))
    header = ("query-id", "corpus-id", "score")
    table(folder / "qrels" / "train.tsv", [header, (18, 0, 1), (18, 1, 1), (21, 7, 1)])
    table(folder / "qrels" / "test.tsv", [header, (19, 1, 1)])


def test_toollens_is_read_in_the_layout_of_its_authors(tmp_path: Path) -> None:
    toollens(tmp_path)
    published = read_toollens(tmp_path)
    assert published.toolset.name == "toollens"
    tool = published.toolset.tools[0]
    assert (tool.app, tool.name, tool.description) == (
        "Recipes, and more",
        "Suggest",
        "Gets, at once,\na dish.",
    )
    assert tool.parameters["properties"] == {
        "q": {"type": "string", "description": 'as in [salt, "sea"]'},
        "few": {"type": "boolean", "description": ""},
    }
    assert tool.parameters["required"] == ["q"]
    assert asked(published) == {
        "19": ("How good?", "test", {"Recipes, and more/Rate"}),
        "18": ("A meal?", "train", {"Recipes, and more/Suggest", "Recipes, and more/Rate"}),
    }
    assert left_out(published) == {"21": (UNKNOWN, "7"), "20": (UNNAMED, "")}


def test_toollens_in_one_file_is_read_where_there_is_no_corpus(tmp_path: Path) -> None:
    entries: list[Json] = [
        {"query": "Both", "apis": [DRINKS, RECIPE]},
        {"query": "One", "apis": [DRINKS]},
        {"query": "None", "apis": []},
    ]
    write(tmp_path / "ToolLens_data.json", entries)
    published = read_toollens(tmp_path)
    assert asked(published) == {
        "1": ("Both", "all", {"Drinks/List", "Drinks/Recipe"}),
        "2": ("One", "all", {"Drinks/List"}),
    }
    assert left_out(published) == {"3": (UNNAMED, "")}


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("corpus.jsonl", '{"_id": "0", "text": "no labels"}', "line 1: the document has no category_name"),
        (
            "corpus.jsonl",
            json.dumps({"_id": "0", "text": LABELLED.replace("[{", "[", 1)}),
            "parameters are no",
        ),
        ("corpus.jsonl", '{"_id": "0", "text": "{"}', "line 1: the document is no JSON"),
        ("corpus.jsonl", '{"text": "x"}', "line 1 has no '_id'"),
        ("queries.jsonl", '{"_id": "1"', "line 1 is no JSON"),
        (
            "queries.jsonl",
            '{"_id": "1", "text": "a"}\n\n{"_id": "1", "text": "b"}',
            "line 3: another request",
        ),
        ("qrels/train.tsv", "18\t0\t1\n", "line 1 is ['18', '0', '1'], not the header query-id"),
        ("qrels/train.tsv", "", "is empty, without even the header"),
        ("qrels/train.tsv", "query-id\tcorpus-id\tscore\n18\t0\n", "line 2 has 2 columns, not 3"),
        ("qrels/train.tsv", "query-id\tcorpus-id\tscore\n18\t0\tyes\n", "line 2: 'yes' does not say whether"),
        ("qrels/train.tsv", 'query-id\tcorpus-id\tscore\n18\t0\t"1\n', "train.tsv: is no table"),
    ],
)
def test_a_malformed_corpus_is_named(tmp_path: Path, name: str, text: str, fault: str) -> None:
    toollens(tmp_path)
    file = write(tmp_path / name, text)
    with pytest.raises(InvalidDataError, match=f"{re.escape(str(file.parent))}.*{re.escape(fault)}"):
        read_toollens(tmp_path)


def test_a_folder_without_corpus_or_labels_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"neither corpus\.tsv nor corpus\.jsonl"):
        read_retrieval(tmp_path)
    with pytest.raises(InvalidDataError, match=r"neither a corpus nor ToolLens_data\.json"):
        read_toollens(tmp_path)
    corpus(tmp_path, (1, DRINKS))
    with pytest.raises(InvalidDataError, match=r"has no labels, neither qrels\.train\.tsv"):
        read_retrieval(tmp_path)


# MetaTool


def prompt(*tools: str) -> str:
    listed = "".join(
        f"{n}. tool name: {name}, tool description: ['Does it.']\n" for n, name in enumerate(tools, 1)
    )
    name = "List of Tools with Names and Descriptions"
    return f'"You help.\n{name}:\n[{name} Start]\n{listed}\n[{name} End]"\nquery: "1. tool name: x" tool: y'


@pytest.fixture
def metatool(tmp_path: Path) -> Path:
    write(
        tmp_path / "plugin_des.json",
        {"dice": "Rolls dice. ", "PDF&URLTool": "Old words", "chess": "Plays chess"},
    )
    write(tmp_path / "big_tool_des.json", {"PDF&URLTool": "Reads PDF files"})
    table(
        tmp_path / "data" / "all_clean_data.csv",
        [
            ("Query", "Tool"),
            ('Roll, "now"', "dice"),
            ("Read it", "PDF&URLTool"),
            ("Gone", "lost"),
            ("", "dice"),
        ],
        delimiter=",",
    )
    multi = [
        {"query": "Roll and read", "tool": ["dice", "PDF&URLTool"]},
        {"query": "x", "tool": ["dice", "lost"]},
    ]
    write(tmp_path / "data" / "multi_tool_query_golden.json", multi)
    write(tmp_path / "scenario" / "Students.json", {"Tools": ["PDF&URLTool", "chess"], "ref": []})
    tasks = tmp_path / "tmp_dataset"
    write(
        tasks / "Task1.json",
        [
            {"thought_prompt": "…", "label": "positive", "tool": "dice", "query": "Roll one"},
            {"thought_prompt": "…", "label": "negative", "query": "Why is the sky blue?"},
        ],
    )
    write(
        tasks / "Task2-Subtask3.json",
        [
            {
                "action_prompt": prompt("chess", "PDF&URLTool"),
                "tool": "dice",
                "query": "Roll two",
                "index": 9,
            },
            {"action_prompt": prompt("chess", "lost"), "tool": "dice", "query": "Roll three", "index": 9},
        ],
    )
    both = {
        "action_prompt": prompt("chess", "dice", "PDF&URLTool"),
        "tool": ["dice", "chess"],
        "query": "Two",
    }
    write(tasks / "Task2-Subtask4.json", [both])
    return tmp_path


def test_metatool_has_requests_for_one_tool_and_for_two(metatool: Path) -> None:
    published = read_metatool(metatool)
    assert [(tool.id, tool.description) for tool in published.toolset.tools] == [
        ("dice", "Rolls dice."),
        ("PDF&URLTool", "Reads PDF files"),
        ("chess", "Plays chess"),
    ]
    assert asked(published) == {
        "single/1": ('Roll, "now"', "single", {"dice"}),
        "single/2": ("Read it", "single", {"PDF&URLTool"}),
        "multi/1": ("Roll and read", "multi", {"dice", "PDF&URLTool"}),
    }
    assert left_out(published) == {
        "single/3": (UNKNOWN, "lost"),
        "single/4": (TEXTLESS, ""),
        "multi/2": (UNKNOWN, "lost"),
    }


def test_a_scenario_of_metatool_has_its_own_tools_only(metatool: Path) -> None:
    published = read_metatool_scenario(metatool, "Students")
    assert [tool.id for tool in published.toolset.tools] == ["PDF&URLTool", "chess"]
    assert asked(published) == {"single/2": ("Read it", "single", {"PDF&URLTool"})}
    assert left_out(published) == {"single/3": (UNKNOWN, "lost")}
    with pytest.raises(InvalidDataError, match="no scenario 'Elders', only: Students"):
        read_metatool_scenario(metatool, "Elders")
    write(metatool / "scenario" / "Students.json", {"Tools": ["lost"]})
    with pytest.raises(InvalidDataError, match=r"Students\.json: the tool 'lost' is described neither"):
        read_metatool_scenario(metatool, "Students")


def test_metatool_knows_requests_that_need_no_tool(metatool: Path) -> None:
    assert asked(read_metatool_awareness(metatool)) == {
        "task1/1": ("Roll one", "positive", {"dice"}),
        "task1/2": ("Why is the sky blue?", "negative", set()),
    }
    write(metatool / "tmp_dataset" / "Task1.json", [{"label": "maybe", "query": "x"}])
    with pytest.raises(InvalidDataError, match=r"Task1\.json: entry 1: 'label' is 'maybe'"):
        read_metatool_awareness(metatool)


def test_where_the_right_tool_is_not_on_the_list_none_is_relevant(metatool: Path) -> None:
    lists = read_metatool_shortlists(metatool)
    assert asked(lists.published) == {"subtask3/1": ("Roll two", "subtask3", set())}
    assert lists.offered == {"subtask3/1": (2, 1)}
    assert left_out(lists.published) == {"subtask3/2": (UNKNOWN, "lost")}

    both = read_metatool_shortlists(metatool, subtask=4)
    assert asked(both.published) == {"subtask4/1": ("Two", "subtask4", {"dice", "chess"})}
    assert both.offered == {"subtask4/1": (2, 0, 1)}

    write(
        metatool / "tmp_dataset" / "Task2-Subtask3.json", [{"action_prompt": "…", "tool": "a", "query": "x"}]
    )
    with pytest.raises(InvalidDataError, match="entry 1: 'action_prompt' has no list of tools"):
        read_metatool_shortlists(metatool)


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("plugin_des.json", '{"dice": 1}', "'dice' is 1, not a text"),
        ("plugin_des.json", "[]", "is [], not an object"),
        (
            "data/all_clean_data.csv",
            "Tool,Query\n",
            "line 1 is ['Tool', 'Query'], not the header Query, Tool",
        ),
        ("data/multi_tool_query_golden.json", '[{"query": "x", "tool": [1]}]', "entry 1: one of 'tool' is 1"),
    ],
)
def test_malformed_files_of_metatool_are_named(metatool: Path, name: str, text: str, fault: str) -> None:
    file = write(metatool / name, text)
    with pytest.raises(InvalidDataError, match=f"{re.escape(str(file))}.*{re.escape(fault)}"):
        read_metatool(metatool)


# the filter of the paper on query generation


def many(servers: int, requests: int) -> Toolset:
    tools = [
        Tool("find", "Finds one of the many things there are", app=f"server {n}") for n in range(servers)
    ]
    queries = [ToolQuery(str(n), f"Find {n}", frozenset([n % servers]), "train") for n in range(requests)]
    return Toolset("many", tuple(tools), tuple(queries))


def test_the_filter_keeps_requests_with_few_well_described_tools() -> None:
    words = [4, 5, 50, 51, 7]
    tools = tuple(Tool(f"t{n}", " ".join(["word"] * n), app="one server") for n in words)
    relevant = [{0}, {1, 2}, {3}, {1, 2, 4}, {0, 1, 2, 4}, set[int](), {4, 0}]
    queries = tuple(ToolQuery(str(n), f"Do {n}", frozenset(some), "x") for n, some in enumerate(relevant))
    published = paper_filter(Toolset("bench", tools, queries), out_of_domain=0, in_domain_test=0)
    assert [tool.name for tool in published.toolset.tools] == ["t5", "t50", "t7"]
    assert [(query.id, query.relevant, query.split) for query in published.toolset.queries] == [
        ("1", {0, 1}, "train"),
        ("3", {0, 1, 2}, "train"),
    ]
    assert {one.id: one.reason for one in published.skipped} == {
        "0": ILL_DESCRIBED,
        "2": ILL_DESCRIBED,
        "4": TOO_MANY,
        "5": UNNAMED,
        "6": ILL_DESCRIBED,
    }


def test_the_catalogue_of_the_filter_can_hold_tools_nobody_asks_for() -> None:
    toolset = many(10, 3)
    assert len(paper_filter(toolset).toolset.tools) == 3
    whole = paper_filter(toolset, unasked=True)
    assert len(whole.toolset.tools) == 10
    assert {query.id: query.relevant for query in whole.toolset.queries} == {"0": {0}, "1": {1}, "2": {2}}


def test_domains_share_no_server_and_have_the_shares_of_the_paper() -> None:
    toolset = many(1000, 6000)
    found = paper_filter(toolset).toolset
    servers = {
        split: {found.tools[place].app for query in found.split(split) for place in query.relevant}
        for split in ("train", "id_test", "ood")
    }
    assert not servers["ood"] & (servers["train"] | servers["id_test"])
    assert len(servers["ood"]) / 1000 == pytest.approx(OUT_OF_DOMAIN, abs=0.04)
    seen = len(found.split("train", "id_test"))
    assert len(found.split("id_test")) / seen == pytest.approx(0.1, abs=0.02)
    assert len(found.queries) == 6000


def test_the_split_hangs_on_the_seed_and_on_nothing_else() -> None:
    splits = {query.id: query.split for query in paper_filter(many(200, 400)).toolset.queries}
    assert {query.id: query.split for query in paper_filter(many(200, 400)).toolset.queries} == splits
    fewer = paper_filter(many(200, 200)).toolset.queries
    assert {query.id: query.split for query in fewer}.items() <= splits.items()
    assert {query.id: query.split for query in paper_filter(many(200, 400), seed=1).toolset.queries} != splits


def test_requests_for_tools_of_both_domains_are_left_out() -> None:
    single = many(200, 200)
    split = {next(iter(query.relevant)): query.split for query in paper_filter(single).toolset.queries}
    unseen, seen = (next(n for n, name in split.items() if (name == "ood") is out) for out in (True, False))
    mixed = ToolQuery("both", "Find both", frozenset([unseen, seen]), "train")
    published = paper_filter(Toolset("many", single.tools, (*single.queries, mixed)))
    assert {one.id: one.reason for one in published.skipped} == {"both": MIXED}


def test_shares_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match=r"1\.5 and 0\.1 are shares"):
        paper_filter(many(2, 2), out_of_domain=1.5, in_domain_test=0.1)


@pytest.mark.skipif(not (SHARED / "toolbench" / "filter").exists(), reason="the public data is not here")
def test_the_filter_makes_of_all_of_toolbench_what_the_filtered_copy_holds() -> None:
    kept = read_toolset(SHARED / "toolbench" / "filter")
    published = paper_filter(read_toolset(SHARED / "toolbench"))
    found = published.toolset
    # the copy was split by another draw: which requests pass is the same, before those of both domains go
    passed = {query.id for query in found.queries} | {
        one.id for one in published.skipped if one.reason == MIXED
    }
    assert {query.id for query in kept.queries} <= passed
    assert 0.5 < len(found.queries) / len(kept.queries) < 2
    assert 0.5 < len(found.tools) / len(kept.tools) < 2
    assert {query.split for query in found.queries} == {query.split for query in kept.queries}
    assert all(5 <= len(tool.description.split()) <= 50 for tool in found.tools)
