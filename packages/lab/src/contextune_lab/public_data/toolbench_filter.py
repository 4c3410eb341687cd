"""The filtered ToolBench subset of the query generation paper (Kachuee et al.)."""

from collections.abc import Iterable
from hashlib import sha256

from contextune.errors import InvalidRequestError
from contextune.types import Tool
from contextune_lab.public_data.collect import NO_TOOL, PublicBenchmark, SkippedRequest
from contextune_lab.public_data.toolset import LabelledRequest, Toolset

TOO_MANY = "too many tools"
ILL_DESCRIBED = "a tool description is too short or too long"
MIXED = "tools of both domains"
OUT_OF_DOMAIN = 373 / 1831
"""The paper's share of out-of-domain APIs."""
IN_DOMAIN_TEST = 1776 / (15987 + 1776)
"""The paper's share of in-domain test requests."""


def paper_filter(
    toolset: Toolset,
    *,
    words: tuple[int, int] = (5, 50),
    most: int = 3,
    out_of_domain: float = OUT_OF_DOMAIN,
    in_domain_test: float = IN_DOMAIN_TEST,
    seed: int = 0,
    unasked: bool = False,
) -> PublicBenchmark:
    """Keep requests with one to three well-described tools, and split them by server.

    Splits: "train", "id_test" and "ood"; no server of "ood" occurs in the others. Assignment depends on
    the name or text and the seed only: a larger catalogue moves nothing. The catalogue has the tools those
    requests need; with `unasked`, all well-described tools.
    """
    if not (0 <= out_of_domain <= 1 and 0 <= in_domain_test <= 1):
        raise InvalidRequestError(f"shares must be from 0 to 1: {out_of_domain}, {in_domain_test}")
    well_described = [words[0] <= len(tool.description.split()) <= words[1] for tool in toolset.tools]
    skipped: list[SkippedRequest] = []
    accepted: list[LabelledRequest] = []
    for query in toolset.queries:
        if reason := _skip_reason(query, well_described, most):
            skipped.append(SkippedRequest(query.id, reason))
        else:
            accepted.append(query)
    needed = {place for query in accepted for place in query.relevant}
    places = [
        place
        for place in range(len(well_described))
        if (well_described[place] if unasked else place in needed)
    ]
    new_places = {place: number for number, place in enumerate(places)}
    unseen = {place for place in needed if _hash_share(seed, _server(toolset.tools[place])) < out_of_domain}
    queries: list[LabelledRequest] = []
    for query in accepted:
        if query.relevant & unseen and query.relevant - unseen:
            skipped.append(SkippedRequest(query.id, MIXED))
            continue
        in_test = _hash_share(seed, query.text) < in_domain_test
        split = "ood" if query.relevant & unseen else "id_test" if in_test else "train"
        queries.append(LabelledRequest(query.id, query.text, _renumber(query.relevant, new_places), split))
    tools = tuple(toolset.tools[place] for place in places)
    return PublicBenchmark(Toolset(toolset.name, tools, tuple(queries)), tuple(skipped))


def _skip_reason(query: LabelledRequest, well_described: list[bool], most: int) -> str:
    if not query.relevant:
        return NO_TOOL
    if len(query.relevant) > most:
        return TOO_MANY
    return "" if all(well_described[place] for place in query.relevant) else ILL_DESCRIBED


def _renumber(relevant: Iterable[int], new_places: dict[int, int]) -> frozenset[int]:
    return frozenset(new_places[place] for place in relevant)


def _server(tool: Tool) -> str:
    return tool.app or tool.name


def _hash_share(seed: int, text: str) -> float:
    """A stable hash of the text, as a number from 0 to 1."""
    digest = sha256(f"{seed}\n{text}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6]) / (1 << 48)
