"""A causal language model that is tuned to write: one copy learns, with an adapter; a plain one drafts."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # as everybody calls it

from contextune.lab.train.llm.lora import LoraAdapter
from contextune.lab.train.llm.sampling import SamplingOptions, draft, share_keys
from contextune.llm.chat import Message

_IGNORED = -100
Lesson = tuple[Sequence[Message], str]
"""What is asked, and what should be answered."""


@dataclass(frozen=True, slots=True)
class TuningOptions:
    """How an adapter learns. The paper tunes 13 billion weights at 2e-5; a narrow adapter wants more."""

    rate: float = 1e-3
    epochs: int = 1
    batch: int = 32
    decay: float = 0.01
    clip: float = 1.0
    warmup: int = 10
    """Steps over which the rate rises to what it then stays at."""
    tokens: int = 32_768
    """That go through the model together: a batch is taken in parts."""


class CausalWriter:
    """Any causal model of the `transformers` library, by name or folder; `file` names a GGUF file in it."""

    def __init__(
        self, weights: str | Path, *, file: str | None = None, rank: int = 16, alpha: float = 32.0
    ) -> None:
        import transformers

        library = cast("Any", transformers)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        half = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        where = {"gguf_file": file} if file else {}
        self._tokenizer = library.AutoTokenizer.from_pretrained(weights, **where)
        self._student = library.AutoModelForCausalLM.from_pretrained(weights, dtype=half, **where)
        self._student.to(self.device)
        config = self._student.config
        plain = library.AutoModelForCausalLM.from_config(config, attn_implementation=share_keys())
        self._plain = plain.to(self.device, half)
        self._plain.load_state_dict(self._student.state_dict())
        # the token that ends a turn is not the one the tokenizer calls the end
        ends = {self._tokenizer.eos_token_id, *self._tokenizer.convert_tokens_to_ids(["<|im_end|>"])}
        self._stop = frozenset(int(token) for token in ends if token is not None)
        self._turn_end = "<|im_end|>" if "<|im_end|>" in self._tokenizer.get_vocab() else ""
        self.adapter = LoraAdapter(self._student, rank=rank, alpha=alpha)
        self._fresh = self.adapter.state()
        scaled = ("final_logit_softcapping", "logit_scale", "logits_scaling")
        self._plain_head = not any(getattr(config, name, None) for name in scaled)
        self.speed = 0.0
        """Tokens a second, at the last drafting."""

    def reset(self) -> None:
        """Forget what was learnt."""
        self.load(self._fresh)

    def load(self, state: dict[str, Tensor]) -> None:
        """Take over an adapter."""
        self.adapter.load(state)
        self.adapter.pour(self._plain)

    def learn(
        self,
        lessons: Sequence[Lesson],
        how: TuningOptions,
        *,
        seed: int = 0,
        told: Callable[[float, float], None] | None = None,
    ) -> float:
        """Fine-tune on the answers' tokens alone; the mean loss of the last tenth is given back."""
        tokens = [self._lesson(lesson) for lesson in lessons]
        optimiser = torch.optim.AdamW(self.adapter.parameters(), how.rate, weight_decay=how.decay)
        self._student.train()
        losses: list[float] = []
        batches = list(_batches(len(tokens), how, seed))
        for step, batch in enumerate(batches):
            for group in optimiser.param_groups:
                group["lr"] = how.rate * min(1.0, (step + 1) / max(1, how.warmup))
            answered = sum(sum(label != _IGNORED for label in tokens[n][1]) for n in batch)
            total = 0.0
            for part in _parts([tokens[n] for n in batch], how.tokens):
                loss = self._loss(part) / max(1, answered)
                cast("Any", loss).backward()
                total += float(loss.detach())
            size = nn.utils.clip_grad_norm_(self.adapter.parameters(), how.clip)
            if bool(
                torch.isfinite(size)
            ):  # in half precision a sum can overflow: such a step teaches nothing
                cast("Any", optimiser).step()
                losses.append(total)
            optimiser.zero_grad(set_to_none=True)
            if told:
                told((step + 1) / len(batches), total)
        self.adapter.pour(self._plain)
        last = losses[-max(1, len(losses) // 10) :]
        return sum(last) / max(1, len(last))

    def write(self, asked: Sequence[Sequence[Message]], how: SamplingOptions) -> list[list[str]]:
        """Drafts of an answer to each."""
        start = time.perf_counter()
        found = draft(self._plain, [self._prompt(messages) for messages in asked], how, stop=self._stop)
        count = sum(len(one) for drafts in found for one in drafts)
        self.speed = count / max(1e-9, time.perf_counter() - start)
        return [cast("list[str]", self._tokenizer.batch_decode(drafts)) for drafts in found]

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        turns = [{"role": one.role, "content": one.content} for one in messages]
        text = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return self._tokenizer(text, add_special_tokens=False)["input_ids"]

    def _lesson(self, lesson: Lesson) -> tuple[list[int], list[int]]:
        """The tokens, and those of them that are to be learnt."""
        asked = self._prompt(lesson[0])
        answer = self._tokenizer(lesson[1] + self._turn_end, add_special_tokens=False)["input_ids"]
        return [*asked, *answer], [_IGNORED] * len(asked) + answer

    def _loss(self, lessons: Sequence[tuple[list[int], list[int]]]) -> Tensor:
        longest = max(len(ids) for ids, _ in lessons)
        ids = torch.tensor([row + [0] * (longest - len(row)) for row, _ in lessons], device=self.device)
        want = torch.tensor([row + [_IGNORED] * (longest - len(row)) for _, row in lessons])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row, _ in lessons])
        wanted = want[:, 1:].to(self.device)
        answered = wanted != _IGNORED
        given = {"input_ids": ids, "attention_mask": mask.to(self.device)}
        if self._plain_head:  # words are weighed where something is answered, and nowhere else
            hidden = self._student.base_model(**given).last_hidden_state[:, :-1]
            logits = self._student.get_output_embeddings()(hidden[answered])
        else:
            logits = self._student(**given).logits[:, :-1][answered]
        return F.cross_entropy(logits.float(), wanted[answered], reduction="sum")


def _batches(count: int, how: TuningOptions, seed: int) -> Iterator[list[int]]:
    luck = random.Random(seed)  # noqa: S311  # no secrets here
    for _ in range(how.epochs):
        order = list(range(count))
        luck.shuffle(order)
        for start in range(0, count, how.batch):
            yield order[start : start + how.batch]


def _parts(
    lessons: list[tuple[list[int], list[int]]], tokens: int
) -> Iterator[list[tuple[list[int], list[int]]]]:
    """Lessons of like length together, and no more than fit."""
    lessons.sort(key=lambda lesson: len(lesson[0]))
    part: list[tuple[list[int], list[int]]] = []
    for lesson in lessons:
        if part and len(lesson[0]) * (len(part) + 1) > tokens:
            yield part
            part = []
        part.append(lesson)
    if part:
        yield part
