"""Plans as the MCP server reports them."""

from datetime import datetime
from pathlib import Path

from tests.tools.tiny_ranker import bundled_retriever

from contextune import Request, SQLiteStore, Tuner
from contextune.serve.mcp.user_tools import plan_request
from contextune.types import User


def test_confidence_in_a_refusal_is_that_no_tool_serves(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "store.db") as store:
        store.put_user(User("ines", {}))
        tuner = Tuner(store, tools=bundled_retriever())
        request = Request("Switch the dehumidifier on", user="ines", time=datetime(2026, 3, 5, 10, 5))
        output = plan_request(tuner, request)
    assert output.decision == "none"
    assert output.fits is not None
    assert output.confidence == output.steps[0].confidence == round(1 - output.fits, 2)
