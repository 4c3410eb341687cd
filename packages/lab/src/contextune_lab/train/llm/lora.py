"""LoRA adapters (Hu et al., 2021): attach, merge, save, blend and quantise."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from contextune.llm.smollm2.adapter import SCALE

TARGET_LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""Linear layers to adapt, by the names most decoders use."""


class LoraLinear(nn.Module):
    """A frozen linear layer with a trainable low-rank update."""

    def __init__(self, base: nn.Linear, rank: int, scale: float) -> None:
        super().__init__()
        self.base = base
        self.scale = scale
        self.down = nn.Parameter(torch.empty(rank, base.in_features, device=base.weight.device))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank, device=base.weight.device))
        nn.init.kaiming_uniform_(self.down, a=5**0.5)

    def forward(self, x: Tensor) -> Tensor:
        """The layer plus its low-rank update."""
        return self.base(x) + self.scale * (x @ self.down.T.to(x.dtype)) @ self.up.T.to(x.dtype)

    @property
    def merged(self) -> Tensor:
        """The weight with the update merged in."""
        return self.base.weight + self.scale * (self.up @ self.down).to(self.base.weight.dtype)


class LoraAdapter:
    """The LoRA layers of a model. All other weights are frozen."""

    def __init__(self, model: nn.Module, *, rank: int, alpha: float) -> None:
        self.rank, self.alpha = rank, alpha
        for weight in model.parameters():
            weight.requires_grad_(False)
        self.layers = dict(_attach(model, rank, alpha / rank))
        if not self.layers:
            raise ValueError(
                f"the model has none of the layers {', '.join(TARGET_LAYERS)}: LoRA cannot be attached"
            )

    def parameters(self) -> list[nn.Parameter]:
        """The trainable weights."""
        return [weight for lora_layer in self.layers.values() for weight in (lora_layer.down, lora_layer.up)]

    def state(self) -> dict[str, Tensor]:
        """The LoRA weights by layer name."""
        return {
            f"{name}.{side}": getattr(lora_layer, side).detach().clone()
            for name, lora_layer in self.layers.items()
            for side in ("down", "up")
        }

    @torch.no_grad()
    def load(self, state: Mapping[str, Tensor]) -> None:
        """Load LoRA weights."""
        if set(state) != set(self.state()):
            raise ValueError("the adapter belongs to another model: its layer names differ")
        for name, lora_layer in self.layers.items():
            lora_layer.down.copy_(state[f"{name}.down"])
            lora_layer.up.copy_(state[f"{name}.up"])

    @torch.no_grad()
    def merge_into(self, target_model: nn.Module) -> None:
        """Copy the merged weights into a plain model of the same architecture."""
        for name, lora_layer in self.layers.items():
            cast("nn.Linear", target_model.get_submodule(name)).weight.copy_(lora_layer.merged)

    def save(self, file: Path) -> None:
        """Save in half precision as safetensors."""
        from safetensors import torch as safetensors

        about = {"rank": str(self.rank), "alpha": str(self.alpha)}
        half = {name: tensor.half().contiguous().cpu() for name, tensor in self.state().items()}
        cast("Any", safetensors).save_file(half, str(file), about)


def read_adapter(file: Path) -> dict[str, Tensor]:
    """Read a file written by `LoraAdapter.save` or `pack_adapter`."""
    from safetensors import torch as safetensors

    tensors: dict[str, Tensor] = cast("Any", safetensors).load_file(str(file))
    return {
        name: _dequantize(name, tensor, tensors[name + SCALE]) if name + SCALE in tensors else tensor
        for name, tensor in tensors.items()
        if not name.endswith(SCALE)
    }


def blend_adapters(adapters: Sequence[tuple[Mapping[str, Tensor], float]]) -> dict[str, Tensor]:
    """The best approximation, at the same rank, of a weighted sum of adapters."""
    first = adapters[0][0]
    blended: dict[str, Tensor] = {}
    linalg = cast("Any", torch.linalg)  # untyped
    for name in (key.removesuffix(".down") for key in first if key.endswith(".down")):
        rank = len(first[f"{name}.down"])
        up = torch.cat([share * state[f"{name}.up"].double() for state, share in adapters], 1)
        down = torch.cat([state[f"{name}.down"].double() for state, _ in adapters], 0)
        # SVD of the small core only: the product is large but has low rank
        left, rest = linalg.qr(up)
        right, other = linalg.qr(down.T)
        a, sizes, b = linalg.svd(rest @ other.T)
        root = sizes[:rank].sqrt()
        blended[f"{name}.up"] = left @ a[:, :rank] * root
        blended[f"{name}.down"] = root[:, None] * (b[:rank] @ right.T)
    return blended


def pack_adapter(source: Path, target: Path) -> None:
    """Quantise an adapter to int8 with one scale per rank."""
    from safetensors import safe_open
    from safetensors import torch as safetensors

    with cast("Any", safe_open)(str(source), framework="pt") as file:
        about = cast("dict[str, str]", file.metadata())
    packed: dict[str, Tensor] = {}
    for name, tensor in read_adapter(source).items():
        wide_axis = 1 if name.endswith(".down") else 0
        scale = (tensor.float().abs().amax(wide_axis) / 127).clamp(min=1e-12)
        rounded = tensor.float() / (scale[:, None] if wide_axis else scale)
        packed[name] = rounded.round().to(torch.int8).contiguous()
        packed[name + SCALE] = scale
    cast("Any", safetensors).save_file(packed, str(target), about)


def _dequantize(name: str, tensor: Tensor, scale: Tensor) -> Tensor:
    return tensor.float() * (scale[:, None] if name.endswith(".down") else scale)


def _attach(model: nn.Module, rank: int, scale: float) -> Iterator[tuple[str, LoraLinear]]:
    for name, layer in list(cast("Iterator[tuple[str, nn.Module]]", cast("Any", model).named_modules())):
        parent, _, last = name.rpartition(".")
        if last in TARGET_LAYERS and isinstance(layer, nn.Linear):
            lora_layer = LoraLinear(layer, rank, scale)
            setattr(model.get_submodule(parent), last, lora_layer)
            yield name, lora_layer
