"""ToolBench reader."""

import json
import re
from pathlib import Path

import pytest
from tests.lab.public_data.published_files import (
    DRINKS,
    NEWS,
    RECIPE,
    Json,
    api,
    request,
    requests_by_id,
    skipped_by_id,
    write,
)

from contextune.errors import InvalidDataError
from contextune.tools import Catalog
from contextune_lab.public_data import files as reading_module
from contextune_lab.public_data import read_toolbench, read_toolenv
from contextune_lab.public_data.collect import ALSO_IN_TEST, NO_TEXT, NO_TOOL, UNKNOWN_TOOL
from contextune_lab.public_data.toolbench import AMBIGUOUS


def test_requests_and_their_apis_are_read(tmp_path: Path) -> None:
    write(
        tmp_path / "instruction" / "G3_query.json",
        [
            request(7, "Drinks and news?", [DRINKS, RECIPE, NEWS], ("Drinks", "List"), ("Search", "news")),
            request(None, "How is it mixed?", [RECIPE], ("Drinks", "Recipe")),
        ],
    )
    published = read_toolbench(tmp_path)
    assert requests_by_id(published) == {
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


def test_tested_requests_are_not_in_training(tmp_path: Path) -> None:
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
    assert {name: split for name, (_, split, _) in requests_by_id(published).items()} == {
        "G1_tool/2": "test",
        "G1_query/5": "test",
        "G1_query/6": "train",
    }
    assert skipped_by_id(published) == {"G1_query/2": (ALSO_IN_TEST, ""), "G1_query/3": (ALSO_IN_TEST, "")}
    assert published.counts == {ALSO_IN_TEST: 2}


def test_apis_are_identified_by_category_server_and_name(tmp_path: Path) -> None:
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


def test_requests_for_unknown_tools_are_skipped(tmp_path: Path) -> None:
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
    assert {name: ids for name, (_, _, ids) in requests_by_id(published).items()} == {
        "G2_query/1": {"Drinks/Recipe"},
        "G2_query/5": {"Search/news", "Search/news 2"},
    }
    assert skipped_by_id(published) == {
        "G2_query/2": (UNKNOWN_TOOL, "Drinks/Gone"),
        "G2_query/3": (NO_TOOL, ""),
        "G2_query/4": (AMBIGUOUS, "Search/news"),
        "G2_query/6": (NO_TEXT, ""),
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


def test_toolenv_adds_server_descriptions(tmp_path: Path) -> None:
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
    assert requests_by_id(whole)["G1_query/1"] == ("Which?", "train", {"Drinks/List"})


def test_toolenv_can_be_read_without_requests(tmp_path: Path) -> None:
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
    (request(3, "x", [api(" ", "")]), "entry 2: API and server without a name"),
    (
        request(3, "x", [RECIPE | {"required_parameters": [{"type": "STRING"}]}]),
        "entry 2: one of 'required_parameters' has no 'name'",
    ),
    (request(1, "x", [DRINKS], ("Drinks", "List")), "entry 2: duplicate request id 'G1_query/1'"),
    ("no object", "entry 2 is 'no object', not an object"),
]


@pytest.mark.parametrize(("entry", "fault"), MALFORMED)
def test_malformed_request_is_reported(tmp_path: Path, entry: object, fault: str) -> None:
    good = request(1, "Which?", [DRINKS], ("Drinks", "List"))
    file = write(tmp_path / "instruction" / "G1_query.json", [good, entry])
    with pytest.raises(InvalidDataError, match=re.escape(f"{file}: {fault}")):
        read_toolbench(tmp_path)


def test_other_folder_is_rejected_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="give the folder that ToolBench calls data"):
        read_toolbench(tmp_path)
    with pytest.raises(InvalidDataError, match="toolenv/tools has no"):
        read_toolenv(tmp_path)
    write(tmp_path / "instruction" / "G1_query.json", [])
    assert read_toolbench(tmp_path).toolset.queries == ()
    with pytest.raises(InvalidDataError, match="no toolenv/tools"):
        read_toolbench(tmp_path, whole_toolenv=True)


# long lists


def test_json_array_is_read_in_chunks_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = [{"a": 'ü\\"]' * 5, "b": [1, {"c": "},{"}]}, {}, {"d": None}]
    for indent in (None, 2):
        file = write(
            tmp_path / "list.json", " \n" + json.dumps(values, indent=indent, ensure_ascii=False) + "\n"
        )
        for size in (1, 2, 7, 1 << 20):
            monkeypatch.setattr(reading_module, "_CHUNK_SIZE", size)
            assert [entry for _, entry in reading_module.read_json_array(file)] == values


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "not a JSON array"),
        ('{"a": 1}', "not a JSON array"),
        ('[{"a": 1}', "after entry 1"),
        ('[{"a": 1} {"a": 2}]', "after entry 1"),
        ('[{"a": 1}, {"a": ]', "entry 2 is not valid JSON"),
        ('[{"a": 1},]', "entry 2 is not valid JSON"),
        ("[", "entry 1 is not valid JSON"),
    ],
)
def test_malformed_json_array_is_reported_with_position(tmp_path: Path, text: str, fault: str) -> None:
    file = write(tmp_path / "list.json", text)
    with pytest.raises(InvalidDataError, match=fault):
        list(reading_module.read_json_array(file))


def test_wrong_encoding_or_missing_file_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    with pytest.raises(InvalidDataError, match=r"list\.json: cannot be read"):
        list(reading_module.read_json_array(file))
    file.write_bytes('[{"a": "ü"}]'.encode("latin-1"))
    with pytest.raises(InvalidDataError, match=r"list\.json: not UTF-8"):
        list(reading_module.read_json_array(file))
