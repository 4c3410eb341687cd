"""ToolRanker: LambdaMART over `FEATURE_NAMES`, an abstention model, and explanations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune._internal.assets import model_folder
from contextune.rank import Ranker, read_card, write_card
from contextune.tools.abstain import AbstentionModel
from contextune.tools.features import FEATURE_NAMES, Matrix
from contextune.tools.index import ToolIndex
from contextune.tools.query import Floats, ToolQuery

WAS_RIGHT = "was right for similar requests before"
_MAX_REASONS = 2
_TYPICAL_TOP = 10
"""A candidate is explained by comparing it with the mean of the best ones."""


@dataclass(frozen=True, eq=False)
class ToolRanker:
    """A trained model that scores candidates, and one that says whether any fits."""

    model: Ranker
    abstention: AbstentionModel
    about: Mapping[str, Any]
    """Training metadata, including the embedder's name."""

    def save(self, folder: Path) -> None:
        """Write the models to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        self.model.save(folder / "tools.json.gz")
        card = {"abstain": self.abstention.to_json(), "about": self.about}
        write_card(folder, card)

    @classmethod
    def load(cls, folder: Path) -> "ToolRanker":
        """Read the models from a folder; a `RankerError` says why they do not fit this version."""
        abstention, about = read_card(
            folder,
            lambda card: (AbstentionModel.from_json(card["abstain"]), card["about"]),
            "tool ranker",
            "tools",
        )
        return cls(Ranker.load(folder / "tools.json.gz", FEATURE_NAMES), abstention, about)

    def explain(
        self, index: ToolIndex, query: ToolQuery, positions: NDArray[np.intp], matrix: Matrix, scores: Floats
    ) -> Callable[[int], tuple[str, ...]]:
        """A function from a candidate's row in `matrix` to the reasons for its rank, computed on demand."""

        @cache
        def typical() -> Floats:
            return self.model.contributions(matrix[np.argsort(-scores)[:_TYPICAL_TOP]]).mean(0)

        def reasons(row: int) -> tuple[str, ...]:
            above_typical: Floats = self.model.contributions(matrix[[row]])[0] - typical()
            texts: list[str] = []
            for column in np.argsort(-above_typical):
                if above_typical[column] <= 0 or len(texts) == _MAX_REASONS:
                    break
                text = _reason(FEATURE_NAMES[int(column)], index, query, int(positions[row]), matrix[row])
                if text and text not in texts:
                    texts.append(text)
            return tuple(texts)

        return reasons


def _reason(
    name: str, index: ToolIndex, query: ToolQuery, position: int, row: NDArray[np.float32]
) -> str | None:
    """A feature in words; None if it explains nothing."""
    value = float(row[FEATURE_NAMES.index(name)])
    tool = index.catalog[position]
    if name.startswith("meaning"):
        return "close in meaning to the request"
    if name.startswith(("words", "name said", "said in name")):
        shared = index.fields["all"].matching_words(query.tokens, position)
        long_words = [word for word in shared if len(word) > 3]
        return f"shares the words: {', '.join(long_words[:4])}" if long_words else None
    if name == "named" and value:
        return "the request names it"
    if name.startswith(("item app", "item", "in context")) and query.context and query.context.items:
        first = query.context.items[0]
        if first.app == tool.app:
            return f"the request refers to “{first.title}” in {first.app}"
        return f"goes with “{first.title}”"
    if name.startswith("past") and name != "past wrong" and row[FEATURE_NAMES.index("past")] > 0:
        return WAS_RIGHT
    if name == "app likely" and value > 0:  # NaN if there are no probabilities
        return f"the request sounds like {tool.app}"
    return None


@cache
def default_tool_ranker() -> ToolRanker:
    """The bundled ranker, loaded once."""
    return ToolRanker.load(model_folder("tool_ranker"))
