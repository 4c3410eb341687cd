"""Relevant tools that were missed, and the tools ranked above them."""

from collections.abc import Sequence
from dataclasses import dataclass

from contextune.evaluate.evaluation import SEARCH_DEPTH, CatalogEvaluator, EvaluatedQuery, Evaluation
from contextune.search import similarities, tokenize

_MAX_INSTEAD = 3
_MAX_WORDS = 4


@dataclass(frozen=True, slots=True)
class RankedTool:
    """A tool with its rank, None beyond `SEARCH_DEPTH`, its score, and how it matches the query."""

    tool: str
    rank: int | None
    score: float | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Miss:
    """A query with relevant tools outside the top k, and the best irrelevant tools in it."""

    case: EvaluatedQuery
    missed: tuple[RankedTool, ...]
    instead: tuple[RankedTool, ...]


def find_misses(evaluator: CatalogEvaluator, evaluation: Evaluation, limit: int | None = None) -> list[Miss]:
    """The queries with relevant tools outside the top k, lowest rank first."""
    missed = [case for case in evaluation.cases if case.missed]
    missed.sort(key=lambda case: -max(case.ranks[tool] or SEARCH_DEPTH + 1 for tool in case.missed))
    positions = {tool.id: position for position, tool in enumerate(evaluator.index.catalog)}
    return [_miss(evaluator, case, positions) for case in missed[:limit]]


def _miss(evaluator: CatalogEvaluator, case: EvaluatedQuery, positions: dict[str, int]) -> Miss:
    hits = {hit.tool.id: (rank, hit) for rank, hit in enumerate((*case.hits, *case.further_hits), 1)}
    instead = [hit.tool.id for hit in case.hits if hit.tool.id not in case.query.relevant][:_MAX_INSTEAD]
    tools = [*case.missed, *instead]
    reasons = dict(
        zip(tools, _reasons(evaluator, case.query.text, [positions[tool] for tool in tools]), strict=True)
    )

    def ranked(tool: str) -> RankedTool:
        if tool not in hits:
            return RankedTool(tool, None, None, reasons[tool])
        rank, hit = hits[tool]
        return RankedTool(tool, rank, hit.score, reasons[tool])

    return Miss(case, tuple(map(ranked, case.missed)), tuple(map(ranked, instead)))


def _reasons(evaluator: CatalogEvaluator, text: str, positions: Sequence[int]) -> list[tuple[str, ...]]:
    """The words each tool shares with a query, highest BM25 weight first, and their cosine similarity."""
    lexical = evaluator.index.fields["all"]
    weights = {word: lexical.scores([word])[list(positions)] for word in dict.fromkeys(tokenize(text))}
    similarity = similarities(evaluator.embedder.embed([text])[0], evaluator.index.vectors)
    reasons: list[tuple[str, ...]] = []
    for row, position in enumerate(positions):
        shared = {word: weight[row] for word, weight in weights.items() if weight[row] > 0}
        common = sorted(shared, key=lambda word: -shared[word])[:_MAX_WORDS]
        words = f"words: {', '.join(common)}" if common else "no shared word"
        reasons.append((words, f"similarity {similarity[position]:.2f}"))
    return reasons
