"""The part of ToolBench that the paper on query generation works with."""

from collections.abc import Iterable
from hashlib import sha256

from contextune.errors import InvalidRequestError
from contextune.lab.public_data.collect import UNNAMED, PublicBenchmark, SkippedRequest
from contextune.lab.public_data.toolset import LabelledRequest, Toolset
from contextune.types import Tool

TOO_MANY = "more tools serve it than the filter allows"
ILL_DESCRIBED = "a tool it needs is described in too few words, or too many"
MIXED = "it needs tools of both domains"
OUT_OF_DOMAIN = 373 / 1831
"""The paper's share of APIs that are kept from training."""
IN_DOMAIN_TEST = 1776 / (15987 + 1776)
"""The paper's share of the other requests that are tested on."""


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
    """Requests that one to three well-described tools serve, split by the names of the servers.

    The parts are "train", "id_test" and "ood"; no server of a request in "ood" is in the others. Where a
    server or request goes hangs on its name or text and the seed alone: a larger catalogue moves none.
    The catalogue is the tools those requests need; with `unasked`, all that are well described.
    """
    if not (0 <= out_of_domain <= 1 and 0 <= in_domain_test <= 1):
        raise InvalidRequestError(
            f"{out_of_domain} and {in_domain_test} are shares: give numbers from 0 to 1"
        )
    well = [words[0] <= len(tool.description.split()) <= words[1] for tool in toolset.tools]
    skipped: list[SkippedRequest] = []
    kept: list[LabelledRequest] = []
    for query in toolset.queries:
        if reason := _fault(query, well, most):
            skipped.append(SkippedRequest(query.id, reason))
        else:
            kept.append(query)
    needed = {place for query in kept for place in query.relevant}
    places = [place for place in range(len(well)) if (well[place] if unasked else place in needed)]
    new = {place: number for number, place in enumerate(places)}
    unseen = {place for place in needed if _share(seed, _server(toolset.tools[place])) < out_of_domain}
    queries: list[LabelledRequest] = []
    for query in kept:
        if query.relevant & unseen and query.relevant - unseen:
            skipped.append(SkippedRequest(query.id, MIXED))
            continue
        tested = _share(seed, query.text) < in_domain_test
        split = "ood" if query.relevant & unseen else "id_test" if tested else "train"
        queries.append(LabelledRequest(query.id, query.text, _moved(query.relevant, new), split))
    tools = tuple(toolset.tools[place] for place in places)
    return PublicBenchmark(Toolset(toolset.name, tools, tuple(queries)), tuple(skipped))


def _fault(query: LabelledRequest, well: list[bool], most: int) -> str:
    if not query.relevant:
        return UNNAMED
    if len(query.relevant) > most:
        return TOO_MANY
    return "" if all(well[place] for place in query.relevant) else ILL_DESCRIBED


def _moved(relevant: Iterable[int], new: dict[int, int]) -> frozenset[int]:
    return frozenset(new[place] for place in relevant)


def _server(tool: Tool) -> str:
    return tool.app or tool.name


def _share(seed: int, text: str) -> float:
    """A number from 0 to 1 that this text always has."""
    digest = sha256(f"{seed}\n{text}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6]) / (1 << 48)
