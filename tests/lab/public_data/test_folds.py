"""Training requests of public catalogues: no tested request, disjoint folds."""

import random
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.lab.train.tiny_tools import Row, api, ask, vector, world, write
from tests.paths import SHARED_DATA

from contextune.context.signals.utterance import REQUEST_KINDS
from contextune.datasets import (
    bundled_pairs,
    bundled_personas,
    everyday_requests,
    plain_requests,
    training_pairs,
    training_personas,
    training_requests,
)
from contextune.tools import Catalog, bundled_toolbox
from contextune.tools.tool_text import tool_text
from contextune.types import Tool
from contextune.types.app_schema import APPS
from contextune_lab.bench.quality.public_catalogues import TESTS
from contextune_lab.public_data import folds as public_tools
from contextune_lab.public_data.folds import (
    WEIGHTS,
    HeldOutTools,
    assign_folds,
    toolbench_training,
    training_catalogs,
    training_toolsets,
)
from contextune_lab.public_data.toolset import LabelledRequest, Toolset, read_toolset
from contextune_lab.train.splits import is_test

SHARED = SHARED_DATA


def texts(queries: Iterable[LabelledRequest]) -> list[str]:
    return [query.text for query in queries]


def plainly(said: Iterable[str]) -> set[str]:
    return {" ".join(text.casefold().split()) for text in said}


def server(tool: Tool) -> str:
    """A tool named like its server has no app."""
    return tool.app or tool.name


def bench(folder: Path) -> Toolset:
    return toolbench_training(folder, read_toolset(folder / "toolbench" / "filter", "toolbench"))


@cache
def real_toolsets() -> list[Toolset]:
    """The training data in the shared folder, read once."""
    return list(training_toolsets(SHARED))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return world(tmp_path)


def test_training_toolsets_have_only_training_requests(folder: Path) -> None:
    toolsets = {toolset.name: toolset for toolset in training_toolsets(folder)}
    assert list(toolsets) == list(WEIGHTS)
    for name in ("toollens", "metatool"):
        given = read_toolset(folder / name)
        assert toolsets[name].tools == given.tools
        assert toolsets[name].queries == tuple(given.split("train"))  # none of them uses a tested server
    assert sum(WEIGHTS.values()) == 1


def test_toolbench_training_excludes_tested_servers(folder: Path) -> None:
    given, found = read_toolset(folder / "toolbench" / "filter"), bench(folder)
    whole = [f"whole {n} for more{n % 4}" for n in range(8)]
    assert texts(found.queries) == [
        *texts(given.split("train")),
        *whole,
        "extra, of the filter's tools and others",
    ]
    assert found.tools[: len(given.tools)] == given.tools
    assert [tool.id for tool in found.tools[len(given.tools) :]] == [
        "more0/read",
        "more1/read",
        "more2/read",
        "more3/read",
        "more0/send",
    ]
    extra = found.queries[-1]
    assert {found.tools[place].id for place in extra.relevant} == {"more0/send", "seen0/read"}
    assert {query.split for query in found.queries} == {"train"}


def test_tested_server_named_like_its_tool_is_excluded(tmp_path: Path) -> None:
    tools = [api("Emoji", "Emoji"), api("Emoji", "search"), api("Clock", "read")]
    write(tmp_path / "toolbench" / "filter", tools, [ask("smile", "ood", "Emoji.Emoji")])
    whole = [ask("find a smile", "train", "Emoji.search"), ask("how late", "train", "Clock.read")]
    write(tmp_path / "toolbench", tools, whole)
    assert texts(bench(tmp_path).queries) == ["how late"]


def test_merged_tools_keep_their_requests(tmp_path: Path) -> None:
    """Of two tools with one name the filter has only the second, under the plain name."""
    twice = [api("Air", "codes", "first"), api("Air", "codes", "second"), api("Air", "codes", "third")]
    write(tmp_path / "toolbench" / "filter", twice[1:2], [ask("kept", "train", "second")])
    asked = [ask(key, "train", key) for key in ("first", "second", "third")]
    write(tmp_path / "toolbench", twice, asked)
    found = bench(tmp_path)
    wanted = {
        query.text: {found.tools[place].description for place in query.relevant} for query in found.queries
    }
    assert wanted == {
        "kept": {"does second"},
        "first": {"does first"},
        "second": {"does second"},
        "third": {"does third"},
    }
    assert len(Catalog(found.tools)) == 3


