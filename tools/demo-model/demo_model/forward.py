"""The trunk on packed rows: [rows, length] token ids with several documents per row.

Documents start at multiples of the candidate block size (so ratio-2 groups and candidate blocks never
straddle two documents) and see only themselves; the result equals one document per pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from . import ops
from .config import Dims

Array = jax.Array
Params = dict[str, Array]


class Batch(NamedTuple):
    """One packed batch."""

    ids: Array  # [B, T] token ids
    doc: Array  # [B, T] document number inside the row, -1 for padding
    engram: Array  # [B, T, engram layers, columns] table rows


@dataclass(frozen=True)
class Mode:
    """What is compiled in."""

    select: bool = True  # False: every visible entry is attended
    capacity: float = 0.0  # expert slots over the mean load, 0 = drop nothing
    exact_ties: bool = True
    index_loss: bool = False


class Switches(NamedTuple):
    """Parts that can be switched at run time, without compiling again (bools, possibly traced)."""

    select: Array | bool = True  # top-k selection; off: every visible entry is attended
    pool: Array | bool = True  # candidate pool
    engram: Array | bool = True
    indexer: Array | bool = True  # off: the newest entries instead of the indexer's choice


class Result(NamedTuple):
    """What a pass yields."""

    hidden: Array  # [B*T, D] before the final norm
    features: Array  # [B, T, targets * D] inputs of the drafter
    index_loss: Array
    load: Array  # [layers, experts] share of choices


@dataclass
class _Geometry:
    """Masks and rotations shared by all layers."""

    d: Dims
    doc: Array

    def __post_init__(self) -> None:
        d, (b, t) = self.d, self.doc.shape
        w = d.window
        assert t % w == 0, "rows are whole windows"
        pos = jnp.arange(t)
        self.rotation = {}
        for compressed in (False, True):
            angle = pos.astype(jnp.float32)[:, None] * ops.frequencies(d, compressed)[None, :]
            self.rotation[compressed] = (jnp.cos(angle), jnp.sin(angle))
        q = pos.reshape(-1, w)[:, :, None]
        key_pos = jnp.concatenate([pos.reshape(-1, w) - w, pos.reshape(-1, w)], axis=1)[:, None, :]
        age = q - key_pos
        near = (age >= 0) & (age < w) & (key_pos >= 0)
        chunks = self.doc.reshape(b, -1, w)
        same = chunks[:, :, :, None] == _with_previous(chunks)[:, :, None, :]
        self.window_mask = (near[None] & same).reshape(b, t, 1, 2 * w)
        self.visible = {}
        for r in (1, 2):
            entry = jnp.arange(t // r)
            seen = entry[None, :] < ((pos + 1) // r)[:, None]
            self.visible[r] = seen[None] & (self.doc[:, :, None] == self.doc[:, None, ::r])
        self.newest = jnp.broadcast_to(pos // d.cand_size, (b, t))


def _with_previous(chunks: Array) -> Array:
    """[B, c, w, ...] -> [B, c, 2w, ...]: every chunk after its predecessor (zeros before the first)."""
    before = jnp.pad(chunks[:, :-1], [(0, 0), (1, 0)] + [(0, 0)] * (chunks.ndim - 2))
    return jnp.concatenate([before, chunks], axis=2)


def attend(q: Array, window: Array, entries: Array | None, window_mask: Array, chosen: Array | None, sink: Array):
    """Window plus compressed attention. q [B,T,H,C], window [B,T,C], entries [B,n,C].

    Returns the output and the attention mass on each entry, summed over heads (None without entries).
    """
    b, t, h, c = q.shape
    w = window_mask.shape[-1] // 2
    scale = c**-0.5
    near = _with_previous(window.reshape(b, -1, w, c))
    s_near = jnp.einsum("bgqhc,bgkc->bgqhk", q.reshape(b, -1, w, h, c), near).reshape(b, t, h, 2 * w) * scale
    s_near = jnp.where(window_mask, s_near, -1e30)
    top = jnp.maximum(s_near.max(axis=-1), sink)
    if entries is not None:
        s_far = jnp.einsum("bthc,bnc->bthn", q, entries) * scale
        s_far = jnp.where(chosen[:, :, None, :], s_far, -1e30)
        top = jnp.maximum(top, s_far.max(axis=-1))
    top = jax.lax.stop_gradient(top)
    e_near = jnp.exp(s_near - top[..., None])
    total = e_near.sum(axis=-1) + jnp.exp(sink - top)
    out = jnp.einsum("bgqhk,bgkc->bgqhc", e_near.reshape(b, -1, w, h, 2 * w), near).reshape(b, t, h, c)
    if entries is None:
        return out / total[..., None], None
    e_far = jnp.exp(s_far - top[..., None])
    total = total + e_far.sum(axis=-1)
    out = (out + jnp.einsum("bthn,bnc->bthc", e_far, entries)) / total[..., None]
    mass = jax.lax.stop_gradient(jnp.einsum("bthn,bth->btn", e_far, 1 / total))
    return out, mass


class _Shared:
    entries: Array | None = None
    index_key: Array | None = None
    chosen: Array | None = None
    pool: Array | None = None


def project_query(p: Params, a: str, x: Array, d: Dims, rotation) -> tuple[Array, Array]:
    """(normalised low-rank query, rotated heads); x is [B, T, D]."""
    low = ops.rms(x @ p[f"{a}.wq_a.weight"].T, p[f"{a}.q_norm.weight"], d.eps)
    q = (low @ p[f"{a}.wq_b.weight"].T).reshape(*x.shape[:2], d.heads, d.head_dim)
    return low, ops.rope(q, rotation[0][:, None, :], rotation[1][:, None, :])


def project_output(p: Params, a: str, o: Array, d: Dims, rotation) -> Array:
    """Undo the rotation at the query position, then the grouped projection."""
    o = ops.rope(o, rotation[0][:, None, :], -rotation[1][:, None, :])
    o = o.reshape(*o.shape[:2], d.o_groups, -1)
    wo_a = p[f"{a}.wo_a.weight"].reshape(d.o_groups, d.o_lora, -1)
    z = jnp.einsum("btgi,gri->btgr", o, wo_a)
    return z.reshape(*z.shape[:2], -1) @ p[f"{a}.wo_b.weight"].T


def _compress(p: Params, layer: int, x: Array, geo: _Geometry, shared: _Shared) -> None:
    """Entries and index keys of a kv source."""
    d, c, r = geo.d, f"layers.{layer}.attn.compressor", geo.d.ratio(layer)
    latent = x @ p[f"{c}.wkv.weight"].T
    if r == 2:
        gate = (x @ p[f"{c}.wgate.weight"].T).reshape(x.shape[0], -1, 2, d.head_dim)
        first = jax.nn.sigmoid(gate[:, :, 0] - gate[:, :, 1])
        pair = latent.reshape(gate.shape)
        latent = first * pair[:, :, 0] + (1 - first) * pair[:, :, 1]
    latent = ops.rms(latent, p[f"{c}.norm.weight"], d.eps)
    cos, sin = (table[::r] for table in geo.rotation[True])
    shared.entries = ops.rope(latent, cos, sin)
    i = f"layers.{layer}.attn.indexer"
    key = jax.lax.stop_gradient(latent) @ p[f"{i}.wk.weight"].T
    shared.index_key = ops.rope(ops.rms(key, p[f"{i}.k_norm.weight"], d.eps), cos, sin)


def _index_scores(p: Params, layer: int, x: Array, low: Array, geo: _Geometry, shared: _Shared) -> Array:
    """[B, T, n]; the inputs are detached: only the index loss trains the indexer."""
    d, i = geo.d, f"layers.{layer}.attn.indexer"
    x, low = jax.lax.stop_gradient((x, low))
    cos, sin = geo.rotation[True]
    q = (low @ p[f"{i}.wq_b.weight"].T).reshape(*low.shape[:2], d.index_heads, d.index_dim)
    q = ops.rope(q, cos[:, None, :], sin[:, None, :])
    w = (x @ p[f"{i}.weights_proj.weight"].T) * (d.index_dim**-0.5 * d.index_heads**-0.5)
    dots = jax.nn.relu(jnp.einsum("bthc,bnc->bthn", q, shared.index_key))
    return jnp.einsum("bth,bthn->btn", w, dots)


def _attention(p: Params, layer: int, x: Array, geo: _Geometry, shared: _Shared, mode: Mode, on: Switches, losses: list) -> Array:
    d, a, r = geo.d, f"layers.{layer}.attn", geo.d.ratio(layer)
    rotation = geo.rotation[r > 0]
    low, q = project_query(p, a, x, d, rotation)
    window = ops.rope(ops.rms(x @ p[f"{a}.wkv.weight"].T, p[f"{a}.kv_norm.weight"], d.eps), *rotation)
    sink = p[f"{a}.attn_sink"]
    if r == 0:
        return project_output(p, a, attend(q, window, None, geo.window_mask, None, sink)[0], d, rotation)
    if layer in d.kv_sources:
        _compress(p, layer, x, geo, shared)
    scores = None
    if layer in d.index_sources:
        allowed = geo.visible[r]
        if mode.select or mode.index_loss:
            scores = _index_scores(p, layer, x, low, geo, shared)
        everything = allowed
        if mode.select:
            newest = jnp.arange(allowed.shape[-1], dtype=jnp.float32)
            ranked = jnp.where(on.indexer, scores, newest)
            if layer == d.candidate:
                pool = ops.candidate_mask(ranked, allowed, geo.newest, d.cand_blocks, d.cand_size, mode.exact_ties)
                shared.pool = jnp.where(on.pool, pool, allowed)
            elif 0 <= d.candidate < layer:
                allowed = allowed & shared.pool
            allowed = jnp.where(on.select, ops.select_top(ranked, allowed, d.index_topk, mode.exact_ties), everything)
        shared.chosen = allowed
    o, mass = attend(q, window, shared.entries, geo.window_mask, shared.chosen, sink)
    if scores is not None and mode.index_loss:
        losses.append(_index_kl(mass, scores, shared.chosen, geo.doc >= 0))
    return project_output(p, a, o, d, rotation)


def _index_kl(mass: Array, scores: Array, chosen: Array, real: Array) -> Array:
    """KL(attention mass over the chosen entries || softmax of the index scores)."""
    target = mass / (mass.sum(axis=-1, keepdims=True) + 1e-9)
    logp = jax.nn.log_softmax(jnp.where(chosen, scores, -1e30), axis=-1)
    kl = jnp.where(chosen, target * (jnp.log(target + 1e-9) - logp), 0).sum(axis=-1)
    use = real & (chosen.sum(axis=-1) > 1)
    return jnp.where(use, kl, 0).sum() / (use.sum() + 1)


def engram(p: Params, layer: int, streams: Array, rows: Array, d: Dims, key_eps: float, on: Array | bool) -> Array:
    """Add the gated n-gram value; streams [N, M, D], rows [N, columns]."""
    e = f"layers.{layer}.engram"
    kv = p[f"{e}.embed.weight"][rows].reshape(rows.shape[0], -1) @ p[f"{e}.wkv.weight"].T
    kv = kv.reshape(rows.shape[0], d.hc + 1, d.hidden)
    key, value = kv[:, : d.hc], kv[:, d.hc]
    weight = p[f"{e}.q_weight"] * p[f"{e}.k_weight"]
    inv = jax.lax.rsqrt(jnp.mean(streams**2, axis=-1) + d.eps) * jax.lax.rsqrt(jnp.mean(key**2, axis=-1) + key_eps)
    dot = jnp.sum(streams * weight * key, axis=-1) * inv * d.hidden**-0.5
    gate = jnp.where(on, jax.nn.sigmoid(ops.signed_root(dot)), 0)
    return streams + gate[:, :, None] * value[:, None, :]


def block(p: Params, prefix: str, streams: Array, pre: Array, attn, d: Dims, k: int, capacity: float):
    """One decoder block: (streams, pre-mix of the next sub-layer, expert load)."""
    hc = lambda side: (p[f"{prefix}.hc_{side}_fn"], p[f"{prefix}.hc_{side}_scale"], p[f"{prefix}.hc_{side}_base"])
    next_pre, post, comb = ops.hc_mix(streams, *hc("attn"), d)
    x = ops.rms(ops.collapse(streams, pre), p[f"{prefix}.attn_norm.weight"], d.eps)
    streams = ops.expand(attn(x), streams, post, comb)
    pre, post, comb = ops.hc_mix(streams, *hc("ffn"), d)
    x = ops.rms(ops.collapse(streams, next_pre), p[f"{prefix}.ffn_norm.weight"], d.eps)
    y, load = ops.moe(p, f"{prefix}.ffn", x, d, k, capacity)
    return ops.expand(y, streams, post, comb), pre, load


def first_streams(p: Params, ids: Array, d: Dims) -> tuple[Array, Array]:
    """Streams [N, M, D] = the embedding repeated, and the pre-mix (1, 0, ...)."""
    x = p["embed.weight"][ids.reshape(-1)]
    streams = jnp.broadcast_to(x[:, None, :], (x.shape[0], d.hc, d.hidden))
    return streams, jnp.zeros((x.shape[0], d.hc)).at[:, 0].set(1.0)


def forward(p: Params, d: Dims, batch: Batch, mode: Mode, on: Switches = Switches()) -> Result:
    """Run the trunk."""
    b, t = batch.ids.shape
    geo, shared, losses, loads, features = _Geometry(d, batch.doc), _Shared(), [], [], []
    streams, pre = first_streams(p, batch.ids, d)
    for layer in range(d.layers):
        if layer in d.engram_layers:
            rows = batch.engram[:, :, d.engram_layers.index(layer)].reshape(b * t, -1)
            streams = engram(p, layer, streams, rows, d, max(d.eps, 1e-12), on.engram)
        if layer in d.targets:
            features.append(streams.mean(axis=1).reshape(b, t, -1))

        def attn(x, layer=layer):
            return _attention(p, layer, x.reshape(b, t, -1), geo, shared, mode, on, losses).reshape(b * t, -1)

        streams, pre, load = block(p, f"layers.{layer}", streams, pre, attn, d, d.topk, mode.capacity)
        loads.append(load)
    hidden = ops.collapse(streams, pre)
    index_loss = sum(losses) / len(losses) if losses else jnp.zeros(())
    return Result(hidden, jnp.concatenate(features, axis=-1), index_loss, jnp.stack(loads))


def logits_of(p: Params, hidden: Array, d: Dims, norm: str = "norm.weight") -> Array:
    """[N, vocab]."""
    return ops.rms(hidden, p[norm], d.eps) @ p["head.weight"].T
