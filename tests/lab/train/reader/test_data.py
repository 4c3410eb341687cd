"""Training set of the reader."""

from datetime import datetime
from random import Random

from contextune.datasets import Pair, PairItem
from contextune.plan.planning_input import PlanningInput
from contextune.plan.reader.text import SEPARATOR, reader_text
from contextune.types import Item, ItemHit, Request, User
from contextune_lab.train.rankers.calls.requests import FULL, PLAIN, REMOVED, CallRequest
from contextune_lab.train.reader.data import training_set
from contextune_lab.train.reader.rows import PartDropout, ReaderRow, row_text, varied_text

NOW = datetime(2024, 5, 14, 16, 45)
ITEMS = [
    Item.event(name="Dinner", start=datetime(2024, 5, 14, 18, 45)),
    *(Item(f"i{number}", "Tasks", {"title": f"Task {number}"}) for number in range(2, 8)),
]
PAIR = Pair(
    id="p1-0000",
    query="the usual",
    kind="habit",
    cot="",
    items=(PairItem(app="Music", text="Music — Song — album: Spaces"),),
    distractor=PairItem(app="Notes", text="Notes — Tea"),
    api="play_song",
    tool_query="",
    args={},
)
WHOLE = PartDropout(items=0, moment=0)


def call_request(name: str, source: str, kind: str, tool: str | None) -> CallRequest:
    request = Request("when do I leave?", user="a", time=NOW, place="office")
    inputs = PlanningInput(request, User("a"), [ItemHit(item, 1.0) for item in ITEMS])
    return CallRequest(name, "a", 2, kind, source, True, inputs, [], 1.0, tool)


def test_row_of_a_request_gives_the_text_of_run_time() -> None:
    request = call_request("a/q1", FULL, "semantic", "get_directions")
    row = training_set([request], [])["rows"][0]
    assert (row["name"], row["fold"], row["group"], row["tool"]) == ("a/q1", 2, "implicit", "get_directions")
    assert row["moment"] == "Tue 16:45, at office"
    assert row["items"][0].startswith("Calendar: ")
    assert row["items"][0].endswith("(in 2 h)")
    assert len(row["items"]) == 5
    assert row_text(row, SEPARATOR) == reader_text(request.inputs.request, ITEMS, None)


def test_copies_without_tools_are_left_out() -> None:
    requests = [
        call_request("a/q1", FULL, "explicit", "get_event"),
        call_request("a/q1", REMOVED, "explicit", None),
        call_request("plain/1", PLAIN, "explicit", None),
    ]
    rows = training_set(requests, [])["rows"]
    assert [(row["group"], row["tool"]) for row in rows] == [("explicit", "get_event"), ("plain", None)]


def test_pair_belongs_to_no_fold_and_names_its_application_once() -> None:
    row = training_set([], [PAIR])["rows"][0]
    assert (row["fold"], row["moment"], row["tool"]) == (None, "", "play_song")
    assert row_text(row, SEPARATOR) == "the usual | Music: Song — album: Spaces | Notes: Tea"


def test_only_items_of_pairs_are_shuffled() -> None:
    pair, request = (
        training_set([call_request("a/q1", FULL, "semantic", "get_event")], [PAIR])["rows"][place]
        for place in (1, 0)
    )
    assert len({varied_text(pair, SEPARATOR, WHOLE, Random(seed)) for seed in range(20)}) == 2
    assert {varied_text(request, SEPARATOR, WHOLE, Random(seed)) for seed in range(20)} == {
        row_text(request, SEPARATOR)
    }


def test_parts_are_left_out_as_often_as_asked() -> None:
    row: ReaderRow = training_set([call_request("a/q1", FULL, "semantic", "get_event")], [])["rows"][0]
    draw = Random(0)
    texts = [varied_text(row, SEPARATOR, PartDropout(items=0.2, moment=0.5), draw) for _ in range(2000)]
    assert 0.15 < sum("Tasks" not in text for text in texts) / len(texts) < 0.25
    assert 0.45 < sum("Tue" not in text for text in texts) / len(texts) < 0.55
    assert all(text.startswith("when do I leave?") for text in texts)
    assert varied_text(row, SEPARATOR, PartDropout(items=1, moment=1), draw) == "when do I leave?"
