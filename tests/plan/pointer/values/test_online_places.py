"""Locations that are services or links are no places."""

import pytest

from contextune.plan.pointer.values.online_places import is_online


@pytest.mark.parametrize(
    "location",
    ["Zoom", "Teams, office", "Google Meet", "video call", "phone", "Zoom (link in mail)", "zoom.us/j/123"],
)
def test_service_is_no_place(location: str) -> None:
    assert is_online(location)


@pytest.mark.parametrize(
    "location",
    ["Phone shop", "Web Street 4", "Meeting room 3", "Hadza meeting point", "Corme", "12 Call Lane"],
)
def test_place_is_a_place(location: str) -> None:
    assert not is_online(location)
