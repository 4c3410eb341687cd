"""Indexes of catalogue files on disk: same results as in memory, updates in place, damage."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import WordEmbedder

from contextune.errors import InvalidDataError, InvalidRequestError, StoreError
from contextune.tools import ToolFilter, ToolRetriever, bundled_toolbox
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.large import build, snapshot
from contextune.tools.large.build import build_index, update_index
from contextune.tools.large.manifest import MANIFEST
from contextune.tools.large.open import open_retriever
from contextune.tools.large.stored_index import StoredIndex, index_folder
from contextune.tools.query import PastCalls
from contextune.types import Annotations, Item, ItemHit, Tool

EMBEDDER = WordEmbedder()
TOOLS = [
    tool if not copy else replace(tool, app=f"{tool.app} {word}", about=f"For {word} and others")
    for copy, word in enumerate(("", "Köln", "work", "school"))
    for tool in bundled_toolbox()
]
REQUESTS = (
    "Remind me to unload the kiln",
    "send a mail to Ana and book a table for two",
    "play the song from the car again",
    "koln search",
    "use search_emails",
    "when is my next meeting at school",
    "xyzzy",
)


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph, and merging into it, at sizes of tests."""
    monkeypatch.setattr(build, "ANN_MIN_TOOLS", 100)
    monkeypatch.setattr(build, "MAX_RECENT", 20)
    monkeypatch.setattr(snapshot, "_SMALL", 20)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[CatalogFile]:
    with CatalogFile(tmp_path / "tools.db") as file:
        file.put(TOOLS, "all")
        yield file


def open_index(file: CatalogFile, method: str = "learned") -> ToolRetriever:
    return ToolRetriever.from_index(StoredIndex(file, EMBEDDER), EMBEDDER, method=method)


def ids(retriever: ToolRetriever, text: str, k: int = 5) -> list[str]:
    return [hit.tool.id for hit in retriever.search(text, k)]


@pytest.mark.parametrize("graph", [False, True])
def test_results_are_those_of_an_index_in_memory(
    file: CatalogFile, graph: bool, request: pytest.FixtureRequest
) -> None:
    if graph:
        request.getfixturevalue("small_limits")
    build_index(file, EMBEDDER, part=70, threads=1)
    assert any(index_folder(file).rglob("*.usearch")) == graph
    past = PastCalls(np.array([3]), EMBEDDER.embed(["the usual"]), np.ones(1), np.ones(1, bool))
    context = [ItemHit(Item("n1", "Notes", {"title": "Kiln"}), 1.0)]
    for method in ("learned", "hybrid", "bm25", "semantic"):
        memory, stored = ToolRetriever(TOOLS, EMBEDDER, method=method), open_index(file, method)
        for text in REQUESTS:
            expected, result = memory.find(text, 5, context=context), stored.find(text, 5, context=context)
            assert [hit.tool for hit in result.hits] == [hit.tool for hit in expected.hits], (method, text)
            scores = [hit.score for hit in expected.hits]
            # half-precision vectors may fall on the other side of a split in a tree
            tolerance = 0.3 if method == "learned" else 2e-3
            assert [hit.score for hit in result.hits] == pytest.approx(scores, abs=tolerance)
            assert [tuple(hit.reasons) for hit in result.hits[:1]] == [
                tuple(hit.reasons) for hit in expected.hits[:1]
            ]
            assert result.fits == (None if expected.fits is None else pytest.approx(expected.fits, abs=0.05))
    memory, stored = ToolRetriever(TOOLS, EMBEDDER), open_index(file)
    place = file.places([TOOLS[3].id])[TOOLS[3].id]
    hits = stored.find("the usual", 1, past_calls=replace(past, tool=np.array([place]))).hits
    assert hits[0].tool == memory.find("the usual", 1, past_calls=past).hits[0].tool == TOOLS[3]


def test_filters_apply(file: CatalogFile) -> None:
    build_index(file, EMBEDDER)
    memory, stored = ToolRetriever(TOOLS, EMBEDDER), open_index(file)
    for tool_filter in (
        ToolFilter(servers=["Reminders work", "Nowhere"]),
        ToolFilter(read_only=True),
        ToolFilter(destructive=False, servers=["Mail", "Mail school"]),
        _Named(name="create_reminder"),
    ):
        expected = [hit.tool for hit in memory.search("remind me of a mail", 200, filter=tool_filter)]
        hits = [hit.tool for hit in stored.search("remind me of a mail", 200, filter=tool_filter)]
        assert sorted(tool.id for tool in hits) == sorted(tool.id for tool in expected)
        assert hits[:1] == expected[:1]


@dataclass(frozen=True, slots=True)
class _Named(ToolFilter):
    name: str = ""

    def __call__(self, tool: Tool) -> bool:
        return tool.name == self.name


