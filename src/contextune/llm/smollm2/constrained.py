"""Holds a model to a JSON Schema while it writes: what cannot become an answer by it is not drawn."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from contextune.errors import LanguageModelError, MissingExtraError
from contextune.llm.smollm2.tokenizer import ChatTokenizer
from contextune.llm.structured import Schema

_STYLE = {
    "whitespace_flexible": False,  # a small model would go on with blanks for ever
    "item_separator": ", ",
    "key_separator": ": ",
    "lenient": True,  # what cannot be held to while writing is checked afterwards
}


class Grammars:
    """Makes guides for the tokens of one model."""

    def __init__(self, tokens: ChatTokenizer) -> None:
        try:
            import llguidance
        except ModuleNotFoundError:
            raise MissingExtraError("JSON by the local language model", "llm") from None
        self._library = cast("Any", llguidance)
        self._tokenizer = self._library.LLTokenizer(tokens.as_json(), eos_token=tokens.end)

    def guide(self, schema: Schema) -> "Grammar":
        """A guide from the beginning of an answer."""
        grammar = self._library.LLMatcher.grammar_from_json_schema(dict(schema), overrides=_STYLE)
        matcher = self._library.LLMatcher(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            reason = matcher.get_error().splitlines()[0]
            raise LanguageModelError(f"the local model cannot be held to this JSON Schema: {reason}")
        return Grammar(matcher)


class Grammar:
    """One draft's way through a schema."""

    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    def copy(self) -> "Grammar":
        """Another draft's, from the same place on."""
        return Grammar(self._matcher.deep_copy())

    def allow(self, scores: NDArray[np.float32]) -> None:
        """Leave only the scores of what may come next."""
        allowed = np.frombuffer(self._matcher.compute_logit_bias(), np.uint8)[: len(scores)]
        scores[allowed == 0] = -np.inf

    def take(self, token: int) -> bool:
        """Go on with a token; whether anything may come after it."""
        self._matcher.consume_token(token)
        return not self._matcher.is_stopped()
