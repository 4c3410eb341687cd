"""The table of the paper's example requests."""

import pytest
from tests.paths import ROOT
from tests.tools.querygen.fake_writer import FixedModel

from contextune.errors import InvalidDataError
from contextune.tools import QueryGenerator
from contextune_lab.bench.querygen.examples import (
    BEGIN,
    END,
    REQUESTS,
    examples_table,
    replace_table,
)


def test_every_request_has_a_row() -> None:
    rows = examples_table(QueryGenerator(FixedModel("Finds coffee | tea\nFinds cafés"))).splitlines()
    assert len(rows) == 2 + len(REQUESTS)
    assert rows[2] == f"| {REQUESTS[0]} | Finds coffee \\| tea<br>Finds cafés |"


def test_unusable_answer_is_shown_as_none() -> None:
    assert examples_table(QueryGenerator(FixedModel(""))).count("| (none) |") == len(REQUESTS)


def test_table_replaces_the_one_between_the_markers() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert replace_table(page, "new") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    with pytest.raises(InvalidDataError, match="the page has no"):
        replace_table("before", "new")


def test_docs_show_the_papers_requests() -> None:
    page = (ROOT / "docs" / "querygen.md").read_text(encoding="utf-8")
    table = page[page.index(BEGIN) : page.index(END)]
    assert all(f"| {request} |" in table for request in REQUESTS)
