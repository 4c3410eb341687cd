"""What calls usually look like."""

import math

from contextune.plan.calls.statistics import CallStatistics

STATISTICS = CallStatistics.from_calls(
    [("play_song", ["song_name", "artist"]), ("play_song", ["artist", "song_name"]), ("call", ["contact"])]
)


def test_usual_arguments_are_likelier_than_others() -> None:
    usual = STATISTICS.pattern_share("play_song", ["song_name", "artist"])
    assert usual > STATISTICS.pattern_share("play_song", ["song_name"]) > 0


def test_tools_never_called_are_unknown_rather_than_unlikely() -> None:
    assert STATISTICS.tool_share("play_song") == 2 / 3
    assert math.isnan(STATISTICS.tool_share("pay"))
    assert math.isnan(STATISTICS.pattern_share("pay", []))


def test_json_form_is_lossless() -> None:
    assert CallStatistics.from_json(STATISTICS.to_json()) == STATISTICS
