"""Search for tools by queries that a language model writes (Kachuee et al.).

A model knows that "I'm bored at home" asks for outings, where likeness of meaning finds more television.
It describes the tools it would want; each description is searched for by itself, and the lists take turns.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Literal

from contextune.errors import InvalidRequestError, LanguageModelError
from contextune.llm.cache import CachedChat
from contextune.llm.chat import Chat, Draft, Sampling
from contextune.search import interleave
from contextune.tools.filter import ToolFilter
from contextune.tools.query import PastCalls, QueryContext
from contextune.tools.querygen.parse import parse
from contextune.tools.querygen.prompts import describe_messages, intent_messages
from contextune.tools.retriever import ToolMatches, ToolRetriever
from contextune.types import ItemHit, Reasons, ToolHit

__all__ = ["KINDS", "PLAIN", "QueryGenerator", "ToolQueries", "parse", "search_all"]

KINDS = {"descriptions": describe_messages, "intents": intent_messages}
"""What a model can be asked for: tools that would serve, or what somebody wants."""
PLAIN = Sampling(most=160)
"""The likeliest answer, so that the same request finds the same tools; five lines fit into it."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolQueries:
    """What is searched for, for one request."""

    request: str
    generated: tuple[str, ...]
    """What a model wrote; empty where nothing of it is usable."""
    texts: tuple[str, ...]
    """What is searched for, in the order in which the lists take turns."""

    @classmethod
    def of(
        cls, request: str, answer: str, *, with_request: bool = True, first: bool = False
    ) -> "ToolQueries":
        """Those in a model's answer; the request is added behind them, as in the paper, or before, or not."""
        parsed = parse(answer, request)
        if parsed == (request,):
            return cls(request, (), parsed)
        if not with_request:
            return cls(request, parsed, parsed)
        return cls(request, parsed, (request, *parsed) if first else (*parsed, request))


class QueryGenerator:
    """Asks a language model for queries. Safe to share between threads if the model is.

    The model gets the words of the request and nothing else: no user, no item, no tool. What it wrote is
    remembered by user, in memory, or where a `CachedChat` that is given keeps it; `forget` erases it.
    """

    def __init__(
        self,
        chat: Chat,
        *,
        kind: Literal["descriptions", "intents"] = "descriptions",
        sampling: Sampling = PLAIN,
        with_request: bool = True,
        request_first: bool = False,
    ) -> None:
        """`with_request` searches for the request's own words as well: last, as the paper does, or first."""
        if kind not in KINDS:
            raise InvalidRequestError(
                f"there are no queries of the kind {kind!r}: choose {' or '.join(KINDS)}"
            )
        self._chat = chat if isinstance(chat, CachedChat) else CachedChat(chat)
        self._messages = KINDS[kind]
        self._sampling = replace(sampling, drafts=1)
        self._with_request = with_request
        self._request_first = request_first
        self._lock = Lock()
        self.failures = 0
        """How many requests were searched for by their own words alone, as no answer was to be had."""

    def queries(self, text: str, user: str = "") -> ToolQueries:
        """What to search for; the request alone where the model fails, or says nothing that can be used."""
        if not text.strip():
            raise InvalidRequestError("there is no text to write queries for: pass what the user said")
        try:
            drafts = self._chat.of(user).ask(self._messages(text), self._sampling).drafts
        except LanguageModelError as error:
            with self._lock:
                self.failures += 1
            _log.warning("a request is searched for by its own words alone: %s", error)
            drafts = ()
        answer = _whole_lines(drafts[0]) if drafts else ""
        return ToolQueries.of(text, answer, with_request=self._with_request, first=self._request_first)

    def forget(self, user: str | None = None) -> None:
        """Erase what was written for a user's requests; without a user, for everybody's."""
        self._chat.forget(user)


def search_all(
    retriever: ToolRetriever,
    queries: ToolQueries,
    k: int = 10,
    *,
    context: QueryContext | Sequence[ItemHit] = (),
    past: PastCalls | None = None,
    apps: Mapping[str, float] | None = None,
    always: Sequence[str] = (),
    only: ToolFilter | None = None,
) -> ToolMatches:
    """The best `k` tools for all queries: each is searched for by itself, and the lists take turns.

    Scores say the place and no more, as those of different lists cannot be compared. Whether any tool
    fits is known where the request itself is among the queries; `past` is held against its words alone.
    """
    if queries.texts == (queries.request,):
        return retriever.find(
            queries.request, k, context=context, past=past, apps=apps, always=always, only=only
        )
    retriever.embedder.embed(queries.texts)  # at once, and remembered: one by one takes longer
    found = {
        query: retriever.find(
            query, k, context=context, past=past if query == queries.request else None, apps=apps, only=only
        )
        for query in queries.texts
    }
    offered = {tool.id: tool for tool in map(retriever.catalog.tool, always)}
    taken = interleave(
        [[_MergedHits(hit.tool.id, query, hit) for hit in one.hits] for query, one in found.items()]
    )
    hits = [ToolHit(tool, 1.0, ("always offered",)) for tool in offered.values()]
    for place, one in enumerate(taken[:k], 1):
        if one.tool not in offered:
            why = Reasons(lambda one=one: _reasons(one, queries.request))
            hits.append(ToolHit(one.hit.tool, 1 / place, why))
    plain = found.get(queries.request, ToolMatches(()))
    return ToolMatches(tuple(hits), plain.fits, plain.needs_context)


@dataclass(frozen=True, slots=True)
class _MergedHits:
    """A tool with the query that brought it; what others bring is the same tool."""

    tool: str
    query: str = field(compare=False)
    hit: ToolHit = field(compare=False)


def _reasons(one: _MergedHits, request: str) -> tuple[str, ...]:
    return (*(() if one.query == request else (f"found by “{one.query}”",)), *one.hit.reasons)


def _whole_lines(draft: Draft) -> str:
    """Without the line at which an answer was cut off, unless it has no other."""
    return draft.text if draft.whole else draft.text.rpartition("\n")[0] or draft.text
