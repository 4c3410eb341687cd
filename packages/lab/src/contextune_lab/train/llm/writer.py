"""Trainable causal language model: one copy trains with an adapter, a merged copy samples."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # as everybody calls it

from contextune.llm.chat import Message
from contextune_lab.train.llm.lora import LoraAdapter
from contextune_lab.train.llm.sampling import SamplingOptions, register_shared_attention, sample_drafts

_IGNORED = -100
Lesson = tuple[Sequence[Message], str]
"""Prompt messages and the target answer."""


@dataclass(frozen=True, slots=True)
class TuningOptions:
    """Training options. The paper tunes 13 B weights at 2e-5; a low-rank adapter needs a higher rate."""

    rate: float = 1e-3
    epochs: int = 1
    batch: int = 32
    decay: float = 0.01
    clip: float = 1.0
    warmup: int = 10
    """Warm-up steps; the rate is constant afterwards."""
    tokens: int = 32_768
    """Maximum tokens per forward pass; a batch is split into micro-batches."""


class CausalWriter:
    """A causal model of `transformers`, by name or folder; `file` names a GGUF file in it."""

    def __init__(
        self, weights: str | Path, *, file: str | None = None, rank: int = 16, alpha: float = 32.0
    ) -> None:
        import transformers

        library = cast("Any", transformers)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        dtype = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        gguf = {"gguf_file": file} if file else {}
        self._tokenizer = library.AutoTokenizer.from_pretrained(weights, **gguf)
        self._student = library.AutoModelForCausalLM.from_pretrained(weights, dtype=dtype, **gguf)
        self._student.to(self.device)
        config = self._student.config
        sampler = library.AutoModelForCausalLM.from_config(
            config, attn_implementation=register_shared_attention()
        )
        self._sampler = sampler.to(self.device, dtype)
        self._sampler.load_state_dict(self._student.state_dict())
        # chat turns end with <|im_end|>, which is not the tokenizer's eos token
        ends = {self._tokenizer.eos_token_id, *self._tokenizer.convert_tokens_to_ids(["<|im_end|>"])}
        self._stop = frozenset(int(token) for token in ends if token is not None)
        self._turn_end = "<|im_end|>" if "<|im_end|>" in self._tokenizer.get_vocab() else ""
        self.adapter = LoraAdapter(self._student, rank=rank, alpha=alpha)
        self._initial_state = self.adapter.state()
        scaling_options = ("final_logit_softcapping", "logit_scale", "logits_scaling")
        self._unscaled_head = not any(getattr(config, name, None) for name in scaling_options)
        self._prompt_tokens: dict[tuple[Message, ...], list[int]] = {}
        self.speed = 0.0
        """Tokens per second of the last sampling."""

    def reset(self) -> None:
        """Reset the adapter."""
        self.load(self._initial_state)

    def load(self, state: dict[str, Tensor]) -> None:
        """Load an adapter."""
        self.adapter.load(state)
        self.adapter.merge_into(self._sampler)

    def learn(
        self,
        lessons: Sequence[Lesson],
        options: TuningOptions,
        *,
        seed: int = 0,
        on_step: Callable[[float, float], None] | None = None,
    ) -> float:
        """Fine-tune on the answer tokens; returns the mean loss of the last tenth of the steps."""
        tokens = [self._lesson(lesson) for lesson in lessons]
        optimiser = torch.optim.AdamW(self.adapter.parameters(), options.rate, weight_decay=options.decay)
        self._student.train()
        losses: list[float] = []
        batches = list(_batches(len(tokens), options, seed))
        for step, batch in enumerate(batches):
            for group in optimiser.param_groups:
                group["lr"] = options.rate * min(1.0, (step + 1) / max(1, options.warmup))
            answer_mask = sum(sum(label != _IGNORED for label in tokens[n][1]) for n in batch)
            total = 0.0
            for part in _microbatches([tokens[n] for n in batch], options.tokens):
                loss = self._loss(part) / max(1, answer_mask)
                cast("Any", loss).backward()
                total += float(loss.detach())
            size = nn.utils.clip_grad_norm_(self.adapter.parameters(), options.clip)
            if bool(torch.isfinite(size)):  # skip steps that overflowed in half precision
                cast("Any", optimiser).step()
                losses.append(total)
            optimiser.zero_grad(set_to_none=True)
            if on_step:
                on_step((step + 1) / len(batches), total)
        self.adapter.merge_into(self._sampler)
        last = losses[-max(1, len(losses) // 10) :]
        return sum(last) / max(1, len(last))

    def write(self, prompts: Sequence[Sequence[Message]], options: SamplingOptions) -> list[list[str]]:
        """Drafts of an answer to each prompt."""
        start = time.perf_counter()
        drafts_by_prompt = sample_drafts(
            self._sampler, [self._prompt(messages) for messages in prompts], options, stop=self._stop
        )
        count = sum(len(tokens) for drafts in drafts_by_prompt for tokens in drafts)
        self.speed = count / max(1e-9, time.perf_counter() - start)
        return [cast("list[str]", self._tokenizer.batch_decode(drafts)) for drafts in drafts_by_prompt]

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        """Token ids, cached: prompts repeat in every iteration."""
        key = tuple(messages)
        if key not in self._prompt_tokens:
            turns = [{"role": message.role, "content": message.content} for message in messages]
            text = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
            self._prompt_tokens[key] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return self._prompt_tokens[key]

    def _lesson(self, lesson: Lesson) -> tuple[list[int], list[int]]:
        """Token ids and labels; prompt tokens are ignored by the loss."""
        prompts = self._prompt(lesson[0])
        answer = self._tokenizer(lesson[1] + self._turn_end, add_special_tokens=False)["input_ids"]
        return [*prompts, *answer], [_IGNORED] * len(prompts) + answer

    def _loss(self, lessons: Sequence[tuple[list[int], list[int]]]) -> Tensor:
        longest = max(len(ids) for ids, _ in lessons)
        ids = torch.tensor([row + [0] * (longest - len(row)) for row, _ in lessons], device=self.device)
        labels = torch.tensor([row + [_IGNORED] * (longest - len(row)) for _, row in lessons])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row, _ in lessons])
        targets = labels[:, 1:].to(self.device)
        answer_mask = targets != _IGNORED
        inputs = {"input_ids": ids, "attention_mask": mask.to(self.device)}
        if self._unscaled_head:  # compute logits at answer positions only
            hidden = self._student.base_model(**inputs).last_hidden_state[:, :-1]
            logits = self._student.get_output_embeddings()(hidden[answer_mask])
        else:
            logits = self._student(**inputs).logits[:, :-1][answer_mask]
        return F.cross_entropy(logits.float(), targets[answer_mask], reduction="sum")


def _batches(count: int, options: TuningOptions, seed: int) -> Iterator[list[int]]:
    rng = random.Random(seed)  # noqa: S311  # no secrets here
    for _ in range(options.epochs):
        order = list(range(count))
        rng.shuffle(order)
        for start in range(0, count, options.batch):
            yield order[start : start + options.batch]


def _microbatches(
    lessons: list[tuple[list[int], list[int]]], tokens: int
) -> Iterator[list[tuple[list[int], list[int]]]]:
    """Split into micro-batches of similar length that fit the token limit."""
    lessons.sort(key=lambda lesson: len(lesson[0]))
    part: list[tuple[list[int], list[int]]] = []
    for lesson in lessons:
        if part and len(lesson[0]) * (len(part) + 1) > tokens:
            yield part
            part = []
        part.append(lesson)
    if part:
        yield part
