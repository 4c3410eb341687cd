"""`LocalChat`: a small language model (SmolLM2) in this process; nothing leaves the machine."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Literal

import numpy as np

from contextune._internal.assets import lab_model_file
from contextune.errors import LanguageModelError
from contextune.llm.chat import ChatReply, Draft, Message, Sampling, sanitize_messages
from contextune.llm.smollm2.build import fingerprint, prepare_model
from contextune.llm.smollm2.constrained import Grammar, Grammars
from contextune.llm.smollm2.engine import DecoderEngine, DecoderState, Scores
from contextune.llm.smollm2.tokenizer import ChatTokenizer
from contextune.llm.smollm2.weights import cache_folder
from contextune.llm.structured import Schema, SchemaCheck
from contextune.types import Progress

Task = Literal["queries", "plans"]
ADAPTERS: Mapping[Task, str] = {
    "queries": "querygen/adapter.safetensors",
    "plans": "plan_writer/adapter.safetensors",
}
"""The LoRA adapters in `contextune-lab`, by what the model is used for."""
_MAX_SYSTEM_PROMPTS = 4
"""Number of system prompts whose KV cache is kept; each task has its own."""


class LocalChat:
    """A small language model. Thread-safe; threads take turns.

    The same messages and sampling give the same drafts on the same machine. The first use prepares the model
    files, in a few seconds and 155 MB; `contextune llm prepare` does so ahead of time.
    """

    def __init__(
        self,
        *,
        adapter: Path | Task | None = "queries",
        folder: Path | None = None,
        threads: int = 0,
        progress: Progress | None = None,
    ) -> None:
        """`adapter` is the task the model is tuned for, or a LoRA adapter as a safetensors file.

        "queries" is for `QueryGenerator` and `ChainOfThought`, "plans" for `LanguagePlanner`. `folder` is for
        model files, by default in the user's cache; `threads` 0 means one per core, at most four.
        """
        if isinstance(adapter, str):
            adapter = _adapter_path(adapter)
        model = prepare_model(folder or cache_folder(), adapter, progress)
        try:
            self._engine = DecoderEngine(model, threads=threads)
            self._tokenizer = ChatTokenizer(model)
        except Exception as error:  # each library raises its own kinds for a broken file
            raise LanguageModelError(
                f"no usable model in {str(model)!r}: {error}; delete the folder, and it will be rebuilt"
            ) from error
        self.name = f"local#SmolLM2-135M-Instruct@{fingerprint(adapter)}"
        self._grammars: Grammars | None = None
        self._system_caches: OrderedDict[tuple[int, ...], Scores] = OrderedDict()
        self._lock = Lock()

    def ask(
        self,
        messages: Sequence[Message],
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        *,
        schema: Schema | None = None,
    ) -> ChatReply:
        """Answer the last message; with a schema, decoding is constrained to valid answers."""
        system, rest = self._tokenizer.encode_chat(sanitize_messages(messages))
        length = len(system) + len(rest)
        if length + sampling.max_tokens > self._engine.context:
            raise LanguageModelError(
                f"{length} prompt tokens and {sampling.max_tokens} answer tokens exceed the local model's "
                f"context of {self._engine.context}: shorten the prompt, or lower `max_tokens`"
            )
        check = SchemaCheck(schema) if schema is not None else None
        with self._lock:
            grammar = self._grammar(schema) if schema is not None else None
            state = DecoderState(self._engine, rows=1, room=length + sampling.max_tokens)
            self._decode_system(state, system)
            drafts, written = self._write(state, state.decode([rest]), sampling, grammar)
        reply = ChatReply(drafts, length, written)
        return check.filter_drafts(reply, self.name) if check else reply

    def _decode_system(self, state: DecoderState, system: tuple[int, ...]) -> None:
        """Decode the system prompt or load its cache; always separately, so that both round alike."""
        cache = self._system_caches.get(system)
        if cache is None:
            state.decode([system])
            self._system_caches[system] = state.cache().copy()
            while len(self._system_caches) > _MAX_SYSTEM_PROMPTS:
                self._system_caches.popitem(last=False)
        else:
            self._system_caches.move_to_end(system)
            state.load(cache)

    def _write(
        self, state: DecoderState, scores: Scores, sampling: Sampling, grammar: Grammar | None
    ) -> tuple[tuple[Draft, ...], int]:
        different = sampling.drafts if sampling.temperature > 0 else 1
        writers = [
            _DraftWriter(sampling, index, grammar.copy() if grammar else None) for index in range(different)
        ]
        if different > 1:
            state, scores = state.select_rows([0] * different), scores.repeat(different, axis=0)
        active = writers
        for _ in range(sampling.max_tokens):
            rows = [
                row for row, writer in enumerate(active) if writer.write(scores[row], self._tokenizer.control)
            ]
            if not rows:
                break
            if len(rows) < len(active):
                state, active = state.select_rows(rows), [active[row] for row in rows]
            if len(active[0].tokens) < sampling.max_tokens:
                scores = state.decode([[writer.tokens[-1]] for writer in active])
        drafts = [Draft(self._text(writer), writer.complete) for writer in writers]
        written = sum(len(writer.tokens) for writer in writers)
        return tuple(drafts * (sampling.drafts // different)), written

    def _text(self, writer: "_DraftWriter") -> str:
        text = self._tokenizer.decode(writer.tokens)
        return text if writer.complete else text.rstrip("\ufffd")  # half a character at the cut

    def _grammar(self, schema: Schema) -> Grammar:
        self._grammars = self._grammars or Grammars(self._tokenizer)
        return self._grammars.compile(schema)


def _adapter_path(task: Task) -> Path:
    if task not in ADAPTERS:  # not all callers type-check
        raise LanguageModelError(f"unknown adapter {task!r}: use one of {', '.join(ADAPTERS)}, or a Path")
    return lab_model_file(ADAPTERS[task], f"the adapter {task!r}")


class _DraftWriter:
    """Samples the tokens of one draft."""

    def __init__(self, sampling: Sampling, index: int, grammar: Grammar | None) -> None:
        self._sampling = sampling
        self._random = np.random.default_rng([sampling.seed, index])
        self._grammar = grammar
        self.tokens: list[int] = []
        self.complete = False

    def write(self, scores: Scores, control: frozenset[int]) -> bool:
        """Sample the next token; return whether more may follow."""
        if self._grammar:
            self._grammar.mask(scores)
        token = sample_token(scores, self._sampling, self._random)
        if token in control:
            self.complete = True
            return False
        self.tokens.append(token)
        if self._grammar and not self._grammar.advance(token):
            self.complete = True
            return False
        return True


def sample_token(scores: Scores, sampling: Sampling, random: np.random.Generator) -> int:
    """Sample a token by temperature, `top_k` and `top_p`; at temperature 0, take the best."""
    if sampling.temperature == 0:
        return int(scores.argmax())
    tokens = np.arange(len(scores))
    if 0 < sampling.top_k < len(scores):
        tokens = np.sort(np.argpartition(scores, -sampling.top_k)[-sampling.top_k :])
    odds = scores[tokens].astype(np.float64) / sampling.temperature
    odds = np.exp(odds - odds.max())
    odds /= odds.sum()
    if sampling.top_p < 1:
        # tokens below this threshold cannot be in the nucleus; dropping them makes sorting fast
        high = odds >= (1 - sampling.top_p) / len(odds)
        tokens, odds = tokens[high], odds[high]
        order = np.argsort(-odds, kind="stable")
        size = int(np.searchsorted(np.cumsum(odds[order]), sampling.top_p)) + 1
        tokens, odds = tokens[order[:size]], odds[order[:size]]
    sums = np.cumsum(odds)
    return int(tokens[np.searchsorted(sums, random.random() * sums[-1], side="right")])