def test_random_changes_are_applied_in_place(file: CatalogFile, small_limits: None) -> None:
    rng = random.Random(5)
    build_index(file, EMBEDDER, part=90)
    retriever = open_index(file)
    tools = {tool.id: tool for tool in TOOLS}
    generations = set[int]()
    for step in range(12):
        removed = [tools.pop(name) for name in rng.sample(sorted(tools), rng.choice([0, 1, 20]))]
        new = [Tool(f"fire_kiln_{step}_{n}", f"Fires kiln {step} {n}.", app="Kiln") for n in range(4)]
        old = tools[rng.choice(sorted(tools))]
        changed = replace(old, description=f"Glazes the quagga number{step}.")
        tools |= {tool.id: tool for tool in (*new, changed)}
        file.put(tools.values(), "all")
        # before the update nothing stale is returned, after it everything new is found
        for tool in (*removed[:3], old):
            assert tool not in [hit.tool for hit in retriever.search(f"{tool.app} {tool.name}", 20)]
        generations.add(update_index(file, EMBEDDER).manifest.generation)
        assert ids(retriever, f"fire_kiln_{step}_2", 1) == [f"Kiln/fire_kiln_{step}_2"]
        assert changed in [hit.tool for hit in retriever.search(f"glaze the quagga number{step}", 3)]
        for tool in removed[:3]:
            assert tool.id not in ids(retriever, f"{tool.app} {tool.name}", 20)
        assert len(StoredIndex(file, EMBEDDER, verify=True)) == len(tools)
    assert len(generations) == 12
    assert update_index(file, EMBEDDER).written == 0
    with pytest.raises(InvalidDataError, match="no tool"):
        retriever.catalog.tool("nothing")
    assert retriever.catalog.tool("fire_kiln_3_1") == tools["Kiln/fire_kiln_3_1"]
    assert {tool.id for tool in retriever.catalog} == set(tools)


def test_readers_go_on_while_an_update_is_written(file: CatalogFile, small_limits: None) -> None:
    build_index(file, EMBEDDER)

    def read(number: int) -> int:
        retriever = open_index(file)
        return sum(len(ids(retriever, f"{REQUESTS[n % 4]} {number}")) for n in range(12))

    def write(_: int) -> int:
        for n in range(4):
            file.put([Tool(f"tool_{n}_{m}", "Fires a kiln.", app="Kiln") for m in range(8)], "kiln")
            update_index(file, EMBEDDER)
        return 60

    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(read, 1), pool.submit(write, 0), pool.submit(read, 2)]
        assert [job.result() for job in jobs] == [60, 60, 60]


def test_index_of_another_embedder_or_file_is_refused(file: CatalogFile, tmp_path: Path) -> None:
    build_index(file, EMBEDDER)
    other = WordEmbedder()
    other.name = "other"
    with pytest.raises(StoreError, match="of the embedder"):
        StoredIndex(file, other)
    file.put([Tool("new", "New.")], "new")
    with pytest.raises(StoreError, match="another embedder"):
        update_index(file, other)
    with pytest.raises(InvalidRequestError, match="of the embedder"):
        ToolRetriever.from_index(StoredIndex(file, EMBEDDER), other)
    with CatalogFile(tmp_path / "b.db") as second:
        second.put(TOOLS[:3], "all")
        with pytest.raises(StoreError, match="no index"):
            StoredIndex(second, EMBEDDER)
        index_folder(file).rename(index_folder(second))
        with pytest.raises(StoreError, match="another catalogue file"):
            StoredIndex(second, EMBEDDER)


def test_damage_is_refused_and_a_build_repairs_it(file: CatalogFile, small_limits: None) -> None:
    build_index(file, EMBEDDER)
    folder = index_folder(file)
    (words,) = folder.rglob("words_all_rows.npy")
    (graph,) = folder.rglob("*.usearch")
    for path, deep in ((words, True), (graph, False)):
        content = path.read_bytes()
        path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
        with pytest.raises(StoreError, match=f"{path.name}.* is damaged"):
            StoredIndex(file, EMBEDDER, verify=deep)
        path.write_bytes(content[:-1])
        with pytest.raises(StoreError, match="damaged"):
            StoredIndex(file, EMBEDDER)
        path.write_bytes(content)
    graph.unlink()
    with pytest.raises(StoreError, match="lacks a file"):
        StoredIndex(file, EMBEDDER)
    manifest = folder / MANIFEST
    manifest.write_text(manifest.read_text().replace('"tools": ', '"tools": 1'))
    with pytest.raises(StoreError, match="damaged"):
        StoredIndex(file, EMBEDDER)
    (folder / "segment-9").mkdir()  # left by a writer that was killed
    build_index(file, EMBEDDER)
    assert ids(open_index(file), "use search_emails", 1)
    assert not (folder / "segment-9").exists()


def test_examples_and_annotations_survive_an_update(file: CatalogFile) -> None:
    build_index(file, EMBEDDER)
    tool = Tool(
        "ignite", "Heats.", app="Kiln", annotations=Annotations(read_only=True), examples=("wake the dragon",)
    )
    file.put([tool], "kiln")
    retriever = open_retriever(file, EMBEDDER)
    assert [hit.tool for hit in retriever.search("wake the dragon", 1)] == [tool]
    hits = retriever.search("wake the dragon", 50, filter=ToolFilter(read_only=False))
    assert tool not in [hit.tool for hit in hits]


def test_update_reports_its_progress(file: CatalogFile, monkeypatch: pytest.MonkeyPatch) -> None:
    build_index(file, EMBEDDER)
    file.put([Tool(f"fire_kiln_{n}", f"Fires kiln {n}.", app="Kiln") for n in range(5)], "more")
    monkeypatch.setattr(build, "PART", 2)
    calls: list[tuple[int, int]] = []
    assert update_index(file, EMBEDDER, progress=lambda done, of: calls.append((done, of))).written == 5
    assert calls == [(2, 5), (4, 5), (5, 5)]
