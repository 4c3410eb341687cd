"""The bundled toolbox, and reading toolbox files."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.counting_embedder import CountingEmbedder

from contextune.datasets import bundled_pairs, bundled_personas, plain_requests
from contextune.embed import default_embedder
from contextune.errors import InvalidDataError
from contextune.store import text_digest
from contextune.tools import ToolRetriever, bundled_toolbox, read_toolbox
from contextune.tools.bundled_vectors import VECTORS_FILE, bundled_vectors
from contextune.tools.index import ToolIndex
from contextune.tools.tool_text import tool_text
from contextune_lab.train.embedder.tool_vectors import write_tool_vectors

PROCESSOR_TOLERANCE = 0.01
"""By which a number of a vector may differ from that of another processor; three times what was measured."""


def test_the_bundled_toolbox_has_the_papers_counts() -> None:
    counts = Counter(tool.app for tool in bundled_toolbox())
    assert counts == {
        "Music": 11, "Google": 10, "Notes": 9, "Mail": 8, "PhoneCall": 8, "Calendar": 7, "Reminders": 6
    }  # fmt: skip


def test_every_api_has_two_unique_examples() -> None:
    examples = [text for tool in bundled_toolbox() for text in tool.examples]
    assert all(len(tool.examples) == 2 for tool in bundled_toolbox())
    assert len(set(examples)) == len(examples)
    requests = {request.text.casefold().strip(" .?!") for request in plain_requests()}
    # except for five that cannot be worded otherwise, none is in the evaluation data
    assert len(requests & set(examples)) == 5


def test_bundled_toolbox_is_embedded_in_advance() -> None:
    embedder = CountingEmbedder(default_embedder())
    retriever = ToolRetriever(bundled_toolbox(), embedder)
    assert embedder.texts == []  # else run contextune_lab.train.embedder.tool_vectors
    examples = [text for tool in retriever.catalog for text in tool.examples[:8]]
    index = retriever.index
    assert isinstance(index, ToolIndex)
    assert index.examples is not None
    texts = [*map(tool_text, retriever.catalog), *examples]
    vectors = default_embedder().embed(texts)
    in_advance = np.concatenate([index.vectors, index.examples])
    assert np.abs(in_advance - vectors).max() < PROCESSOR_TOLERANCE
    assert (in_advance * vectors).sum(axis=1).min() > 1 - PROCESSOR_TOLERANCE / 10
    count = len(retriever.catalog)
    best = [np.argmax(rows[count:] @ rows[:count].T, axis=1) for rows in (in_advance, vectors)]
    assert np.mean(best[0] == best[1]) > 0.97  # the tool closest to an example is the same


def test_writing_the_vectors_again_changes_no_byte(tmp_path: Path) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    assert [write_tool_vectors(folder) for folder in folders] == [177, 177]
    first, second = ((folder / VECTORS_FILE).read_bytes() for folder in folders)
    assert first == second


def test_vectors_of_another_embedder_are_not_used() -> None:
    assert bundled_vectors().vectors("another", [text_digest(tool_text(bundled_toolbox()[0]))]) == {}


def test_arguments_become_json_schema() -> None:
    tool = next(tool for tool in bundled_toolbox() if tool.name == "create_event")
    properties = tool.parameters["properties"]
    assert properties["start_time"]["format"] == "date-time"
    assert properties["participants"]["type"] == "array"
    assert properties["event_name"]["x-free-text"] is True
    assert tool.parameters["required"] == ["event_name", "start_time"]


def test_every_gold_call_fits_the_toolbox() -> None:
    tools = {tool.name: tool.parameters["properties"] for tool in bundled_toolbox()}
    for persona in bundled_personas():
        for query in persona.queries:
            assert query.gold.api in tools
            assert set(query.gold.tools or ()) <= tools.keys()
            assert set(query.gold.args or {}) <= set(tools[query.gold.api])
    for pair in bundled_pairs():
        assert set(pair.args) <= set(tools[pair.api]), pair.id


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- app: Mail", "0.apis: Field required"),
        ("- app: Mail\n  apis: [{api: '', description: d, arguments: {}}]", "0.apis.0.api"),
        (
            "- app: Mail\n  apis: [{api: a, description: d, arguments: {x: {type: float}}}]",
            "arguments.x.type",
        ),
        ("[", "not readable as YAML"),
        ("just words", "valid list"),
    ],
)
def test_malformed_toolbox_is_an_error(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "box.yaml"
    file.write_text(text)
    with pytest.raises(InvalidDataError, match=r"box\.yaml") as refused:
        read_toolbox(file)
    assert reason in str(refused.value)
