"""Enlarges a trained trunk: more experts, index heads and Engram rows around the weights that are there."""

from __future__ import annotations

from pathlib import Path
from typing import Iterable

import numpy as np

from . import formats, init
from .config import Dims, dims_from_config
from .ngram import Hasher

Weights = dict[str, np.ndarray]


def trunk_of(model: Path) -> Weights:
    """Dequantised trunk weights of an exported model."""
    weights = formats.stack_experts(formats.read_checkpoint(model))
    return {n: w for n, w in weights.items() if not n.startswith("mtp.") and not n.endswith("bias_vl")}


def trunk(model: Path, d: Dims, hasher: Hasher, documents: Iterable[np.ndarray], seed: int) -> Weights:
    """The exported trunk in the dimensions `d`, which computes nearly the same on documents like the given ones."""
    old, small = dims_from_config(model / "config.json"), trunk_of(model)
    if {n: w.shape for n, w in small.items()} == {n: w.shape for n, w in init.trunk(d, seed).items()}:
        return small
    out = init.trunk(d, seed)
    small_hasher = Hasher(old.engram_layers, old.ngram, old.ngram_heads, old.ngram_vocab, hasher.token_map, old.pad_id)
    rows = [(small_hasher.rows(ids), hasher.rows(ids)) for ids in documents]
    for name, w in small.items():
        if name.endswith("engram.embed.weight"):
            layer = old.engram_layers.index(int(name.split(".")[1]))
            for before, after in rows:
                out[name][after[:, layer].ravel()] = w[before[:, layer].ravel()]
        elif name.endswith("indexer.weights_proj.weight"):
            out[name][:] = 0  # new index heads start without a say; scores carry a factor heads ** -0.5
            out[name][: len(w)] = w * (d.index_heads / old.index_heads) ** 0.5
        elif name.endswith("gate.bias"):
            out[name][:] = w.min() - 0.2  # new experts are chosen as their bias rises
            out[name][: len(w)] = w
        else:
            out[name][tuple(slice(n) for n in w.shape)] = w
    return out
