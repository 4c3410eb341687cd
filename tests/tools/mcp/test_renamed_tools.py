"""A tool that is only renamed has changed, and needs approval as well."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextune.tools.catalog import LoadedTools
from contextune.tools.mcp.approvals import ApprovalFile, review
from contextune.types import Tool

SERVER = "notes http://notes.example"


def loaded(*names: str) -> LoadedTools:
    return LoadedTools(tuple(Tool(name, f"Does {name}.", app="notes") for name in names))


def usable(approvals: ApprovalFile, *names: str) -> list[str]:
    return [tool.name for tool in review(approvals, SERVER, loaded(*names)).tools]


@pytest.fixture
def approvals(tmp_path: Path) -> Iterator[ApprovalFile]:
    with ApprovalFile(tmp_path / "approvals.db") as file:
        yield file


def test_renamed_tool_waits_for_approval(approvals: ApprovalFile) -> None:
    assert usable(approvals, "read", "write") == ["read", "write"]
    assert usable(approvals, "read", "write2") == ["read"]
    assert usable(approvals, "read", "write2") == ["read"]
    (pending,) = approvals.pending()
    assert pending.is_new
    assert "approve" in pending.reason
    assert any(difference.new == '"Does write2."' for difference in pending.differences)
    approvals.approve(pending)
    assert usable(approvals, "read", "write2") == ["read", "write2"]


def test_further_tool_is_accepted_while_the_others_stay(approvals: ApprovalFile) -> None:
    assert usable(approvals, "read") == ["read"]
    assert usable(approvals, "read", "search") == ["read", "search"]


def test_endless_renaming_leaves_no_trace(approvals: ApprovalFile) -> None:
    usable(approvals, "read", "write")
    for number in range(20):
        assert usable(approvals, "read", f"write{number}") == ["read"]
    assert [approval.tool for approval in approvals.pending()] == ["notes/write19"]


def test_number_of_waiting_tools_is_limited(approvals: ApprovalFile) -> None:
    usable(approvals, "read")
    assert usable(approvals, *(f"t{number}" for number in range(1500))) == []
    assert len(approvals.pending()) == 1000


def test_tool_that_comes_back_is_usable(approvals: ApprovalFile) -> None:
    usable(approvals, "read", "write")
    usable(approvals, "read", "other")
    assert usable(approvals, "read", "write") == ["read", "write"]
    assert approvals.pending() == []