_SEEN, _KEPT, _MORE = ("a", "b", "c"), ("d", "e"), ("f", "g")


def requests(servers: tuple[str, ...], splits: tuple[str, ...]) -> st.SearchStrategy[list[Row]]:
    named = st.sampled_from([f"{name}.{part}" for name in servers for part in ("x", "y")])
    wanted = st.sets(named, min_size=1, max_size=3)
    one = st.tuples(st.integers(0, 12), st.sampled_from(splits), wanted)
    return st.lists(one, max_size=8, unique_by=lambda row: row[0]).map(
        lambda rows: [ask(f"request {number}", split, *wanted) for number, split, wanted in rows]
    )


@settings(max_examples=60)
@given(
    filtered=requests(_SEEN, ("train", "id_test")),
    strange=requests(_KEPT, ("ood",)),
    whole=requests((*_SEEN, *_KEPT, *_MORE), ("train", "extra", "test")),
)
def test_no_tested_request_is_in_training(
    tmp_path_factory: pytest.TempPathFactory, filtered: list[Row], strange: list[Row], whole: list[Row]
) -> None:
    """For any data: equal texts in all splits, requests with trained and tested servers."""
    strange = [row for row in strange if row["query"] not in {other["query"] for other in filtered}]
    folder = tmp_path_factory.mktemp("made")
    tools = [api(name, part) for name in (*_SEEN, *_KEPT, *_MORE) for part in ("x", "y")]
    few = [row for row in tools if row["tool"] not in _MORE]
    write(folder / "toolbench" / "filter", few, [*filtered, *strange])
    write(folder / "toolbench", tools, whole)
    found = bench(folder)
    tested = {row["query"] for row in (*filtered, *strange) if row["split"] != "train"}
    hidden = {name.split(".")[0] for row in strange for name in row["relevant"]}
    learnt = {query.text: query for query in found.queries}
    assert len(learnt) == len(found.queries)
    assert not learnt.keys() & tested
    assert not {server(found.tools[place]) for query in found.queries for place in query.relevant} & hidden
    own = {row["query"]: row for row in filtered if row["split"] == "train"}
    assert own.keys() <= learnt.keys()
    tests = {row["query"] for row in whole if row["split"] == "test"} - own.keys()
    assert not learnt.keys() & tests
    for text, query in learnt.items():
        row = own.get(text) or next(row for row in whole if row["query"] == text)
        ids = {found.tools[place].id.replace("/", ".") for place in query.relevant}
        assert ids == set(row["relevant"])
    free = [row for row in whole if row["split"] != "test" and row["query"] not in tested | own.keys()]
    free = [row for row in free if not {name.split(".")[0] for name in row["relevant"]} & hidden]
    assert len(learnt) == len(own) + len(free)  # and nothing else is left out


def made(name: str, queries: int) -> Toolset:
    """Thirty requests to one server each, then others to one or two."""
    tools = tuple(Tool("do", f"does {n}", app=f"server {n}") for n in range(30))
    wanted = [{n % 30, n * n % 30 if n >= 30 else n} for n in range(queries)]
    asked = [LabelledRequest(str(n), f"request {n}", frozenset(w), "train") for n, w in enumerate(wanted)]
    return Toolset(name, tools, tuple(asked))


@pytest.mark.parametrize("name", ["toolbench", "toollens"])
def test_request_is_kept_by_a_fold_that_excludes_it(name: str) -> None:
    toolset = made(name, 300)
    found = assign_folds(toolset, 5)
    assert sorted(query["text"] for query in found) == sorted(texts(toolset.queries))
    given = {query.text: query for query in toolset.queries}
    for query in found:
        assert query["relevant"] == sorted(given[query["text"]].relevant)
        assert query["kept"] == query["folds"][0]  # there are fewer than are kept at most
        assert query["folds"] == sorted(set(query["folds"]))
        assert set(query["folds"]) <= set(range(5))
    assert {query["kept"] for query in found} == set(range(5))


