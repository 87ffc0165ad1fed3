"""Dimensions of the demo model and its config.json."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .ngram import bucket_primes

# (field of Dims, key of text_config); everything else in text_config is derived or constant
_TEXT_KEYS = {
    "vocab": "vocab_size", "hidden": "hidden_size", "layers": "num_hidden_layers",
    "heads": "num_attention_heads", "head_dim": "head_dim", "rope": "qk_rope_head_dim",
    "q_lora": "q_lora_rank", "o_lora": "o_lora_rank", "o_groups": "o_groups",
    "swiglu_limit": "swiglu_limit", "eps": "rms_norm_eps", "experts": "n_routed_experts",
    "topk": "num_experts_per_tok", "inter": "moe_intermediate_size", "scaling": "routed_scaling_factor",
    "window": "sliding_window", "index_heads": "index_n_heads", "index_dim": "index_head_dim",
    "index_topk": "index_topk", "candidate": "candidate_source_layer_id",
    "cand_blocks": "candidate_topk_blocks", "cand_size": "candidate_block_size", "hc": "hc_mult",
    "iters": "hc_sinkhorn_iters", "ngram": "engram_max_ngram_size", "ngram_vocab": "engram_vocab_size",
    "ngram_heads": "engram_n_heads", "ngram_dim": "engram_head_dim",
    "compressed_vocab": "engram_compressed_vocab_size", "stages": "num_nextn_predict_layers",
    "block": "dspark_block_size", "noise_id": "dspark_noise_token_id", "markov": "dspark_markov_rank",
    "draft_experts": "dspark_n_routed_experts", "draft_topk": "dspark_num_experts_per_tok",
    "kv_sources": "kv_source_layer_ids", "index_sources": "index_source_layer_ids",
    "engram_layers": "engram_layer_ids", "targets": "dspark_target_layer_ids",
    "compress_theta": "compress_rope_theta", "theta": "rope_theta",
}  # fmt: skip


@dataclass(frozen=True)
class Dims:
    """Every number the forward pass depends on; stored in each training checkpoint."""

    vocab: int = 2048
    hidden: int = 64
    layers: int = 5
    heads: int = 2
    head_dim: int = 64
    rope: int = 16
    q_lora: int = 64
    o_groups: int = 2
    o_lora: int = 32
    window: int = 64
    ratios: tuple[int, ...] = (0, 2, 2, 1, 1)
    kv_sources: tuple[int, ...] = (1, 3)
    index_sources: tuple[int, ...] = (1, 3, 4)
    index_heads: int = 4
    index_dim: int = 32
    index_topk: int = 32
    candidate: int = 3
    cand_blocks: int = 16
    cand_size: int = 8
    theta: float = 10000
    compress_theta: float = 160000
    yarn_len: int = 65536
    yarn_factor: float = 16
    yarn_fast: float = 32
    yarn_slow: float = 1
    experts: int = 16
    topk: int = 2
    inter: int = 128
    scaling: float = 1.5
    swiglu_limit: float = 10.0
    hc: int = 4
    iters: int = 20
    hc_eps: float = 1e-6
    eps: float = 1e-20
    ngram: int = 4
    ngram_heads: int = 2
    ngram_dim: int = 32
    ngram_vocab: int = 12000
    engram_layers: tuple[int, ...] = (1,)
    compressed_vocab: int = 0
    pad_id: int = 2
    stages: int = 2
    block: int = 5
    noise_id: int = 0
    image_id: int = 0
    markov: int = 64
    targets: tuple[int, ...] = (2, 3, 4)
    draft_experts: int = 4
    draft_topk: int = 2
    norm_topk: bool = True

    def ratio(self, layer: int) -> int:
        """Compression ratio of a block; draft stages have none."""
        return self.ratios[layer] if layer < self.layers else 0

    def kv_source(self, layer: int) -> int:
        """The layer whose compressed keys `layer` reads."""
        return max(s for s in self.kv_sources if s <= layer)

    def index_source(self, layer: int) -> int:
        """The layer whose selection `layer` uses."""
        return max(s for s in self.index_sources if s <= layer)

    def moe(self, layer: int) -> tuple[int, int]:
        """(routed experts, experts per token) of a block."""
        return (self.experts, self.topk) if layer < self.layers else (self.draft_experts, self.draft_topk)

    def prefix(self, layer: int) -> str:
        """Tensor name prefix of a block."""
        return f"layers.{layer}" if layer < self.layers else f"mtp.{layer - self.layers}"

    @property
    def columns(self) -> int:
        """Engram table rows looked up per token and layer."""
        return (self.ngram - 1) * self.ngram_heads

    @property
    def table_rows(self) -> list[int]:
        """Rows of each Engram table."""
        primes = bucket_primes(len(self.engram_layers), self.ngram, self.ngram_heads, self.ngram_vocab)
        return [int(p.sum()) for p in primes]

    def to_json(self) -> str:
        """Canonical text, for equality checks between runs."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "Dims":
        """Inverse of to_json."""
        raw = json.loads(text)
        return Dims(**{k: tuple(v) if isinstance(v, list) else v for k, v in raw.items()})


def config_json(d: Dims, max_positions: int = 8192) -> dict[str, Any]:
    """The checkpoint's config.json."""
    assert (d.cand_blocks - 1) * d.cand_size + 1 >= d.index_topk, "candidate pool smaller than the top-k"
    text: dict[str, Any] = {"model_type": "deepseek_v41_text"}
    for field, key in _TEXT_KEYS.items():
        value = getattr(d, field)
        text[key] = list(value) if isinstance(value, tuple) else value
    text.update(
        num_key_value_heads=1, hidden_act="silu", tie_word_embeddings=False, attention_bias=False,
        attention_dropout=0.0, max_position_embeddings=max_positions,
        rope_scaling=dict(rope_type="yarn", factor=d.yarn_factor, beta_fast=d.yarn_fast, beta_slow=d.yarn_slow,
                          original_max_position_embeddings=d.yarn_len),
        n_shared_experts=1, scoring_func="sqrtsoftplus", topk_method="noaux_tc", norm_topk_prob=d.norm_topk,
        compress_ratios=list(d.ratios) + [0] * d.stages, hc_eps=d.hc_eps,
        engram_num_embeddings=d.table_rows, engram_pad_token_id=d.pad_id,
    )  # fmt: skip
    return dict(
        architectures=["DeepseekV41ForCausalLM"], model_type="deepseek_v41", dtype="bfloat16",
        bos_token_id=0, eos_token_id=1, pad_token_id=d.pad_id, image_token_id=d.image_id,
        quantization_config=dict(quant_method="fp8", activation_scheme="dynamic", weight_block_size=[32, 32],
                                 scale_fmt="ue8m0", expert_dtype="fp4"),
        text_config=text,
    )  # fmt: skip


def dims_from_config(path: Path) -> Dims:
    """Dims of a stored checkpoint (also of the golden ones)."""
    raw = json.loads(path.read_text(encoding="utf-8"))
    text = raw["text_config"]
    fields = {f: text[k] for f, k in _TEXT_KEYS.items()}
    fields = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
    yarn = text["rope_scaling"]
    return Dims(
        **fields, ratios=tuple(text["compress_ratios"][: text["num_hidden_layers"]]), hc_eps=text["hc_eps"],
        yarn_len=yarn["original_max_position_embeddings"], yarn_factor=yarn["factor"], yarn_fast=yarn["beta_fast"],
        yarn_slow=yarn["beta_slow"], pad_id=text["engram_pad_token_id"], image_id=raw["image_token_id"],
        norm_topk=text["norm_topk_prob"],
    )  # fmt: skip
