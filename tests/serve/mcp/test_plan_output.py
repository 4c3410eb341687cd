"""Plans as the MCP server reports them."""

from datetime import datetime
from pathlib import Path

from tests.tools.tiny_ranker import bundled_retriever

from contextune import Request, SQLiteStore, Tuner
from contextune.serve.mcp.user_schemas import RequestInput
from contextune.serve.mcp.user_tools import plan_request
from contextune.types import Item, User


def test_confidence_in_a_refusal_is_that_no_tool_serves(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "store.db") as store:
        store.put_user(User("ines", {}))
        tuner = Tuner(store, tools=bundled_retriever())
        request = Request("Switch the dehumidifier on", user="ines", time=datetime(2026, 3, 5, 10, 5))
        output = plan_request(tuner, request)
    assert output.decision == "none"
    assert output.fits is not None
    assert output.confidence == output.steps[0].confidence == round(1 - output.fits, 2)


def test_answer_is_beside_a_call_that_only_reads(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "store.db") as store:
        store.put_user(User("ines", {}))
        store.put_items(
            "ines",
            [Item.event(id="c1", name="Glaze night", location="Barro <Studio>", start="2026-03-06T19:00")],
        )
        tuner = Tuner(store, tools=bundled_retriever())
        at = datetime(2026, 3, 5, 10, 5)
        output = plan_request(tuner, Request("When does the glaze night begin?", user="ines", time=at))
        cancelled = plan_request(tuner, Request("Cancel the glaze night.", user="ines", time=at))
    assert output.steps[0].tool == "Calendar/get_event"
    assert output.answer is not None
    assert output.answer.text == "Fri 6 Mar, 19:00, Barro ‹Studio>"
    assert (output.answer.source.item, output.answer.source.time) == ("c1", "2026-03-06T19:00:00")
    assert cancelled.answer is None


def test_state_of_a_plan_makes_the_next_reply_understood(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "store.db") as store:
        store.put_user(User("ines", {}))
        tuner = Tuner(store, tools=bundled_retriever())
        at = "2026-03-05T10:05"
        first = RequestInput(text="Remind me to order clay tomorrow at 9", time=at)
        asked = plan_request(tuner, first.to_request("ines"))
        reply = RequestInput(text="make it 10", time=at, state=asked.state)
        corrected = plan_request(tuner, reply.to_request("ines"))
        thanks = RequestInput(text="thanks", time=at, state=corrected.state)
        said = plan_request(tuner, thanks.to_request("ines"))
    assert corrected.steps[0].arguments["due_time"] == "2026-03-06T10:00"
    assert (said.steps, said.say) == ([], "You're welcome.")
    assert said.state == corrected.state