def test_requests_of_a_server_share_their_excluded_fold() -> None:
    """In ToolBench, a fold's embedder has seen no request to a server of that fold."""
    found = assign_folds(made("toolbench", 300), 5)
    alone = {query["relevant"][0]: query["folds"] for query in found if len(query["relevant"]) == 1}
    assert len(alone) == 30
    assert all(len(folds) == 1 for folds in alone.values())
    for query in found:
        assert query["folds"] == sorted({alone[place][0] for place in query["relevant"]})
    assert any(len(query["folds"]) > 1 for query in found)


def test_other_catalogues_are_split_by_request() -> None:
    found = assign_folds(made("toollens", 300), 5)
    assert all(len(query["folds"]) == 1 for query in found)
    shared = [{query["folds"][0] for query in found if place in query["relevant"]} for place in range(30)]
    assert any(len(folds) > 1 for folds in shared)


def test_folds_depend_only_on_the_data() -> None:
    """Independent of request order and run: vectors of one run are read in another."""
    toolset = made("toolbench", 60)
    mixed = list(toolset.queries)
    random.Random(7).shuffle(mixed)
    assert assign_folds(Toolset("toolbench", toolset.tools, tuple(mixed)), 5) == assign_folds(toolset, 5)
    first = assign_folds(toolset, 5)[:3]
    assert [(query["text"], query["folds"]) for query in first] == [
        ("request 10", [3]),
        ("request 14", [4]),
        ("request 9", [4]),
    ]


def test_folds_keep_at_most_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_tools, "MAX_KEPT", 7)
    found = assign_folds(made("toollens", 300), 5)
    for fold in range(5):
        mine = [query for query in found if query["folds"] == [fold]]
        assert [query["kept"] for query in mine] == [fold] * 7 + [-1] * (len(mine) - 7)


def test_training_catalogs_contain_texts(folder: Path) -> None:
    catalogs, toolsets = training_catalogs(folder, 5), training_toolsets(folder)
    assert [catalog["name"] for catalog in catalogs] == list(WEIGHTS)
    for catalog, toolset in zip(catalogs, toolsets, strict=True):
        assert catalog["weight"] == WEIGHTS[toolset.name]
        assert catalog["tools"] == [tool_text(tool) for tool in toolset.tools]
        assert catalog["queries"] == assign_folds(toolset, 5)


@pytest.mark.skipif(not (SHARED / "toolbench").is_dir(), reason="the public data is not beside the package")
def test_no_tested_request_is_in_training_in_the_real_data() -> None:
    toolsets = real_toolsets()
    learnt = {query.text for toolset in toolsets for query in toolset.queries}
    given = {name: read_toolset(SHARED / name) for name in {name for name, _ in TESTS.values()}}
    for name, split in TESTS.values():
        tested = given[name].split(split)
        assert len(tested) > 100
        assert not learnt & set(texts(tested))
    strange = given["toolbench/filter"]
    hidden = {server(strange.tools[place]) for query in strange.split("ood") for place in query.relevant}
    bench = toolsets[0]
    assert not hidden & {server(bench.tools[place]) for query in bench.queries for place in query.relevant}
    assert len(hidden) > 50
    for toolset in toolsets:
        assert len(Catalog(toolset.tools)) == len(toolset.tools)
        assert {query["kept"] for query in assign_folds(toolset, 5)} == {-1, 0, 1, 2, 3, 4}


def test_training_pairs_use_known_apps_and_apis() -> None:
    pairs, tools = training_pairs(), {tool.name: tool for tool in bundled_toolbox()}
    assert {pair.api for pair in pairs} == tools.keys()
    assert {pair.kind for pair in pairs} == {*REQUEST_KINDS} - {"explicit"}
    assert {item.app for pair in pairs for item in (*pair.items, pair.distractor)} <= APPS.keys()
    for pair in pairs:
        schema = tools[pair.api].parameters
        assert set(schema["required"]) <= pair.args.keys() <= schema["properties"].keys(), pair.id


def test_training_pairs_do_not_repeat_bundled_pairs() -> None:
    pairs, before = training_pairs(), bundled_pairs()
    assert len({pair.id for pair in (*pairs, *before)}) == len(pairs) + len(before)
    assert len({pair.batch for pair in pairs} & {pair.batch for pair in before}) == 0
    asked = plainly(pair.query for pair in pairs)
    assert len(asked) == len(pairs)
    assert not asked & plainly(pair.query for pair in before)


