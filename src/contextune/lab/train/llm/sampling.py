"""Many drafts of many answers at once: what a small model needs so that a GPU is busy.

A prompt is read once for all its drafts; drafts that have ended leave the batch; and where heads share
keys, these are read once for all heads that share them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

_TIDY = 8
"""Every so many tokens, drafts that have ended are taken out of the batch."""


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """How drafts are drawn."""

    drafts: int = 1
    temperature: float = 1.0
    top_k: int = 10
    top_p: float = 0.9
    most: int = 110
    """Tokens in a draft."""
    batch: int = 3072
    """Drafts that are written at once."""
    seed: int = 0


def share_keys() -> str:
    """The name, for `attn_implementation`, of an attention that reads keys shared by several heads once."""
    import transformers

    cast("Any", transformers).AttentionInterface.register("contextune_shared", _shared_attention)
    cast("Any", transformers).AttentionMaskInterface.register(
        "contextune_shared",
        cast("Any", transformers.masking_utils).sdpa_mask,  # pyright: ignore[reportAttributeAccessIssue]
    )
    return "contextune_shared"


def _shared_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **given: Any
) -> tuple[Tensor, None]:
    from transformers.integrations import sdpa_attention

    if query.shape[2] > 1:
        plain = cast("Any", sdpa_attention).sdpa_attention_forward
        return plain(module, query, key, value, attention_mask, **given)
    batch, heads, _, size = query.shape
    shared = query.reshape(batch, key.shape[1], heads // key.shape[1], size)
    scores = shared @ key.transpose(-1, -2) * given.get("scaling", size**-0.5)
    if attention_mask is not None:
        scores = scores.masked_fill(~attention_mask[:, :, :, : key.shape[2]].bool(), float("-inf"))
    found = scores.softmax(-1, dtype=torch.float32).to(value.dtype) @ value
    return found.reshape(batch, 1, heads, size), None


@torch.inference_mode()
def draft(
    model: nn.Module,
    prompts: Sequence[Sequence[int]],
    how: SamplingOptions,
    *,
    stop: frozenset[int],
    progress: Callable[[int, int], None] | None = None,
) -> list[list[list[int]]]:
    """Of each prompt so many drafts, in tokens, without the one that ended them."""
    model.eval()
    order = sorted(range(len(prompts)), key=lambda n: len(prompts[n]))  # like with like: less padding
    at_once = max(1, how.batch // how.drafts)
    found: list[list[list[int]]] = [[] for _ in prompts]
    luck = torch.Generator(next(model.parameters()).device).manual_seed(how.seed)
    for start in range(0, len(order), at_once):
        part = order[start : start + at_once]
        rows = _written(model, [prompts[n] for n in part], how, stop, luck)
        for place, n in enumerate(part):
            found[n] = rows[place * how.drafts : (place + 1) * how.drafts]
        if progress:
            progress(start + len(part), len(order))
    return found


def _written(
    model: nn.Module,
    prompts: Sequence[Sequence[int]],
    how: SamplingOptions,
    stop: frozenset[int],
    luck: torch.Generator,
) -> list[list[int]]:
    device = luck.device
    longest = max(map(len, prompts))
    # filled up on the left, so that all answers begin at the same place
    ids = torch.tensor([[0] * (longest - len(row)) + list(row) for row in prompts], device=device)
    sizes = torch.tensor([len(row) for row in prompts], device=device)
    mask = (torch.arange(longest, device=device)[None] >= longest - sizes[:, None]).long()
    position = (mask.cumsum(1) - 1).clamp(min=0)
    read = cast("Any", model)(
        input_ids=ids, attention_mask=mask, position_ids=position, use_cache=True, logits_to_keep=1
    )
    cache, logits = _roomy(read.past_key_values, how), read.logits[:, -1].repeat_interleave(how.drafts, 0)
    mask, sizes = mask.repeat_interleave(how.drafts, 0), sizes.repeat_interleave(how.drafts, 0)
    stops = torch.tensor(sorted(stop), device=device)
    live = torch.arange(len(logits), device=device)
    ended = torch.zeros(len(logits), dtype=torch.bool, device=device)
    written = torch.full((len(logits), how.most), -1, device=device)
    for step in range(how.most):
        token = _drawn(logits, how, luck)
        ended = ended | torch.isin(token, stops)
        written[live, step] = torch.where(ended, -1, token)
        if step + 1 == how.most:
            break
        if step % _TIDY == _TIDY - 1 and bool(ended.any()):
            keep = torch.nonzero(~ended).squeeze(1)
            if not len(keep):
                break
            cache.batch_select_indices(keep)
            live, ended, mask, sizes, token = live[keep], ended[keep], mask[keep], sizes[keep], token[keep]
        mask = torch.cat([mask, mask.new_ones(len(mask), 1)], 1)
        read = cast("Any", model)(
            input_ids=token[:, None],
            attention_mask=mask,
            position_ids=(sizes + step)[:, None],
            past_key_values=cache,
            use_cache=True,
        )
        cache, logits = read.past_key_values, read.logits[:, -1]
    rows = cast("list[list[int]]", cast("Any", written).tolist())
    return [[token for token in row if token >= 0] for row in rows]


def _roomy(read: Any, how: SamplingOptions) -> Any:
    """What was read of each prompt, once for each draft, with room for what will be written.

    The library's own cache is copied with every token, which takes longer than all the rest.
    """
    from transformers.cache_utils import DynamicLayer

    class Layer(DynamicLayer):
        def fill(self, keys: Tensor, values: Tensor) -> None:
            room = (0, 0, 0, how.most)
            self.rows = [
                nn.functional.pad(part, room).repeat_interleave(how.drafts, 0) for part in (keys, values)
            ]
            self.dtype, self.device, self.is_initialized = keys.dtype, keys.device, True
            self._show(keys.shape[2])

        def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> Any:
            before, after = self.length, self.length + key_states.shape[2]
            for row, new in zip(self.rows, (key_states, value_states), strict=True):
                row[:, :, before:after] = new
            self._show(after)
            return self.keys, self.values

        def batch_select_indices(self, indices: Tensor) -> None:
            self.rows = [row[indices] for row in self.rows]
            self._show(self.length)

        def _show(self, length: int) -> None:
            self.length = length
            self.keys, self.values = (row[:, :, :length] for row in self.rows)

    for number, layer in enumerate(read.layers):
        roomy = Layer()
        roomy.fill(layer.keys, layer.values)
        read.layers[number] = roomy
    return read


def _drawn(logits: Tensor, how: SamplingOptions, luck: torch.Generator) -> Tensor:
    if how.temperature == 0:
        return logits.argmax(-1)
    best, token = logits.float().topk(how.top_k)
    share = (best / how.temperature).softmax(-1)
    above = share.cumsum(-1) - share  # the likeliest always stays
    share = share.masked_fill(above > how.top_p, 0)
    chosen = torch.multinomial(share, 1, generator=luck)
    return token.gather(1, chosen).squeeze(1)
