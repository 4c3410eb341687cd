"""A small language model in this process: nothing that it reads leaves the machine."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Literal

import numpy as np

from contextune.errors import LanguageModelError
from contextune.llm.chat import ChatReply, Draft, Message, Sampling, sendable
from contextune.llm.smollm2.build import fingerprint, prepared
from contextune.llm.smollm2.constrained import Grammar, Grammars
from contextune.llm.smollm2.engine import DecoderEngine, DecoderState, Scores
from contextune.llm.smollm2.sampling import draw
from contextune.llm.smollm2.tokenizer import ChatTokenizer
from contextune.llm.smollm2.weights import cache_folder
from contextune.llm.structured import Schema, SchemaCheck
from contextune.types import Progress

Task = Literal["queries", "plans"]
ADAPTERS: Mapping[Task, Path] = {
    "queries": Path(str(files("contextune") / "assets" / "querygen" / "adapter.safetensors")),
    "plans": Path(str(files("contextune") / "assets" / "plan_writer" / "adapter.safetensors")),
}
"""The project's own tuning, by what the model is used for."""
_SHARED = 4
"""How many instructions are remembered as read; each task has its own."""


class LocalChat:
    """A small language model. Safe to share between threads, which take turns.

    The same messages and sampling give the same drafts, on the same machine. The first use makes the files it
    runs from, in some seconds and 155 MB; `contextune llm prepare` does so ahead of time.
    """

    def __init__(
        self,
        *,
        adapter: Path | Task | None = "queries",
        folder: Path | None = None,
        threads: int = 0,
        progress: Progress | None = None,
    ) -> None:
        """`adapter` names what the model is tuned for, or is a LoRA in a file of safetensors.

        "queries" is for `QueryGenerator` and for chains of thought, "plans" for `LanguagePlanner`.
        `folder` is where files are kept, by default the user's cache; `threads` 0 is one a core, up to four.
        """
        if isinstance(adapter, str):
            adapter = _shipped(adapter)
        place = prepared(folder or cache_folder(), adapter, progress)
        try:
            self._engine = DecoderEngine(place, threads=threads)
            self._tokens = ChatTokenizer(place)
        except Exception as error:  # each library raises kinds of its own for a broken file
            raise LanguageModelError(
                f"no usable model in {str(place)!r}: {error}; delete the folder, and it is made again"
            ) from error
        self.name = f"local#SmolLM2-135M-Instruct@{fingerprint(adapter)}"
        self._guides: Grammars | None = None
        self._known: OrderedDict[tuple[int, ...], Scores] = OrderedDict()
        self._lock = Lock()

    def ask(
        self,
        messages: Sequence[Message],
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        *,
        schema: Schema | None = None,
    ) -> ChatReply:
        """Answer the last message; with a schema, the model can write nothing that breaks it."""
        instructions, talk = self._tokens.conversation(sendable(messages))
        read = len(instructions) + len(talk)
        if read + sampling.most > self._engine.context:
            raise LanguageModelError(
                f"{read} tokens to read and {sampling.most} to write are more than the local model holds, "
                f"which is {self._engine.context}: say less, or lower `most`"
            )
        fit = SchemaCheck(schema) if schema is not None else None
        with self._lock:
            guide = self._guide(schema) if schema is not None else None
            reading = DecoderState(self._engine, rows=1, room=read + sampling.most)
            self._instruct(reading, instructions)
            drafts, written = self._write(reading, reading.go_on([talk]), sampling, guide)
        reply = ChatReply(drafts, read, written)
        return fit.fitting(reply, self.name) if fit else reply

    def _instruct(self, reading: DecoderState, instructions: tuple[int, ...]) -> None:
        """Read instructions, or recall them; always by themselves, so that both round in the same way."""
        known = self._known.get(instructions)
        if known is None:
            reading.go_on([instructions])
            self._known[instructions] = reading.kept().copy()
            while len(self._known) > _SHARED:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(instructions)
            reading.put(known)

    def _write(
        self, reading: DecoderState, scores: Scores, sampling: Sampling, guide: Grammar | None
    ) -> tuple[tuple[Draft, ...], int]:
        different = sampling.drafts if sampling.temperature > 0 else 1
        pens = [_DraftWriter(sampling, place, guide.copy() if guide else None) for place in range(different)]
        if different > 1:
            reading, scores = reading.rows([0] * different), scores.repeat(different, axis=0)
        writing = pens
        for _ in range(sampling.most):
            going = [
                place for place, pen in enumerate(writing) if pen.write(scores[place], self._tokens.control)
            ]
            if not going:
                break
            if len(going) < len(writing):
                reading, writing = reading.rows(going), [writing[place] for place in going]
            if len(writing[0].tokens) < sampling.most:
                scores = reading.go_on([[pen.tokens[-1]] for pen in writing])
        drafts = [Draft(self._text(pen), pen.whole) for pen in pens]
        return tuple(drafts * (sampling.drafts // different)), sum(len(pen.tokens) for pen in pens)

    def _text(self, pen: "_DraftWriter") -> str:
        text = self._tokens.text(pen.tokens)
        return text if pen.whole else text.rstrip("\ufffd")  # half a character, where it was cut off

    def _guide(self, schema: Schema) -> Grammar:
        self._guides = self._guides or Grammars(self._tokens)
        return self._guides.guide(schema)


def _shipped(task: Task) -> Path:
    if task not in ADAPTERS:  # not all callers type-check
        raise LanguageModelError(f"adapter={task!r}: name one of {', '.join(ADAPTERS)}, or a file")
    return ADAPTERS[task]


class _DraftWriter:
    """Writes one draft."""

    def __init__(self, sampling: Sampling, place: int, guide: Grammar | None) -> None:
        self._sampling = sampling
        self._chance = np.random.default_rng([sampling.seed, place])
        self._guide = guide
        self.tokens: list[int] = []
        self.whole = False

    def write(self, scores: Scores, control: frozenset[int]) -> bool:
        """Write the next token; whether there may be more."""
        if self._guide:
            self._guide.allow(scores)
        token = draw(scores, self._sampling, self._chance)
        if token in control:
            self.whole = True
            return False
        self.tokens.append(token)
        if self._guide and not self._guide.take(token):
            self.whole = True
            return False
        return True
