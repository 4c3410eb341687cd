"""Features that compare candidates with what the request says."""

from datetime import datetime

import numpy as np

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.scoring.feature_names import NAMES
from contextune.plan.pointer.scoring.features import ChosenArguments, argument_features
from contextune.plan.pointer.scoring.scorer import default_scorer
from contextune.plan.pointer.values.candidates import find_candidates
from contextune.plan.schema import tool_parameters
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item, ItemHit, Request, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
USER = User(
    "ines",
    {"name": "Ines Duarte"},
    {},
    (Contact("Bruno Kosuta"), Contact("Bruno Rossi"), Contact("Marta Reis", "marta@example.org")),
)
SONGS = [
    Item("s1", "Music", {"song_name": "Says", "artist": "Nils Frahm", "playlist": "Kiln"}),
    Item("s2", "Music", {"song_name": "Percurso", "artist": "Dino", "playlist": "Road"}),
]


def features(
    text: str, tool: str, argument: str, chosen: ChosenArguments | None = None
) -> dict[str, dict[str, float]]:
    """Features by value; of equal values, the first."""
    request = Request(text, user="ines", time=datetime(2024, 5, 16, 14, 40))
    inputs = PlanningInput(request, USER, [ItemHit(item, 1.0 - n) for n, item in enumerate(SONGS)])
    parameter = next(p for p in tool_parameters(TOOLS[tool]) if p.name == argument)
    candidates = find_candidates(inputs, parameter)
    matrix = argument_features(
        inputs, TOOLS[tool], parameter, candidates, default_scorer().statistics, chosen or ChosenArguments()
    )
    rows: dict[str, dict[str, float]] = {}
    for candidate, row in zip(candidates, matrix.tolist(), strict=True):
        rows.setdefault(str(candidate.value), dict(zip(NAMES, row, strict=True)))
    return rows


def test_value_said_verbatim_stands_out() -> None:
    rows = features("Play the percurso song", "play_song", "song_name")
    assert (rows["Percurso"]["verbatim"], rows["Says"]["verbatim"]) == (1.0, 0.0)
    assert rows["Percurso"]["run gap"] > rows["Says"]["run gap"]
    assert rows["Percurso"]["item title verbatim"] == 1.0


def test_ambiguous_name_has_rivals() -> None:
    rows = features("Call Bruno.", "call_contact", "contact")
    assert rows["Bruno Rossi"]["name rivals"] == 1
    assert rows["Marta Reis"]["name others"] == 1
    assert rows["Marta Reis"]["name words"] == 0


def test_labelled_and_delimited_spans_stand_out() -> None:
    rows = features("Add Severní vítr to the mountain playlist.", "add_to_playlist", "playlist_name")
    assert rows["mountain"]["span labelled"] == rows["mountain"]["span delimited"] == 1.0
    assert rows["Severní"]["span labelled"] == 0.0
    assert rows["Severní vítr"]["span delimited"] == 1.0
    assert rows["Severní"]["span delimited"] == 0.0


def test_words_of_another_argument_are_used_up() -> None:
    chosen = ChosenArguments(values=frozenset(["la llorona"]))
    rows = features("La Llorona, from Chavela Vargas", "play_song", "artist", chosen)
    assert rows["La Llorona"]["said used"] == 1.0
    assert rows["Chavela Vargas"]["said used"] == 0.0


def test_item_with_the_value_of_another_argument_agrees() -> None:
    rows = features("Play Says", "play_song", "artist", ChosenArguments(values=frozenset(["says"])))
    assert (rows["Nils Frahm"]["item agrees"], rows["Dino"]["item agrees"]) == (1.0, 0.0)


def test_best_reading_of_a_time_is_marked() -> None:
    rows = features("Remind me at three", "create_reminder", "due_time")
    assert [value for value, row in rows.items() if row["time best"] == 1.0] == ["2024-05-16T15:00"]


def test_features_do_not_depend_on_other_tools_planned_before() -> None:
    request = Request("Play Says by Nils Frahm", user="ines", time=datetime(2024, 5, 16, 14, 40))
    statistics, tool = default_scorer().statistics, TOOLS["play_song"]
    parameter = tool_parameters(tool)[0]
    matrices: list[np.ndarray] = []
    for before in ((), ("add_to_playlist", "play_artist")):
        inputs = PlanningInput(request, USER, [ItemHit(item, 1.0) for item in SONGS])
        for name in before:
            for other in tool_parameters(TOOLS[name]):
                argument_features(inputs, TOOLS[name], other, find_candidates(inputs, other), statistics)
        matrices.append(
            argument_features(inputs, tool, parameter, find_candidates(inputs, parameter), statistics)
        )
    alone, after_others = matrices
    np.testing.assert_array_equal(alone, after_others)
