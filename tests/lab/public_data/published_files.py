"""Small copies of the published benchmark formats."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from contextune_lab.public_data import PublicBenchmark

Json = dict[str, Any]


def write(file: Path, value: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(value if isinstance(value, str) else json.dumps(value, indent=1), encoding="utf-8")
    return file


def table(file: Path, rows: Iterable[Sequence[object]], delimiter: str = "\t") -> None:
    """Write a table as pandas does."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerows(rows)


def api(server: str, name: str, description: str = "", category: str = "Food", **more: Any) -> Json:
    rows: Json = {
        "category_name": category,
        "tool_name": server,
        "api_name": name,
        "api_description": description,
        "required_parameters": [],
        "optional_parameters": [],
        "method": "GET",
    }
    return rows | more


def request(number: int | None, text: str, apis: list[Json], *relevant: tuple[str, str]) -> Json:
    entry = {"api_list": apis, "query": text, "relevant APIs": [list(request_) for request_ in relevant]}
    return entry if number is None else entry | {"query_id": number}


def requests_by_id(published: PublicBenchmark) -> Mapping[str, tuple[str, str, set[str]]]:
    tools = published.toolset.tools
    return {
        query.id: (query.text, query.split, {tools[place].id for place in query.relevant})
        for query in published.toolset.queries
    }


def skipped_by_id(published: PublicBenchmark) -> dict[str, tuple[str, str]]:
    return {request_.id: (request_.reason, request_.detail) for request_ in published.skipped}


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
