"""Constrained decoding: only tokens that keep the answer valid by a JSON Schema are sampled."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from contextune.errors import LanguageModelError, MissingExtraError
from contextune.llm.smollm2.tokenizer import ChatTokenizer
from contextune.llm.structured import Schema

_STYLE = {
    "whitespace_flexible": False,  # a small model would emit whitespace forever
    "item_separator": ", ",
    "key_separator": ": ",
    "lenient": True,  # unsupported keywords are checked afterwards
}


class Grammars:
    """Compiles JSON Schemas to grammars over the tokens of one model."""

    def __init__(self, tokenizer: ChatTokenizer) -> None:
        try:
            import llguidance
        except ModuleNotFoundError:
            raise MissingExtraError("JSON by the local language model", "llm") from None
        self._library = cast("Any", llguidance)
        self._tokenizer = self._library.LLTokenizer(tokenizer.to_json(), eos_token=tokenizer.end)

    def compile(self, schema: Schema) -> "Grammar":
        """The grammar of answers by a schema, at its start."""
        grammar = self._library.LLMatcher.grammar_from_json_schema(dict(schema), overrides=_STYLE)
        matcher = self._library.LLMatcher(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            reason = matcher.get_error().splitlines()[0]
            raise LanguageModelError(f"the local model cannot decode by this JSON Schema: {reason}")
        return Grammar(matcher)


class Grammar:
    """The state of one draft in the grammar."""

    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    def copy(self) -> "Grammar":
        """An independent copy of the state."""
        return Grammar(self._matcher.deep_copy())

    def mask(self, scores: NDArray[np.float32]) -> None:
        """Set the scores of invalid next tokens to -inf, in place."""
        allowed = np.frombuffer(self._matcher.compute_logit_bias(), np.uint8)[: len(scores)]
        scores[allowed == 0] = -np.inf

    def advance(self, token: int) -> bool:
        """Consume a token; return whether more may follow."""
        self._matcher.consume_token(token)
        return not self._matcher.is_stopped()
