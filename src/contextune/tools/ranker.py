"""The learned ranking of tools: LambdaMART over `features.NAMES`, with what it says of each tool in words."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune._internal.assets import asset
from contextune.errors import RankerError
from contextune.rank import Ranker
from contextune.tools.abstain import Abstain
from contextune.tools.features import NAMES, Matrix
from contextune.tools.index import ToolIndex
from contextune.tools.query import Floats, ToolQuery

_REASONS = 2
_TYPICAL = 10


@dataclass(frozen=True, eq=False)
class ToolRanker:
    """What is learnt of tools: how to score candidates, and when to say that none fits."""

    scores: Ranker
    abstain: Abstain
    about: Mapping[str, Any]
    """What it was made from, among it the name of the embedder."""

    def save(self, folder: Path) -> None:
        """Write it to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        self.scores.save(folder / "tools.json.gz")
        card = {"abstain": self.abstain.to_json(), "about": self.about}
        (folder / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "ToolRanker":
        """The ranker in a folder; refused with a reason where it does not fit this version's features."""
        try:
            card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
            abstain, about = Abstain.from_json(card["abstain"]), card["about"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RankerError(
                f"no usable ranker of tools in {str(folder)!r}: {error}; make one with contextune train tools"
            ) from None
        return cls(Ranker.load(folder / "tools.json.gz", NAMES), abstain, about)

    def explained(
        self, index: ToolIndex, wish: ToolQuery, places: NDArray[np.intp], matrix: Matrix, scores: Floats
    ) -> Callable[[int], tuple[str, ...]]:
        """What put a candidate, by number, where it is; worked out when it is asked for."""

        @cache
        def typical() -> Floats:
            return self.scores.contributions(matrix[np.argsort(-scores)[:_TYPICAL]]).mean(0)

        def reasons(wanted: int) -> tuple[str, ...]:
            above: Floats = self.scores.contributions(matrix[[wanted]])[0] - typical()
            found: list[str] = []
            for number in np.argsort(-above):
                if above[number] <= 0 or len(found) == _REASONS:
                    break
                said = _said(NAMES[int(number)], index, wish, int(places[wanted]), matrix[wanted])
                if said and said not in found:
                    found.append(said)
            return tuple(found)

        return reasons


def _said(name: str, index: ToolIndex, wish: ToolQuery, place: int, row: NDArray[np.float32]) -> str | None:
    """A feature in words, where there is something to tell."""
    value = float(row[NAMES.index(name)])
    tool = index.catalog[place]
    if name.startswith("meaning"):
        return f"close in meaning to what was said ({float(row[0]):.2f})"
    if name.startswith(("words", "name said", "said in name")):
        shared = index.fields["all"].matched(wish.words, place)
        telling = [word for word in shared if len(word) > 3]
        return f"shares the words: {', '.join(telling[:4])}" if telling else None
    if name == "named" and value:
        return "the request names it"
    if name.startswith(("item app", "item", "in context")) and wish.context and wish.context.items:
        first = wish.context.items[0]
        if first.app == tool.app:
            return f"the request hangs on “{first.title}”, of {first.app}"
        return f"goes with “{first.title}”"
    if name.startswith("past") and name != "past wrong" and row[NAMES.index("past")] > 0:
        return "was right for requests like this before"
    if name == "app likely" and value > 0:  # NaN where nothing is known of applications
        return f"the request sounds like {tool.app}"
    return None


@cache
def default_tool_ranker() -> ToolRanker:
    """The ranker in the package, loaded once."""
    return ToolRanker.load(asset("tool_ranker"))
