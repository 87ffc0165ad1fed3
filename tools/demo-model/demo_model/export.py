"""Writes the trained weights in the real checkpoint format: python -m demo_model.export --work DIR --out DIR."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np

from . import checkpoints, formats
from .config import Dims, config_json
from .formats import Stored
from .train_drafter import NOISE, with_noise

_FP8 = (
    ".attn.wq_a.weight", ".attn.wq_b.weight", ".attn.wkv.weight", ".attn.wo_a.weight", ".attn.wo_b.weight",
    ".indexer.wq_b.weight", ".shared_experts.w1.weight", ".shared_experts.w2.weight", ".shared_experts.w3.weight",
    ".engram.wkv.weight", "mtp.0.main_proj.weight",
)  # fmt: skip
_F32 = ("_fn", "_base", "_scale", ".attn_sink", ".gate.bias")


def storage(name: str) -> str:
    """Format of one trainer tensor."""
    if name.endswith(_F32):
        return "F32"
    if ".ffn.experts." in name:
        return "FP4"
    if name.endswith("engram.embed.weight"):
        return "FP8 rows"
    return "FP8" if name.endswith(_FP8) else "BF16"


def _pair(stem: str, stored: tuple[Stored, Stored]) -> dict[str, Stored]:
    return {f"{stem}.weight": stored[0], f"{stem}.scale": stored[1]}


def quantised(name: str, w: np.ndarray) -> dict[str, Stored]:
    """Stored tensors of one trainer tensor."""
    kind = storage(name)
    if kind == "F32":
        out = {name: formats.f32(w)}
        if name.endswith(".gate.bias"):
            out[name + "_vl"] = formats.f32(w)  # image tokens only
        return out
    if kind == "BF16":
        return {name: formats.bf16(w)}
    if kind == "FP4":
        stem, which = name.rsplit(".", 1)
        return {k: v for e in range(len(w)) for k, v in _pair(f"{stem}.{e}.{which}", formats.fp4_rows(w[e])).items()}
    stem = name.removesuffix(".weight")
    return _pair(stem, formats.fp8_rows(w) if kind == "FP8 rows" else formats.fp8_tiles(w))


def _order(name: str, d: Dims) -> tuple[int, str]:
    parts = name.split(".")
    block = {"layers": 1, "mtp": 1 + d.layers}.get(parts[0])
    return (0, name) if block is None else (block + int(parts[1]), name)


def write(out: Path, d: Dims, weights: dict[str, np.ndarray], tokenizer_dir: Path) -> int:
    """Write a model folder; returns the size of the weights in bytes."""
    out.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, Stored] = {}
    for name in sorted(weights, key=lambda n: _order(n, d)):
        tensors.update(quantised(name, np.asarray(weights[name], np.float32)))
    size = formats.write_safetensors(out / "model.safetensors", tensors)
    index = dict(metadata=dict(total_size=size), weight_map={n: "model.safetensors" for n in tensors})
    (out / "model.safetensors.index.json").write_text(json.dumps(index, indent=0) + "\n")
    (out / "config.json").write_text(json.dumps(config_json(d), indent=1) + "\n")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(tokenizer_dir / name, out / name)
    return size


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    d, trunk, _, info = checkpoints.load(args.work / "trunk.npz")
    _, stages, _, draft = checkpoints.load(args.work / "drafter.npz", d)
    assert draft["trunk"] == info, "the drafter was trained on another trunk"
    assert NOISE in stages
    size = write(args.out, d, with_noise(trunk, stages, d.noise_id), args.work)
    print(f"{size / 1e6:.2f} MB of weights, trunk step {info['step']}, drafter step {draft['step']}")


if __name__ == "__main__":
    main()
