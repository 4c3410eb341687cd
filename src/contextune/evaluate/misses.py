"""Which tools were not found, and what stood in their place and why."""

from collections.abc import Sequence
from dataclasses import dataclass

from contextune.evaluate.evaluation import DEEP, CatalogEvaluator, EvaluatedQuery, Evaluation
from contextune.search import similarities, tokenize

_ABOVE = 3
_WORDS = 4


@dataclass(frozen=True, slots=True)
class RankedTool:
    """A tool in one ranking: where, how strongly, and what speaks for it; no rank beyond `DEEP`."""

    tool: str
    rank: int | None
    score: float | None
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Miss:
    """A query whose wanted tools are not all in the top k, and the best of what is there instead."""

    case: EvaluatedQuery
    wanted: tuple[RankedTool, ...]
    above: tuple[RankedTool, ...]


def misses(trial: CatalogEvaluator, evaluation: Evaluation, limit: int | None = None) -> list[Miss]:
    """The queries whose tools are not all in the top k, those that are furthest from it first."""
    missed = [case for case in evaluation.cases if case.missed]
    missed.sort(key=lambda case: -max(case.ranks[tool] or DEEP + 1 for tool in case.missed))
    places = {tool.id: place for place, tool in enumerate(trial.index.catalog)}
    return [_miss(trial, case, places) for case in missed[:limit]]


def _miss(trial: CatalogEvaluator, case: EvaluatedQuery, places: dict[str, int]) -> Miss:
    hits = {hit.tool.id: (rank, hit) for rank, hit in enumerate((*case.found, *case.beyond), 1)}
    above = [hit.tool.id for hit in case.found if hit.tool.id not in case.query.relevant][:_ABOVE]
    shown = [*case.missed, *above]
    why = dict(zip(shown, _why(trial, case.query.text, [places[tool] for tool in shown]), strict=True))

    def seen(tool: str) -> RankedTool:
        if tool not in hits:
            return RankedTool(tool, None, None, why[tool])
        rank, hit = hits[tool]
        return RankedTool(tool, rank, hit.score, why[tool])

    return Miss(case, tuple(map(seen, case.missed)), tuple(map(seen, above)))


def _why(trial: CatalogEvaluator, text: str, places: Sequence[int]) -> list[tuple[str, ...]]:
    """The words each tool has in common with a request, most telling first, and how alike the two are."""
    lexical = trial.index.fields["all"]
    weights = {word: lexical.scores([word])[list(places)] for word in dict.fromkeys(tokenize(text))}
    alike = similarities(trial.embedder.embed([text])[0], trial.index.vectors)
    found: list[tuple[str, ...]] = []
    for number, place in enumerate(places):
        held = {word: weight[number] for word, weight in weights.items() if weight[number] > 0}
        common = sorted(held, key=lambda word: -held[word])[:_WORDS]
        said = f"words: {', '.join(common)}" if common else "no word in common"
        found.append((said, f"likeness {alike[place]:.2f}"))
    return found
