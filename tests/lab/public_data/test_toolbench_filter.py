"""ToolBench filter of the query generation paper."""

import pytest
from tests.paths import SHARED_DATA

from contextune.errors import InvalidRequestError
from contextune.types import Tool
from contextune_lab.public_data import paper_filter
from contextune_lab.public_data.collect import NO_TOOL
from contextune_lab.public_data.toolbench_filter import (
    ILL_DESCRIBED,
    MIXED,
    OUT_OF_DOMAIN,
    TOO_MANY,
)
from contextune_lab.public_data.toolset import LabelledRequest, Toolset, read_toolset

SHARED = SHARED_DATA


def many(servers: int, requests: int) -> Toolset:
    tools = [
        Tool("find", "Finds one of the many things there are", app=f"server {n}") for n in range(servers)
    ]
    queries = [
        LabelledRequest(str(n), f"Find {n}", frozenset([n % servers]), "train") for n in range(requests)
    ]
    return Toolset("many", tuple(tools), tuple(queries))


def test_filter_keeps_requests_with_few_well_described_tools() -> None:
    words = [4, 5, 50, 51, 7]
    tools = tuple(Tool(f"t{n}", " ".join(["word"] * n), app="one server") for n in words)
    relevant = [{0}, {1, 2}, {3}, {1, 2, 4}, {0, 1, 2, 4}, set[int](), {4, 0}]
    queries = tuple(
        LabelledRequest(str(n), f"Do {n}", frozenset(some), "x") for n, some in enumerate(relevant)
    )
    published = paper_filter(Toolset("bench", tools, queries), out_of_domain=0, in_domain_test=0)
    assert [tool.name for tool in published.toolset.tools] == ["t5", "t50", "t7"]
    assert [(query.id, query.relevant, query.split) for query in published.toolset.queries] == [
        ("1", {0, 1}, "train"),
        ("3", {0, 1, 2}, "train"),
    ]
    assert {request_.id: request_.reason for request_ in published.skipped} == {
        "0": ILL_DESCRIBED,
        "2": ILL_DESCRIBED,
        "4": TOO_MANY,
        "5": NO_TOOL,
        "6": ILL_DESCRIBED,
    }


def test_filter_can_keep_tools_without_requests() -> None:
    toolset = many(10, 3)
    assert len(paper_filter(toolset).toolset.tools) == 3
    whole = paper_filter(toolset, unasked=True)
    assert len(whole.toolset.tools) == 10
    assert {query.id: query.relevant for query in whole.toolset.queries} == {"0": {0}, "1": {1}, "2": {2}}


def test_domains_share_no_server_and_match_the_papers_shares() -> None:
    toolset = many(1000, 6000)
    filtered = paper_filter(toolset).toolset
    servers = {
        split: {filtered.tools[place].app for query in filtered.split(split) for place in query.relevant}
        for split in ("train", "id_test", "ood")
    }
    assert not servers["ood"] & (servers["train"] | servers["id_test"])
    assert len(servers["ood"]) / 1000 == pytest.approx(OUT_OF_DOMAIN, abs=0.04)
    seen = len(filtered.split("train", "id_test"))
    assert len(filtered.split("id_test")) / seen == pytest.approx(0.1, abs=0.02)
    assert len(filtered.queries) == 6000


def test_split_depends_only_on_the_seed() -> None:
    splits = {query.id: query.split for query in paper_filter(many(200, 400)).toolset.queries}
    assert {query.id: query.split for query in paper_filter(many(200, 400)).toolset.queries} == splits
    fewer = paper_filter(many(200, 200)).toolset.queries
    assert {query.id: query.split for query in fewer}.items() <= splits.items()
    assert {query.id: query.split for query in paper_filter(many(200, 400), seed=1).toolset.queries} != splits


def test_requests_across_domains_are_skipped() -> None:
    single = many(200, 200)
    split = {next(iter(query.relevant)): query.split for query in paper_filter(single).toolset.queries}
    unseen, seen = (next(n for n, name in split.items() if (name == "ood") is out) for out in (True, False))
    mixed = LabelledRequest("both", "Find both", frozenset([unseen, seen]), "train")
    published = paper_filter(Toolset("many", single.tools, (*single.queries, mixed)))
    assert {request_.id: request_.reason for request_ in published.skipped} == {"both": MIXED}


def test_invalid_shares_are_rejected() -> None:
    with pytest.raises(InvalidRequestError, match=r"shares must be from 0 to 1"):
        paper_filter(many(2, 2), out_of_domain=1.5, in_domain_test=0.1)


@pytest.mark.skipif(not (SHARED / "toolbench" / "filter").exists(), reason="the public data is not here")
def test_filter_reproduces_the_filtered_copy() -> None:
    kept = read_toolset(SHARED / "toolbench" / "filter")
    published = paper_filter(read_toolset(SHARED / "toolbench"))
    filtered = published.toolset
    # the copy was split by another draw: which requests pass is the same, before those of both domains go
    passed = {query.id for query in filtered.queries} | {
        request_.id for request_ in published.skipped if request_.reason == MIXED
    }
    assert {query.id for query in kept.queries} <= passed
    assert 0.5 < len(filtered.queries) / len(kept.queries) < 2
    assert 0.5 < len(filtered.tools) / len(kept.tools) < 2
    assert {query.split for query in filtered.queries} == {query.split for query in kept.queries}
    assert all(5 <= len(tool.description.split()) <= 50 for tool in filtered.tools)
