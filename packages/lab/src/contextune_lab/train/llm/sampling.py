"""Batched sampling of many drafts per prompt, to keep a GPU busy with a small model.

Each prompt is read once for all its drafts, finished drafts leave the batch, and shared keys (grouped-query
attention) are read once for all their heads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

_COMPACT_EVERY = 8
"""Remove finished drafts from the batch every n tokens."""


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """Sampling options."""

    drafts: int = 1
    temperature: float = 1.0
    top_k: int = 10
    top_p: float = 0.9
    most: int = 110
    """Maximum tokens per draft."""
    batch: int = 3072
    """Drafts per batch."""
    seed: int = 0


def register_shared_attention() -> str:
    """Register an attention that reads shared keys once; returns its name for `attn_implementation`."""
    import transformers

    cast("Any", transformers).AttentionInterface.register("contextune_shared", _shared_attention)
    cast("Any", transformers).AttentionMaskInterface.register(
        "contextune_shared",
        cast("Any", transformers.masking_utils).sdpa_mask,  # pyright: ignore[reportAttributeAccessIssue]
    )
    return "contextune_shared"


def _shared_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **kwargs: Any
) -> tuple[Tensor, None]:
    from transformers.integrations import sdpa_attention

    if query.shape[2] > 1:
        plain = cast("Any", sdpa_attention).sdpa_attention_forward
        return plain(module, query, key, value, attention_mask, **kwargs)
    batch, heads, _, size = query.shape
    grouped_query = query.reshape(batch, key.shape[1], heads // key.shape[1], size)
    scores = grouped_query @ key.transpose(-1, -2) * kwargs.get("scaling", size**-0.5)
    if attention_mask is not None:
        scores = scores.masked_fill(~attention_mask[:, :, :, : key.shape[2]].bool(), float("-inf"))
    drafts = scores.softmax(-1, dtype=torch.float32).to(value.dtype) @ value
    return drafts.reshape(batch, 1, heads, size), None


@torch.inference_mode()
def sample_drafts(
    model: nn.Module,
    prompts: Sequence[Sequence[int]],
    options: SamplingOptions,
    *,
    stop: frozenset[int],
    progress: Callable[[int, int], None] | None = None,
) -> list[list[list[int]]]:
    """Drafts per prompt as token ids, without the stop token."""
    model.eval()
    order = sorted(
        range(len(prompts)), key=lambda n: len(prompts[n])
    )  # similar lengths together: less padding
    at_once = max(1, options.batch // options.drafts)
    drafts: list[list[list[int]]] = [[] for _ in prompts]
    generator = torch.Generator(next(model.parameters()).device).manual_seed(options.seed)
    for start in range(0, len(order), at_once):
        part = order[start : start + at_once]
        rows = _sample_batch(model, [prompts[n] for n in part], options, stop, generator)
        for place, n in enumerate(part):
            drafts[n] = rows[place * options.drafts : (place + 1) * options.drafts]
        if progress:
            progress(start + len(part), len(order))
    return drafts


def _sample_batch(
    model: nn.Module,
    prompts: Sequence[Sequence[int]],
    options: SamplingOptions,
    stop: frozenset[int],
    generator: torch.Generator,
) -> list[list[int]]:
    device = generator.device
    longest = max(map(len, prompts))
    # left padding, so that all answers start at the same position
    ids = torch.tensor([[0] * (longest - len(row)) + list(row) for row in prompts], device=device)
    sizes = torch.tensor([len(row) for row in prompts], device=device)
    mask = (torch.arange(longest, device=device)[None] >= longest - sizes[:, None]).long()
    position = (mask.cumsum(1) - 1).clamp(min=0)
    output = cast("Any", model)(
        input_ids=ids, attention_mask=mask, position_ids=position, use_cache=True, logits_to_keep=1
    )
    cache, logits = (
        _preallocate(output.past_key_values, options),
        output.logits[:, -1].repeat_interleave(options.drafts, 0),
    )
    mask, sizes = mask.repeat_interleave(options.drafts, 0), sizes.repeat_interleave(options.drafts, 0)
    stops = torch.tensor(sorted(stop), device=device)
    active = torch.arange(len(logits), device=device)
    ended = torch.zeros(len(logits), dtype=torch.bool, device=device)
    written = torch.full((len(logits), options.most), -1, device=device)
    for step in range(options.most):
        token = _next_tokens(logits, options, generator)
        ended = ended | torch.isin(token, stops)
        written[active, step] = torch.where(ended, -1, token)
        if step + 1 == options.most:
            break
        if step % _COMPACT_EVERY == _COMPACT_EVERY - 1 and bool(ended.any()):
            keep = torch.nonzero(~ended).squeeze(1)
            if not len(keep):
                break
            cache.batch_select_indices(keep)
            active, ended, mask, sizes, token = (
                active[keep],
                ended[keep],
                mask[keep],
                sizes[keep],
                token[keep],
            )
        mask = torch.cat([mask, mask.new_ones(len(mask), 1)], 1)
        output = cast("Any", model)(
            input_ids=token[:, None],
            attention_mask=mask,
            position_ids=(sizes + step)[:, None],
            past_key_values=cache,
            use_cache=True,
        )
        cache, logits = output.past_key_values, output.logits[:, -1]
    rows = cast("list[list[int]]", cast("Any", written).tolist())
    return [[token for token in row if token >= 0] for row in rows]


def _preallocate(output: Any, options: SamplingOptions) -> Any:
    """Expand the prompt's cache to one copy per draft, with space for the new tokens.

    The library's own cache is copied with every token, which takes longer than everything else.
    """
    from transformers.cache_utils import DynamicLayer

    class Layer(DynamicLayer):
        def fill(self, keys: Tensor, values: Tensor) -> None:
            padding = (0, 0, 0, options.most)
            self.rows = [
                nn.functional.pad(part, padding).repeat_interleave(options.drafts, 0)
                for part in (keys, values)
            ]
            self.dtype, self.device, self.is_initialized = keys.dtype, keys.device, True
            self._set_length(keys.shape[2])

        def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> Any:
            before, after = self.length, self.length + key_states.shape[2]
            for row, new in zip(self.rows, (key_states, value_states), strict=True):
                row[:, :, before:after] = new
            self._set_length(after)
            return self.keys, self.values

        def batch_select_indices(self, indices: Tensor) -> None:
            self.rows = [row[indices] for row in self.rows]
            self._set_length(self.length)

        def _set_length(self, length: int) -> None:
            self.length = length
            self.keys, self.values = (row[:, :, :length] for row in self.rows)

    for number, layer in enumerate(output.layers):
        preallocated = Layer()
        preallocated.fill(layer.keys, layer.values)
        output.layers[number] = preallocated
    return output


def _next_tokens(logits: Tensor, options: SamplingOptions, generator: torch.Generator) -> Tensor:
    if options.temperature == 0:
        return logits.argmax(-1)
    logits_top, token = logits.float().topk(options.top_k)
    share = (logits_top / options.temperature).softmax(-1)
    cumulative = share.cumsum(-1) - share  # the most likely token always stays
    share = share.masked_fill(cumulative > options.top_p, 0)
    chosen = torch.multinomial(share, 1, generator=generator)
    return token.gather(1, chosen).squeeze(1)