def test_plain_requests_use_the_bundled_toolbox() -> None:
    found, tools = plain_requests(), {tool.name for tool in bundled_toolbox()}
    assert {request.api for request in found if request.api is not None} == tools
    assert len(plainly(request.text for request in found)) == len(found)
    sorts = {(request.api is not None, request.implicit) for request in found}
    assert sorts == {(True, False), (True, True), (False, False), (False, True)}


def test_training_data_contains_no_measured_query() -> None:
    asked = plainly(query.text for persona in bundled_personas() for query in persona.queries)
    learnt = [pair.query for pair in training_pairs()] + [request.text for request in plain_requests()]
    learnt += [query.text for queries in training_requests().values() for query in queries]
    assert not asked & plainly(learnt)


def test_training_requests_refer_to_their_personas() -> None:
    personas = {persona.id: persona for persona in (*bundled_personas(), *training_personas())}
    requests, tools = training_requests(), {tool.name for tool in bundled_toolbox()}
    assert requests.keys() == personas.keys()
    for name, queries in requests.items():
        persona = personas[name]
        assert len({query.id for query in queries} | {query.id for query in persona.queries}) == len(
            queries
        ) + len(persona.queries)
        for query in queries:
            visible = {persona.items[place].id for place in persona.visible(query)}
            assert (query.gold.relevant or {}).keys() <= visible, (name, query.id)
            assert query.gold.api in tools
            assert query.gold.relevant or query.gold.kind == "explicit"


def test_everyday_requests_refer_to_personas_that_are_not_tested() -> None:
    personas = {persona.id: persona for persona in (*bundled_personas(), *training_personas())}
    requests, tools = everyday_requests(), {tool.name for tool in bundled_toolbox()}
    assert not any(map(is_test, requests))
    assert sum(map(len, requests.values())) == 2400
    for name, queries in requests.items():
        items = {item.id for item in personas[name].items}
        for query in queries:
            assert (query.gold.relevant or {}).keys() <= items, (name, query.id)
            assert query.gold.api is None or query.gold.api in tools


def test_random_test_vectors_are_dissimilar() -> None:
    """A precondition of these tests."""
    rows = [vector(0, n) for n in range(60)]
    assert max(float(a @ b) for a in rows for b in rows if a is not b) < 0.6


def test_held_out_servers_and_apis_are_in_no_training_source(tmp_path: Path) -> None:
    """ToolLens draws from ToolBench's servers: under another spelling, or an API under another server."""
    tested, other = api("Weather API", "now"), api("Clock", "read")
    write(tmp_path / "toolbench" / "filter", [tested], [ask("is it wet", "ood", "Weather-API.now")])
    write(tmp_path / "toolbench", [tested, other], [ask("how late", "train", "Clock.read")])
    respelt, moved = api("weather-api", "later"), {**tested, "id": "moved", "tool": "Sky"}
    wanted = [
        ask("will it be wet", "train", "weather-api.later"),
        ask("wet or not", "train", "moved"),
        ask("wet by which hour", "train", "Clock.read", "moved"),
        ask("which hour", "train", "Clock.read"),
    ]
    for name in ("toollens", "metatool"):
        write(tmp_path / name, [respelt, moved, other], wanted)
    for toolset in training_toolsets(tmp_path):
        assert texts(toolset.queries) == (["how late"] if toolset.name == "toolbench" else ["which hour"])
        # not even a wrong tool is held out
        assert [tool.id for tool in toolset.tools] == ["Clock/read"]


@pytest.mark.skipif(not SHARED.exists(), reason="the public catalogues are not here")
def test_no_training_request_uses_a_held_out_server_of_the_real_data() -> None:
    held_out = HeldOutTools.from_toolbench(read_toolset(SHARED / "toolbench" / "filter", "toolbench"))
    assert len(held_out.servers) == 66
    for toolset in real_toolsets():
        assert toolset.queries
        for query in toolset.queries:
            assert held_out.allows(toolset.tools[place] for place in query.relevant), query.text
