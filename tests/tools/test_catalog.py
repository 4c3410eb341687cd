"""Catalog: unique ids, lookup by id or name, duplicates on other servers."""

from dataclasses import replace

import pytest

from contextune.errors import InvalidDataError
from contextune.tools import Catalog
from contextune.types import Annotations, Tool

ARGUMENTS = {"query": {"type": "string"}, "limit": {"type": "integer"}}
SCHEMA = {"type": "object", "properties": ARGUMENTS}
HERE = Tool("search", "Searches the files.", app="drive", parameters=SCHEMA)
THERE = replace(HERE, app="archive")
OTHER = Tool("search", "Searches the mailbox.", app="mail")
SEND = Tool("send", "Sends a mail.", app="mail")
FREE = Tool("now", "Tells the time.")


def test_catalog_keeps_the_order() -> None:
    catalog = Catalog([SEND, HERE, FREE])
    assert list(catalog) == [SEND, HERE, FREE]
    assert (len(catalog), catalog[0], catalog[-1], catalog[1:]) == (3, SEND, FREE, (HERE, FREE))
    assert HERE in catalog
    assert OTHER not in catalog
    assert len(Catalog()) == 0


def test_equal_tools_are_merged() -> None:
    assert list(Catalog([SEND, HERE, SEND, replace(HERE)])) == [SEND, HERE]


def test_duplicates_are_the_same_tool_on_other_servers() -> None:
    catalog = Catalog([HERE, OTHER, THERE, SEND])
    assert [tool.id for tool in catalog] == ["drive/search", "mail/search", "archive/search", "mail/send"]
    assert catalog.duplicates(HERE) == [THERE]
    assert catalog.duplicates(THERE) == [HERE]
    assert catalog.duplicates(OTHER) == catalog.duplicates(SEND) == []


def test_identity_ignores_app_and_annotations() -> None:
    reordered = {"properties": dict(reversed(ARGUMENTS.items())), "type": "object"}
    same = [
        THERE,
        replace(HERE, app=""),
        replace(HERE, app="a", about="A server.", annotations=Annotations(read_only=True)),
        replace(HERE, app="b", parameters=reordered),
    ]
    assert {tool.identity for tool in same} == {HERE.identity}
    different = [
        replace(HERE, name="find"),
        replace(HERE, description="Searches."),
        replace(HERE, parameters={"type": "object"}),
    ]
    assert len({tool.identity for tool in [HERE, *different]}) == 4


def test_different_tools_with_one_id_are_an_error() -> None:
    with pytest.raises(InvalidDataError, match=r"'drive/search'.*different names"):
        Catalog([HERE, SEND, replace(HERE, description="Searches the drive.")])
    with pytest.raises(InvalidDataError, match="'now'"):
        Catalog([FREE, replace(FREE, title="Now")])


def test_tool_is_found_by_id_or_unique_name() -> None:
    catalog = Catalog([HERE, OTHER, SEND, FREE])
    assert catalog.tool("mail/search") == OTHER
    assert catalog.tool("send") == SEND
    assert catalog.tool("now") == FREE
    with pytest.raises(InvalidDataError, match="'search': use an id, such as 'drive/search', 'mail/search'"):
        catalog.tool("search")
    for unknown in ("fly", "drive/send", "Send", ""):
        with pytest.raises(InvalidDataError, match=f"no tool '{unknown}' in the catalogue"):
            catalog.tool(unknown)


def test_id_takes_precedence_over_name() -> None:
    plain = Tool("search", "Searches everything.")
    assert Catalog([HERE, plain]).tool("search") == plain
