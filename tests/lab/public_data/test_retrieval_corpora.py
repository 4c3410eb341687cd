"""Retrieval corpora: ToolBench and ToolLens."""

import csv
import json
import re
from pathlib import Path

import pytest
from tests.lab.public_data.published_files import (
    DRINKS,
    RECIPE,
    Json,
    requests_by_id,
    skipped_by_id,
    table,
    write,
)

from contextune.errors import InvalidDataError
from contextune_lab.public_data import read_retrieval, read_toollens
from contextune_lab.public_data.collect import ALSO_IN_TEST, NO_TEXT, NO_TOOL, UNKNOWN_TOOL


def corpus(folder: Path, *documents: tuple[int, object]) -> None:
    texts = [(number, text if isinstance(text, str) else json.dumps(text)) for number, text in documents]
    table(folder / "corpus.tsv", [("docid", "document_content"), *texts])


def test_toolbench_retrieval_folder_is_read(tmp_path: Path) -> None:
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
    assert requests_by_id(published) == {
        "2": ("Both", "test", {"Drinks/List 2"}),
        "3": ("Third", "test", {"Drinks/Recipe"}),
        "1": ('Say "cheers"\nto all', "train", {"Drinks/List", "Drinks/Recipe"}),
    }
    assert [(request_.id, request_.reason, request_.detail) for request_ in published.skipped] == [
        ("6", NO_TEXT, ""),
        ("7", NO_TEXT, ""),
        ("2", ALSO_IN_TEST, ""),
        ("5", UNKNOWN_TOOL, "9"),
        ("4", NO_TOOL, ""),
    ]


LABELLED = (
    "category_name:Food, tool_name:Recipes, and more, api_name:Suggest, api_description:Gets, at once,\n"
    'a dish., required_params: [{"name": "q", "type": "STRING", "description": "as in [salt, \\"sea\\"]"}], '
    'optional_params: [{"name": "few", "type": "BOOLEAN", "description": ""}], return_schema: "{\\"broken"'
)


def toollens(folder: Path) -> None:
    documents: list[Json] = [{"_id": "0", "title": "", "text": LABELLED, "metadata": {}}]
    documents.append({"_id": "1", "title": "", "text": LABELLED.replace("Suggest", "Rate"), "metadata": {}})
    write(folder / "corpus.jsonl", "".join(json.dumps(request_) + "\n" for request_ in documents))
    queries = [("18", "A meal?"), ("19", "How good?"), ("20", "Anything?"), ("21", "Gone?")]
    write(folder / "queries.jsonl", "".join(json.dumps({"_id": n, "text": t}) + "\n" for n, t in queries))
    header = ("query-id", "corpus-id", "score")
    table(folder / "qrels" / "train.tsv", [header, (18, 0, 1), (18, 1, 1), (21, 7, 1)])
    table(folder / "qrels" / "test.tsv", [header, (19, 1, 1)])


def test_toollens_beir_layout_is_read(tmp_path: Path) -> None:
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
    assert requests_by_id(published) == {
        "19": ("How good?", "test", {"Recipes, and more/Rate"}),
        "18": ("A meal?", "train", {"Recipes, and more/Suggest", "Recipes, and more/Rate"}),
    }
    assert skipped_by_id(published) == {"21": (UNKNOWN_TOOL, "7"), "20": (NO_TOOL, "")}


def test_toollens_single_file_is_read_without_corpus(tmp_path: Path) -> None:
    entries: list[Json] = [
        {"query": "Both", "apis": [DRINKS, RECIPE]},
        {"query": "One", "apis": [DRINKS]},
        {"query": "None", "apis": []},
    ]
    write(tmp_path / "ToolLens_data.json", entries)
    published = read_toollens(tmp_path)
    assert requests_by_id(published) == {
        "1": ("Both", "all", {"Drinks/List", "Drinks/Recipe"}),
        "2": ("One", "all", {"Drinks/List"}),
    }
    assert skipped_by_id(published) == {"3": (NO_TOOL, "")}


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("corpus.jsonl", '{"_id": "0", "text": "no labels"}', "line 1: the document lacks category_name"),
        (
            "corpus.jsonl",
            json.dumps({"_id": "0", "text": LABELLED.replace("[{", "[", 1)}),
            "parameters are no",
        ),
        ("corpus.jsonl", '{"_id": "0", "text": "{"}', "line 1: the document is not valid JSON"),
        ("corpus.jsonl", '{"text": "x"}', "line 1 has no '_id'"),
        ("queries.jsonl", '{"_id": "1"', "line 1 is not valid JSON"),
        (
            "queries.jsonl",
            '{"_id": "1", "text": "a"}\n\n{"_id": "1", "text": "b"}',
            "line 3: duplicate request",
        ),
        ("qrels/train.tsv", "18\t0\t1\n", "line 1 is ['18', '0', '1'], not the header query-id"),
        ("qrels/train.tsv", "", "empty, expected the header"),
        ("qrels/train.tsv", "query-id\tcorpus-id\tscore\n18\t0\n", "line 2 has 2 columns, not 3"),
        (
            "qrels/train.tsv",
            "query-id\tcorpus-id\tscore\n18\t0\tyes\n",
            "line 2: 'yes' is not a relevance label",
        ),
        ("qrels/train.tsv", 'query-id\tcorpus-id\tscore\n18\t0\t"1\n', "train.tsv: not a table"),
    ],
)
def test_malformed_corpus_is_reported(tmp_path: Path, name: str, text: str, fault: str) -> None:
    toollens(tmp_path)
    file = write(tmp_path / name, text)
    with pytest.raises(InvalidDataError, match=f"{re.escape(str(file.parent))}.*{re.escape(fault)}"):
        read_toollens(tmp_path)


def test_missing_corpus_or_labels_are_reported(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"no corpus\.tsv or corpus\.jsonl"):
        read_retrieval(tmp_path)
    with pytest.raises(InvalidDataError, match=r"neither a corpus nor ToolLens_data\.json"):
        read_toollens(tmp_path)
    corpus(tmp_path, (1, DRINKS))
    with pytest.raises(InvalidDataError, match=r"no labels, neither qrels\.train\.tsv"):
        read_retrieval(tmp_path)
