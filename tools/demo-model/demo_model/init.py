"""Initial weights of the trunk."""

from __future__ import annotations

import numpy as np

from .config import Dims

Weights = dict[str, np.ndarray]


class _Init:
    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.w: Weights = {}

    def normal(self, name: str, *shape: int, std: float) -> None:
        self.w[name] = self.rng.normal(0, std, shape).astype(np.float32)

    def matrix(self, name: str, *shape: int, gain: float = 1.0) -> None:
        self.normal(name, *shape, std=gain * shape[-1] ** -0.5)

    def const(self, name: str, value: np.ndarray | float, *shape: int) -> None:
        self.w[name] = np.broadcast_to(np.asarray(value, np.float32), shape).copy()


def _hyper_connection(i: _Init, prefix: str, d: Dims, favoured: int) -> None:
    m = d.hc
    pre = np.full(m, -1.5)
    pre[favoured % m] = 1.5  # rotating the favoured stream breaks the symmetry of equal copies
    base = np.concatenate([pre, np.zeros(m), 3 * np.eye(m).ravel()])
    i.matrix(f"{prefix}_fn", (2 + m) * m, m * d.hidden)
    i.const(f"{prefix}_scale", 0.1, 3)
    i.const(f"{prefix}_base", base, (2 + m) * m)


def _block(i: _Init, d: Dims, layer: int) -> None:
    p, (experts, _) = d.prefix(layer), d.moe(layer)
    small = (2 * d.layers) ** -0.5
    _hyper_connection(i, f"{p}.hc_attn", d, 2 * layer)
    _hyper_connection(i, f"{p}.hc_ffn", d, 2 * layer + 1)
    for name, size in (("attn_norm", d.hidden), ("ffn_norm", d.hidden), ("attn.q_norm", d.q_lora), ("attn.kv_norm", d.head_dim)):
        i.const(f"{p}.{name}.weight", 1, size)
    i.matrix(f"{p}.attn.wq_a.weight", d.q_lora, d.hidden)
    i.matrix(f"{p}.attn.wq_b.weight", d.heads * d.head_dim, d.q_lora)
    i.matrix(f"{p}.attn.wkv.weight", d.head_dim, d.hidden)
    i.const(f"{p}.attn.attn_sink", 0, d.heads)
    i.matrix(f"{p}.attn.wo_a.weight", d.o_groups * d.o_lora, d.heads // d.o_groups * d.head_dim)
    i.matrix(f"{p}.attn.wo_b.weight", d.hidden, d.o_groups * d.o_lora, gain=small)
    i.matrix(f"{p}.ffn.gate.weight", experts, d.hidden, gain=0.5)
    i.const(f"{p}.ffn.gate.bias", 0, experts)
    for which, out, inner, gain in (("w1", d.inter, d.hidden, 1), ("w3", d.inter, d.hidden, 1), ("w2", d.hidden, d.inter, small)):
        i.matrix(f"{p}.ffn.experts.{which}", experts, out, inner, gain=gain)
        i.matrix(f"{p}.ffn.shared_experts.{which}.weight", out, inner, gain=gain)


def _sources(i: _Init, d: Dims, layer: int) -> None:
    a = f"layers.{layer}.attn"
    if layer in d.kv_sources:
        i.matrix(f"{a}.compressor.wkv.weight", d.head_dim, d.hidden)
        if d.ratio(layer) == 2:
            i.matrix(f"{a}.compressor.wgate.weight", d.head_dim, d.hidden)
        i.const(f"{a}.compressor.norm.weight", 1, d.head_dim)
        i.matrix(f"{a}.indexer.wk.weight", d.index_dim, d.head_dim)
        i.const(f"{a}.indexer.k_norm.weight", 1, d.index_dim)
    if layer in d.index_sources:
        i.matrix(f"{a}.indexer.wq_b.weight", d.index_heads * d.index_dim, d.q_lora)
        i.matrix(f"{a}.indexer.weights_proj.weight", d.index_heads, d.hidden)


def _engram(i: _Init, d: Dims, layer: int) -> None:
    e = f"layers.{layer}.engram"
    i.normal(f"{e}.embed.weight", d.table_rows[d.engram_layers.index(layer)], d.ngram_dim, std=0.3)
    i.matrix(f"{e}.wkv.weight", (d.hc + 1) * d.hidden, d.columns * d.ngram_dim)
    i.w[f"{e}.wkv.weight"][d.hc * d.hidden :] *= 0.1
    i.const(f"{e}.q_weight", 1, d.hc, d.hidden)
    i.const(f"{e}.k_weight", 1, d.hc, d.hidden)


def trunk(d: Dims, seed: int) -> Weights:
    """Random trunk weights (no draft stages)."""
    i = _Init(seed)
    i.normal("embed.weight", d.vocab, d.hidden, std=0.3)
    i.matrix("head.weight", d.vocab, d.hidden, gain=0.5)
    i.const("norm.weight", 1, d.hidden)
    for layer in range(d.layers):
        _block(i, d, layer)
        if d.ratio(layer):
            _sources(i, d, layer)
        if layer in d.engram_layers:
            _engram(i, d, layer)
    return i.w


def share_spellings(w: Weights, pairs: np.ndarray, seed: int) -> None:
    """Start the tokens of a word with and without a leading blank as equals, apart from one offset.

    JSON and tool arguments repeat words without their blank; this way all words share one lesson.
    """
    rng = np.random.default_rng([seed, 1])
    bare, spaced = pairs.T
    for name in ("embed.weight", "head.weight"):
        w[name][bare] = w[name][spaced] + rng.normal(0, w[name].std(), w[name].shape[1]).astype(np.float32)


def drafter(d: Dims, trunk_weights: Weights, seed: int) -> Weights:
    """Draft stages, started from the last trunk layers."""
    i = _Init(seed)
    for stage in range(d.stages):
        source = d.layers - d.stages + stage
        for name, w in trunk_weights.items():
            if not name.startswith(f"layers.{source}.") or ".engram." in name or ".compressor." in name or ".indexer." in name:
                continue
            if ".ffn.experts." in name or ".ffn.gate." in name:
                w = w[: d.draft_experts]
            i.w[f"mtp.{stage}.{name.split('.', 2)[2]}"] = np.array(w)
    i.matrix("mtp.0.main_proj.weight", d.hidden, len(d.targets) * d.hidden)
    i.const("mtp.0.main_norm.weight", 1, d.hidden)
    last = f"mtp.{d.stages - 1}"
    i.w[f"{last}.norm.weight"] = np.array(trunk_weights["norm.weight"])
    i.normal(f"{last}.markov_head.embed.weight", d.vocab, d.markov, std=0.3)
    i.normal(f"{last}.markov_head.head.weight", d.vocab, d.markov, std=0.01)
    i.const(f"{last}.confidence_head.proj.weight", 0, 1, d.hidden + d.markov)
    return i.w
