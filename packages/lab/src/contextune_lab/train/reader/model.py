"""The reader in torch: BERT with mean pooling, and a linear layer over the tools."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # as everybody calls it

_SCALE = 12.0
"""Of the unit vector: with a length of 1, the linear layer would need large weights."""
_DROPOUT = 0.1


class ReaderNetwork(nn.Module):
    """Token ids in, logits of the tools out. The embeddings stay as they are."""

    def __init__(self, weights: Path, tools: int, max_tokens: int) -> None:
        super().__init__()
        import transformers

        library = cast("Any", transformers)
        self.tokenizer = library.AutoTokenizer.from_pretrained(weights)
        self.bert = library.AutoModel.from_pretrained(weights, dtype=torch.float32)
        self.bert.embeddings.requires_grad_(False)
        self.tool = nn.Linear(int(self.bert.config.hidden_size), tools)
        nn.init.normal_(self.tool.weight, std=0.02)
        self.dropout = nn.Dropout(_DROPOUT)
        self.max_tokens = max_tokens

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text, cut at `max_tokens`."""
        return self.tokenizer(list(texts), truncation=True, max_length=self.max_tokens)["input_ids"]

    def forward(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        """The logits of one batch."""
        device = self.tool.weight.device
        longest = max(map(len, tokens))
        ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in tokens]).to(device)
        sizes = torch.tensor([len(row) for row in tokens]).to(device)
        mask = (torch.arange(longest, device=device)[None] < sizes[:, None]).long()
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            hidden = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        vectors = F.normalize((hidden.float() * mask.unsqueeze(-1)).sum(1), dim=-1)
        return self.tool(self.dropout(_SCALE * vectors))

    def head(self) -> np.ndarray:
        """Weights of the linear layer for unit vectors; the last column is the bias."""
        weight, bias = (
            tensor.detach().float().cpu().numpy() for tensor in (self.tool.weight, self.tool.bias)
        )
        return np.column_stack([_SCALE * weight, bias])


def token_batches(lengths: Sequence[int], budget: int, draw: Random, *, jitter: float) -> list[list[int]]:
    """Row numbers in batches of at most `budget` padded tokens, in random order.

    Rows of similar length are together; `jitter` in tokens varies which ones.
    """
    order = sorted(range(len(lengths)), key=lambda row: lengths[row] + draw.random() * jitter)
    batches = list(_filled(order, lengths, budget))
    draw.shuffle(batches)
    return batches


def _filled(order: Sequence[int], lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    batch: list[int] = []
    longest = 0
    for row in order:
        longest = max(longest, lengths[row])
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch, longest = [], lengths[row]
        batch.append(row)
    if batch:
        yield batch
