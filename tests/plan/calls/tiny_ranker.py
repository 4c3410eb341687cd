"""A call ranker of few trees, which follows the tool classifier, and a user with two contacts of one name."""

from datetime import datetime

import numpy as np

from contextune.plan.calls.classifier import ToolClassifier
from contextune.plan.calls.feature_names import NAMES
from contextune.plan.calls.ranker import NONE_INPUTS, RIGHT_INPUTS, CallRanker
from contextune.plan.calls.statistics import CallStatistics
from contextune.plan.planning_input import PlanningInput, RequestVector
from contextune.rank import CandidateGroup, Ranker, RankerSettings
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item, ItemHit, Request, ToolHit, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
EMBEDDER = "test vectors"
USER = User(
    "ana",
    {"name": "Ana Serra"},
    {"home": (41.1, -8.6)},
    (
        Contact("Bruno Kosuta", "bruno.k@example.com", "555-0101", "neighbour"),
        Contact("Bruno Rossi", "bruno.r@example.com", "555-0102", "dentist"),
        Contact("Marta Reis", "marta@example.org", "555-0150", "teacher"),
    ),
)
MAIL = Item(
    "m1",
    "Mail",
    {
        "subject": "Kiln slots",
        "author": "marta@example.org",
        "recipients": ["ana@example.com"],
        "content": "Thursday is yours.",
        "date": "2024-05-13T09:00",
    },
)


def inputs_for(text: str, *items: Item, direction: int | None = None) -> PlanningInput:
    """A planning input; `direction` is the axis of the request's vector."""
    vector = None
    if direction is not None:
        vector = RequestVector(np.eye(4, dtype=np.float32)[direction], EMBEDDER)
    hits = [ItemHit(item, 1.0 / (rank + 1)) for rank, item in enumerate(items)]
    return PlanningInput(Request(text, USER.id, datetime(2024, 5, 16, 17, 40)), USER, hits, vector=vector)


def tool_hits(*names: str) -> list[ToolHit]:
    """Hits of bundled tools, best first."""
    return [ToolHit(TOOLS[name], 1.0 - 0.3 * rank) for rank, name in enumerate(names)]


def tiny_ranker() -> CallRanker:
    """Ranks by the tool classifier, whose axes are the tools below."""
    draw = np.random.default_rng(0)
    known = NAMES.index("tool known")
    groups: list[CandidateGroup] = []
    right: list[CandidateGroup] = []
    none: list[CandidateGroup] = []
    for _ in range(80):
        matrix = draw.normal(size=(4, len(NAMES))).astype(np.float32)
        matrix[:, known] = np.log(draw.dirichlet(np.ones(4) / 2) + 1e-6)
        grades = np.zeros(4, np.int64)
        grades[int(np.argmax(matrix[:, known]))] = 3
        groups.append(CandidateGroup(matrix, grades))
        inputs = draw.normal(size=(4, len(RIGHT_INPUTS))).astype(np.float32)
        inputs[:, known] = matrix[:, known]
        right.append(CandidateGroup(inputs, (grades > 0).astype(np.int64)))
        row = draw.normal(size=(1, len(NONE_INPUTS))).astype(np.float32)
        fits = NONE_INPUTS.index("first fits")
        row[0, fits] = draw.uniform()
        none.append(CandidateGroup(row, np.array([row[0, fits] < 0.3], np.int64)))
    quick = RankerSettings(rounds=40, seeds=1, smallest_leaf=5, feature_share=1.0, rate=0.2)
    binary = RankerSettings(
        rounds=40, seeds=1, smallest_leaf=5, feature_share=1.0, rate=0.2, objective="binary"
    )
    names = ("call_contact", "play_song", "create_reminder", "read_email")
    weights = np.hstack([6 * np.eye(4), np.zeros((4, 1))]).astype(np.float32)
    return CallRanker(
        Ranker.fit(groups, NAMES, quick),
        ToolClassifier(names, weights),
        CallStatistics.from_calls([("call_contact", ["contact"]), ("play_song", ["song_name"])]),
        Ranker.fit(right, RIGHT_INPUTS, binary),
        Ranker.fit(none, NONE_INPUTS, binary),
        {"embedder": EMBEDDER},
    )
