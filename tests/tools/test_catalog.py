"""A catalogue: every tool once, under an id that says whose it is."""

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


def test_tools_stay_in_the_order_given() -> None:
    catalog = Catalog([SEND, HERE, FREE])
    assert list(catalog) == [SEND, HERE, FREE]
    assert (len(catalog), catalog[0], catalog[-1], catalog[1:]) == (3, SEND, FREE, (HERE, FREE))
    assert HERE in catalog
    assert OTHER not in catalog
    assert len(Catalog()) == 0


def test_a_tool_given_twice_is_one_tool() -> None:
    assert list(Catalog([SEND, HERE, SEND, replace(HERE)])) == [SEND, HERE]


def test_the_same_tool_on_two_servers_stays_two_and_they_know_each_other() -> None:
    catalog = Catalog([HERE, OTHER, THERE, SEND])
    assert [tool.id for tool in catalog] == ["drive/search", "mail/search", "archive/search", "mail/send"]
    assert catalog.twins(HERE) == [THERE]
    assert catalog.twins(THERE) == [HERE]
    assert catalog.twins(OTHER) == catalog.twins(SEND) == []


def test_a_twin_says_the_same_of_itself_whoever_offers_it() -> None:
    turned = {"properties": dict(reversed(ARGUMENTS.items())), "type": "object"}
    same = [
        THERE,
        replace(HERE, app=""),
        replace(HERE, app="a", about="A server.", annotations=Annotations(read_only=True)),
        replace(HERE, app="b", parameters=turned),
    ]
    assert {tool.identity for tool in same} == {HERE.identity}
    different = [
        replace(HERE, name="find"),
        replace(HERE, description="Searches."),
        replace(HERE, parameters={"type": "object"}),
    ]
    assert len({tool.identity for tool in [HERE, *different]}) == 4


def test_two_different_tools_under_one_id_are_refused() -> None:
    with pytest.raises(InvalidDataError, match=r"'drive/search'.*different names"):
        Catalog([HERE, SEND, replace(HERE, description="Searches the drive.")])
    with pytest.raises(InvalidDataError, match="'now'"):
        Catalog([FREE, replace(FREE, title="Now")])


def test_a_tool_by_id_or_by_a_name_that_only_one_server_has() -> None:
    catalog = Catalog([HERE, OTHER, SEND, FREE])
    assert catalog.tool("mail/search") == OTHER
    assert catalog.tool("send") == SEND
    assert catalog.tool("now") == FREE
    with pytest.raises(InvalidDataError, match="'search': say which of 'drive/search', 'mail/search'"):
        catalog.tool("search")
    for unknown in ("fly", "drive/send", "Send", ""):
        with pytest.raises(InvalidDataError, match=f"no tool '{unknown}' in the catalogue"):
            catalog.tool(unknown)


def test_an_id_goes_before_a_name() -> None:
    plain = Tool("search", "Searches everything.")
    assert Catalog([HERE, plain]).tool("search") == plain
