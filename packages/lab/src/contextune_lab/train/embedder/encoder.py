"""Torch sentence encoder: BERT with mean pooling, and two classification heads."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # as everybody calls it

_CHUNK = 640
"""Texts per forward pass."""
_TOKENS: dict[tuple[str, int], dict[str, list[int]]] = {}
"""Token ids by weights and limit: texts repeat every epoch and in every fold."""


class Encoder(nn.Module):
    """BERT with mean pooling to unit length, plus heads for kind and application."""

    def __init__(self, weights: Path, kinds: int, apps: int, max_tokens: int) -> None:
        super().__init__()
        import transformers

        library = cast("Any", transformers)
        self.tokenizer = library.AutoTokenizer.from_pretrained(weights)
        self.bert = library.AutoModel.from_pretrained(weights, dtype=torch.float32)
        self.kind = nn.Linear(int(self.bert.config.hidden_size), kinds)
        self.app = nn.Linear(int(self.bert.config.hidden_size), apps)
        self.max_tokens = max_tokens
        self._tokens = _TOKENS.setdefault((str(weights), max_tokens), {})

    def forward(self, texts: Sequence[str]) -> Tensor:
        """One unit vector per text."""
        device = self.kind.weight.device
        tokens = self._tokenized(texts)
        order = sorted(
            range(len(texts)), key=lambda n: len(tokens[n])
        )  # similar lengths together: less padding
        rows: list[Tensor] = []
        for start in range(0, len(order), _CHUNK):
            part = [tokens[n] for n in order[start : start + _CHUNK]]
            longest = len(part[-1])
            ids = torch.tensor([row + [0] * (longest - len(row)) for row in part]).to(device)
            sizes = torch.tensor([len(row) for row in part]).to(device)
            mask = (torch.arange(longest, device=device)[None] < sizes[:, None]).long()
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                hidden = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
            rows.append(F.normalize((hidden.float() * mask.unsqueeze(-1)).sum(1), dim=-1))
        position = torch.empty(len(order), dtype=torch.long)
        position[torch.tensor(order)] = torch.arange(len(order))
        return torch.cat(rows)[position.to(device)]

    @torch.no_grad()
    def embed(self, texts: Sequence[str], batch: int = 1024) -> Tensor:
        """Embed many texts without gradients."""
        self.eval()
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        rows = torch.empty(len(texts), int(self.bert.config.hidden_size))
        for start in range(0, len(order), batch):
            part = order[start : start + batch]
            rows[part] = self([texts[i] for i in part]).cpu()
        return rows

    def _tokenized(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids, cached."""
        if new := list({text for text in texts if text not in self._tokens}):
            ids = self.tokenizer(new, truncation=True, max_length=self.max_tokens)["input_ids"]
            self._tokens |= dict(zip(new, ids, strict=True))
        return [self._tokens[text] for text in texts]
