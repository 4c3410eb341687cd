"""A server that changes its tools all the time is listed ever more rarely."""

from contextune.tools.mcp.live_catalog import next_pause


def accepted_changes(every: float, seconds: float) -> int:
    """The changes that are accepted of a server that announces one after each such time."""
    now, pause, count = 0.0, 1.0, 0
    while now < seconds:
        pause, count = next_pause(pause, every), count + 1
        now += every + pause
    return count


def test_constant_changes_are_accepted_rarely() -> None:
    assert accepted_changes(every=1.0, seconds=3600) < 70


def test_rare_changes_are_accepted_all() -> None:
    assert accepted_changes(every=600.0, seconds=36_000) == 60
