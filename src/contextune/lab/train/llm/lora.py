"""LoRA (Hu et al., 2021), plainly: beside each frozen matrix a narrow pair learns, and can be added in."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from contextune.llm.smollm2.adapter import SCALE

WHERE = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""The matrices of a decoder, by the names most models give them."""


class LoraPair(nn.Module):
    """A frozen linear layer and the two narrow matrices that are learnt beside it."""

    def __init__(self, base: nn.Linear, rank: int, scale: float) -> None:
        super().__init__()
        self.base = base
        self.scale = scale
        self.down = nn.Parameter(torch.empty(rank, base.in_features, device=base.weight.device))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank, device=base.weight.device))
        nn.init.kaiming_uniform_(self.down, a=5**0.5)

    def forward(self, x: Tensor) -> Tensor:
        """What the layer gives, and what was learnt."""
        return self.base(x) + self.scale * (x @ self.down.T.to(x.dtype)) @ self.up.T.to(x.dtype)

    @property
    def merged(self) -> Tensor:
        """One matrix that does the same."""
        return self.base.weight + self.scale * (self.up @ self.down).to(self.base.weight.dtype)


class LoraAdapter:
    """The pairs beside a model's layers. Everything else of the model is frozen."""

    def __init__(self, model: nn.Module, *, rank: int, alpha: float) -> None:
        self.rank, self.alpha = rank, alpha
        for weight in model.parameters():
            weight.requires_grad_(False)
        self.pairs = dict(_attached(model, rank, alpha / rank))
        if not self.pairs:
            raise ValueError(f"the model has none of the layers {', '.join(WHERE)}: nothing could be learnt")

    def parameters(self) -> list[nn.Parameter]:
        """What is learnt."""
        return [weight for pair in self.pairs.values() for weight in (pair.down, pair.up)]

    def state(self) -> dict[str, Tensor]:
        """What was learnt, by layer."""
        return {
            f"{name}.{side}": getattr(pair, side).detach().clone()
            for name, pair in self.pairs.items()
            for side in ("down", "up")
        }

    @torch.no_grad()
    def load(self, state: Mapping[str, Tensor]) -> None:
        """Take over what was learnt before."""
        if set(state) != set(self.state()):
            raise ValueError("the adapter was made for another model: its layers are called differently")
        for name, pair in self.pairs.items():
            pair.down.copy_(state[f"{name}.down"])
            pair.up.copy_(state[f"{name}.up"])

    @torch.no_grad()
    def pour(self, plain: nn.Module) -> None:
        """Give a plain model of the same kind the weights of this one, what was learnt added in."""
        for name, pair in self.pairs.items():
            cast("nn.Linear", plain.get_submodule(name)).weight.copy_(pair.merged)

    def save(self, file: Path) -> None:
        """In half precision, as safetensors."""
        from safetensors import torch as safetensors

        about = {"rank": str(self.rank), "alpha": str(self.alpha)}
        half = {name: tensor.half().contiguous().cpu() for name, tensor in self.state().items()}
        cast("Any", safetensors).save_file(half, str(file), about)


def read_adapter(file: Path) -> dict[str, Tensor]:
    """What `LoraAdapter.save` or `pack` kept."""
    from safetensors import torch as safetensors

    kept: dict[str, Tensor] = cast("Any", safetensors).load_file(str(file))
    return {
        name: _unpacked(name, tensor, kept[name + SCALE]) if name + SCALE in kept else tensor
        for name, tensor in kept.items()
        if not name.endswith(SCALE)
    }


def blended(parts: Sequence[tuple[Mapping[str, Tensor], float]]) -> dict[str, Tensor]:
    """One adapter that does, as nearly as its rank allows, what several do by their shares."""
    first = parts[0][0]
    found: dict[str, Tensor] = {}
    linalg = cast("Any", torch.linalg)  # it has no types
    for name in (key.removesuffix(".down") for key in first if key.endswith(".down")):
        rank = len(first[f"{name}.down"])
        up = torch.cat([share * state[f"{name}.up"].double() for state, share in parts], 1)
        down = torch.cat([state[f"{name}.down"].double() for state, _ in parts], 0)
        # their product is large, and of low rank: only the core is taken apart
        left, rest = linalg.qr(up)
        right, other = linalg.qr(down.T)
        a, sizes, b = linalg.svd(rest @ other.T)
        root = sizes[:rank].sqrt()
        found[f"{name}.up"] = left @ a[:, :rank] * root
        found[f"{name}.down"] = root[:, None] * (b[:rank] @ right.T)
    return found


def pack(source: Path, target: Path) -> None:
    """Half as large: a byte a weight, with a scale for each of the narrow side."""
    from safetensors import safe_open
    from safetensors import torch as safetensors

    with cast("Any", safe_open)(str(source), framework="pt") as file:
        about = cast("dict[str, str]", file.metadata())
    packed: dict[str, Tensor] = {}
    for name, tensor in read_adapter(source).items():
        wide = 1 if name.endswith(".down") else 0
        scale = (tensor.float().abs().amax(wide) / 127).clamp(min=1e-12)
        rounded = tensor.float() / (scale[:, None] if wide else scale)
        packed[name] = rounded.round().to(torch.int8).contiguous()
        packed[name + SCALE] = scale
    cast("Any", safetensors).save_file(packed, str(target), about)


def _unpacked(name: str, tensor: Tensor, scale: Tensor) -> Tensor:
    return tensor.float() * (scale[:, None] if name.endswith(".down") else scale)


def _attached(model: nn.Module, rank: int, scale: float) -> Iterator[tuple[str, LoraPair]]:
    for name, layer in list(cast("Iterator[tuple[str, nn.Module]]", cast("Any", model).named_modules())):
        owner, _, last = name.rpartition(".")
        if last in WHERE and isinstance(layer, nn.Linear):
            pair = LoraPair(layer, rank, scale)
            setattr(model.get_submodule(owner), last, pair)
            yield name, pair
