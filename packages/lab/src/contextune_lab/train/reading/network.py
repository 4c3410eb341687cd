"""The reading model in torch: a BERT cross-encoder with heads for items, tools and calls."""

# arrays and tensors of untyped libraries
# pyright: basic, reportArgumentType=false, reportDeprecated=false

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from contextune.errors import InvalidDataError
from contextune_lab.train.reading.tokens import CallTokens, TokenSequence

BODY = "bert."
HEADS = 12
"""Attention heads, as `export` writes them."""
_PAIR_WIDTH = 256
_PAIR_SCALE, _SPAN_SCALE = 16.0, 19.6
_MULTIPLE = 8
_SHORT = 300
"""Tokens below which a processor is faster without fused attention, whose backward pass is slow there."""
_LOWEST = -1e4
"""A logit that stands for minus infinity: a column of minus infinities has no gradient."""


@dataclass(frozen=True, eq=False)
class CallLogits:
    """What the network says of a batch of calls; all but `fit` have a row per argument of any call."""

    fit: Tensor
    values: Tensor
    starts: Tensor
    ends: Tensor


class ReadingNetwork(nn.Module):
    """Token ids in, log odds out. Word vectors are frozen."""

    def __init__(self, base: Mapping[str, NDArray[Any]], layers: Sequence[int]) -> None:
        """`base` has the weights to start from; `layers` are those of its layers that are kept."""
        super().__init__()
        import transformers

        library = cast("Any", transformers)
        words, width = base["embeddings.word_embeddings.weight"].shape
        config = library.BertConfig(
            vocab_size=words,
            hidden_size=width,
            num_hidden_layers=len(layers),
            num_attention_heads=HEADS,
            intermediate_size=len(base[f"encoder.layer.{layers[0]}.intermediate.dense.bias"]),
            max_position_embeddings=len(base["embeddings.position_embeddings.weight"]),
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        self.bert = library.BertModel(config, add_pooling_layer=False)
        loaded = self.bert.load_state_dict(_chosen_layers(base, layers), strict=False)
        if loaded.missing_keys:
            raise InvalidDataError(f"the base has no weights {loaded.missing_keys[0]!r}")
        self.bert.embeddings.word_embeddings.weight.requires_grad_(False)
        self.item, self.tool, self.fit = (nn.Linear(width, 1) for _ in range(3))
        self.arg, self.val = (nn.Linear(width, _PAIR_WIDTH) for _ in range(2))
        self.start, self.end = (nn.Linear(width, width) for _ in range(2))
        heads = {name: torch.from_numpy(value) for name, value in base.items() if name in self.state_dict()}
        self.load_state_dict(heads, strict=False)

    def hidden(self, sequences: Sequence[TokenSequence]) -> Tensor:
        """The hidden states of a batch, as float32."""
        device = self.item.weight.device
        longest = -(-max(len(each.ids) for each in sequences) // _MULTIPLE) * _MULTIPLE
        ids = torch.zeros((len(sequences), longest), dtype=torch.long)
        for number, each in enumerate(sequences):
            ids[number, : len(each.ids)] = torch.tensor(each.ids)
        segments = torch.tensor([each.segment for each in sequences])[:, None]
        places = torch.arange(longest)[None]
        is_plain = device.type == "cpu" and longest < _SHORT
        self.bert.set_attn_implementation("eager" if is_plain else "sdpa")
        sizes = torch.tensor([len(each.ids) for each in sequences])[:, None]
        output = self.bert(
            input_ids=ids.to(device),
            attention_mask=(places < sizes).long().to(device),
            token_type_ids=(places >= segments).long().to(device),
        )
        return output.last_hidden_state.float()

    def score_lists(self, sequences: Sequence[TokenSequence], head: str) -> Tensor:
        """The log odds of each text; `head` is "item" or "tool"."""
        linear = self.item if head == "item" else self.tool
        return linear(self.hidden(sequences)[:, 0])[:, 0]

    def score_calls(self, calls: Sequence[CallTokens]) -> CallLogits:
        """The log odds that each tool fits, and the logits of values and spans of each argument."""
        hidden = self.hidden([call.sequence for call in calls])
        device = hidden.device
        pairs = [(number, place) for number, call in enumerate(calls) for place in call.argument_places]
        rows = torch.tensor([number for number, _ in pairs], dtype=torch.long, device=device)
        places = torch.tensor([place for _, place in pairs], dtype=torch.long, device=device)
        arguments = hidden[rows, places]
        values = self.val(hidden[torch.arange(len(calls), device=device)[:, None], self._places(calls)])
        pair_logits = (self.arg(arguments)[:, None] * values[rows]).sum(-1) / _PAIR_SCALE
        outside = self._outside(calls, hidden.shape[1])[rows]
        starts, ends = (
            ((head(arguments)[:, None] * hidden[rows]).sum(-1) / _SPAN_SCALE).masked_fill(outside, _LOWEST)
            for head in (self.start, self.end)
        )
        admitted = np.zeros(tuple(pair_logits.shape), np.bool_)
        for number, argument in enumerate(each for call in calls for each in call.arguments):
            admitted[number, : len(argument.admitted)] = argument.admitted
        masked = pair_logits.masked_fill(~torch.from_numpy(admitted).to(device), _LOWEST)
        return CallLogits(self.fit(hidden[:, 0])[:, 0], masked, starts, ends)

    def _places(self, calls: Sequence[CallTokens]) -> Tensor:
        """The places of values, a row per call; what is missing is the first token."""
        widest = max(len(call.value_places) for call in calls)
        places = torch.zeros((len(calls), widest), dtype=torch.long)
        for number, call in enumerate(calls):
            places[number, : len(call.value_places)] = torch.tensor(call.value_places)
        return places.to(self.item.weight.device)

    def _outside(self, calls: Sequence[CallTokens], longest: int) -> Tensor:
        """Which tokens are not of the request."""
        outside = torch.ones((len(calls), longest), dtype=torch.bool)
        for number, call in enumerate(calls):
            outside[number, 1 : 1 + call.words] = False
        return outside.to(self.item.weight.device)

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """The weights but for the word vectors, for `export`."""
        return {
            name: parameter.detach().float().cpu().numpy()
            for name, parameter in self.named_parameters()
            if not name.startswith(BODY) or parameter.requires_grad
        }


def _chosen_layers(base: Mapping[str, NDArray[Any]], layers: Sequence[int]) -> dict[str, Tensor]:
    """The state of the encoder: some of the layers, numbered anew."""
    numbers = {str(layer): str(number) for number, layer in enumerate(layers)}
    state: dict[str, Tensor] = {}
    for name, value in base.items():
        parts = name.split(".")
        if name.startswith("encoder.layer."):
            if parts[2] not in numbers:
                continue
            parts[2] = numbers[parts[2]]
        state[".".join(parts)] = torch.from_numpy(np.asarray(value, np.float32).copy())
    return state
