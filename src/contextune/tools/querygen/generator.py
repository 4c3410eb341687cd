"""QueryGenerator: search for tools with queries written by a language model (Kachuee et al.).

The model describes the tools that would serve a request such as "I'm bored at home"; each description is
searched for separately, and the result lists are interleaved.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Literal

from contextune.errors import InvalidRequestError, LanguageModelError
from contextune.llm.cache import CachedChat
from contextune.llm.chat import Chat, Draft, Message, Sampling
from contextune.search import interleave
from contextune.tools.filter import ToolFilter
from contextune.tools.matches import ToolMatches
from contextune.tools.query import PastCalls, QueryContext
from contextune.tools.querygen.names import KnownNames
from contextune.tools.querygen.parse import combine_queries, parse_queries
from contextune.tools.querygen.prompts import describe_messages, intent_messages
from contextune.tools.retriever import ToolRetriever
from contextune.types import ItemHit, Reasons, ToolHit

__all__ = ["GREEDY", "KINDS", "QueryGenerator", "ToolQueries", "parse_queries", "search_all"]

KINDS = {
    "descriptions": (describe_messages,),
    "intents": (intent_messages,),
    "both": (describe_messages, intent_messages),
}
"""What the model is asked for: descriptions of tools, the user's intents, or both in turn."""
GREEDY = Sampling(max_tokens=160)
"""Greedy decoding, so that equal requests find equal tools; long enough for five lines."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolQueries:
    """The queries for one request."""

    request: str
    generated: tuple[str, ...]
    """Queries by the model; empty if its answer is unusable."""
    texts: tuple[str, ...]
    """Everything that is searched for, in interleaving order."""

    @classmethod
    def from_answer(
        cls, request: str, answer: str, *, with_request: bool = True, first: bool = False
    ) -> "ToolQueries":
        """Parse a model's answer; the request itself is added last, as in the paper, first, or not at all."""
        parsed = parse_queries(answer, request)
        generated = () if parsed == (request,) else parsed
        return cls.from_generated(request, generated, with_request=with_request, first=first)

    @classmethod
    def from_generated(
        cls, request: str, generated: tuple[str, ...], *, with_request: bool = True, first: bool = False
    ) -> "ToolQueries":
        """Queries that a model wrote, with the request last, first, or not at all if there are any."""
        if not generated:
            return cls(request, (), (request,))
        if not with_request:
            return cls(request, generated, generated)
        return cls(request, generated, (request, *generated) if first else (*generated, request))


class QueryGenerator:
    """Asks a language model for queries. Safe to share between threads if the model is.

    The model sees the text of the request only: no user, item or tool. Its answers are cached per user, in
    memory or where the given `CachedChat` keeps them; `forget` deletes them.
    """

    def __init__(
        self,
        chat: Chat,
        *,
        kind: Literal["descriptions", "intents", "both"] = "descriptions",
        sampling: Sampling = GREEDY,
        with_request: bool = True,
        request_first: bool = False,
        known_names: KnownNames | None = None,
    ) -> None:
        """`with_request` also searches for the request itself: last, as in the paper, or first.

        `kind="both"` asks the model twice, and uses descriptions and intents in turn. With `known_names`,
        names of tools that are not among them are removed from the queries.
        """
        if kind not in KINDS:
            raise InvalidRequestError(f"unknown kind of queries {kind!r}: use {', '.join(KINDS)}")
        self._chat = chat if isinstance(chat, CachedChat) else CachedChat(chat)
        self._messages = KINDS[kind]
        self._sampling = replace(sampling, drafts=1)
        self._with_request = with_request
        self._request_first = request_first
        self._known_names = known_names
        self._lock = Lock()
        self.failures = 0
        """Number of answers that the model failed to give; the request itself is searched for anyway."""

    def queries(self, text: str, user: str = "") -> ToolQueries:
        """The queries for a request; the request alone if the model fails or its answer is unusable."""
        if not text.strip():
            raise InvalidRequestError("text is empty: pass what the user said")
        answers = [self._ask(messages(text), text, user) for messages in self._messages]
        generated = answers[0] if len(answers) == 1 else combine_queries(*answers)
        if self._known_names:
            stripped = (self._known_names.strip(query, text) for query in generated)
            generated = tuple(dict.fromkeys(stripped))
        return ToolQueries.from_generated(
            text, generated, with_request=self._with_request, first=self._request_first
        )

    def _ask(self, messages: Sequence[Message], text: str, user: str) -> tuple[str, ...]:
        """The queries in the model's answer; none if it fails."""
        try:
            drafts = self._chat.for_user(user).ask(messages, self._sampling).drafts
        except LanguageModelError as error:
            with self._lock:
                self.failures += 1
            _log.warning("query generation failed, searching for the request alone: %s", error)
            return ()
        return ToolQueries.from_answer(text, _complete_lines(drafts[0])).generated if drafts else ()

    def forget(self, user: str | None = None) -> None:
        """Delete the cached answers for a user's requests, or for everybody's."""
        self._chat.forget(user)


def search_all(
    retriever: ToolRetriever,
    queries: ToolQueries,
    k: int = 10,
    *,
    context: QueryContext | Sequence[ItemHit] = (),
    past_calls: PastCalls | None = None,
    app_probabilities: Mapping[str, float] | None = None,
    always: Sequence[str] = (),
    filter: ToolFilter | None = None,  # noqa: A002
) -> ToolMatches:
    """Search for each query separately and interleave the lists; the best `k` tools.

    A hit's score is 1/rank, as scores of different lists are not comparable. `fits` is known only if the
    request itself is among the queries; `past_calls` apply to it alone.
    """
    if queries.texts == (queries.request,):
        return retriever.find(
            queries.request,
            k,
            context=context,
            past_calls=past_calls,
            app_probabilities=app_probabilities,
            always=always,
            filter=filter,
        )
    retriever.embedder.embed(queries.texts)  # one batch, which the embedder caches
    matches = {
        query: retriever.find(
            query,
            k,
            context=context,
            past_calls=past_calls if query == queries.request else None,
            app_probabilities=app_probabilities,
            filter=filter,
        )
        for query in queries.texts
    }
    pinned = {tool.id: tool for tool in map(retriever.catalog.tool, always)}
    merged = interleave(
        [[_QueryHit(hit.tool.id, query, hit) for hit in part.hits] for query, part in matches.items()]
    )
    of_request = matches.get(queries.request, ToolMatches(()))
    merged.sort(key=lambda entry: entry.tool not in of_request.named)
    hits = [ToolHit(tool, 1.0, ("always offered",)) for tool in pinned.values()]
    for rank, entry in enumerate(merged[:k], 1):
        if entry.tool not in pinned:
            reasons = Reasons(lambda entry=entry: _reasons(entry, queries.request))
            hits.append(ToolHit(entry.hit.tool, 1 / rank, reasons))
    return replace(of_request, hits=tuple(hits))


@dataclass(frozen=True, slots=True)
class _QueryHit:
    """A hit with the query that found it; equal to hits of other queries for the same tool."""

    tool: str
    query: str = field(compare=False)
    hit: ToolHit = field(compare=False)


def _reasons(entry: _QueryHit, request: str) -> tuple[str, ...]:
    found_by = () if entry.query == request else (f"found by “{entry.query}”",)
    return (*found_by, *entry.hit.reasons)


def _complete_lines(draft: Draft) -> str:
    """The answer without a truncated last line, unless that is its only line."""
    return draft.text if draft.complete else draft.text.rpartition("\n")[0] or draft.text
