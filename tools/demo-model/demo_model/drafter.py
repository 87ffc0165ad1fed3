"""The DSpark draft stages on packed rows: many anchors at once."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from . import ops
from .config import Dims
from .forward import Params, block, first_streams

Array = jax.Array


class Anchors(NamedTuple):
    """Where blocks start: the token at (row, position) is the newest one and has not been run by the trunk."""

    row: Array  # [A]
    position: Array  # [A]


def _rotation(d: Dims, positions: Array) -> tuple[Array, Array]:
    angle = positions.astype(jnp.float32)[..., None] * ops.frequencies(d, False)
    return jnp.cos(angle), jnp.sin(angle)


def block_hidden(p: Params, d: Dims, ids: Array, doc: Array, features: Array, at: Anchors) -> Array:
    """[A, block, D] outputs of the last stage (before its norm)."""
    b, t = ids.shape
    count, size, w = at.row.shape[0], d.block, d.window
    x_target = ops.rms(features @ p["mtp.0.main_proj.weight"].T, p["mtp.0.main_norm.weight"], d.eps)
    near = at.position[:, None] - w + jnp.arange(w)  # [A, W] positions before the anchor
    inside = jnp.maximum(near, 0)
    visible = (near >= 0) & (doc[at.row[:, None], inside] == doc[at.row, at.position][:, None])
    mask = jnp.concatenate([visible, jnp.ones((count, size), bool)], axis=1)[:, None, None, :]
    positions = at.position[:, None] + jnp.arange(size)
    rotation = _rotation(d, positions)
    block_ids = jnp.full((count, size), d.noise_id).at[:, 0].set(ids[at.row, at.position])
    streams, pre = first_streams(p, block_ids, d)
    every = _rotation(d, jnp.arange(t))
    for stage in range(d.stages):
        a = f"mtp.{stage}.attn"
        kv = lambda x, a=a: ops.rms(x @ p[f"{a}.wkv.weight"].T, p[f"{a}.kv_norm.weight"], d.eps)
        target_keys = ops.rope(kv(x_target), *every)[at.row[:, None], inside]  # [A, W, C]

        def attn(x, a=a, kv=kv, target_keys=target_keys):
            x = x.reshape(count, size, -1)
            q = _query(p, a, x, d, rotation)
            keys = jnp.concatenate([target_keys, ops.rope(kv(x), *rotation)], axis=1)
            s = jnp.where(mask, jnp.einsum("aihc,akc->aihk", q, keys) * d.head_dim**-0.5, -1e30)
            sink = jnp.broadcast_to(p[f"{a}.attn_sink"][None, None, :, None], (count, size, d.heads, 1))
            share = jax.nn.softmax(jnp.concatenate([s, sink], axis=-1), axis=-1)[..., :-1]
            return _output(p, a, jnp.einsum("aihk,akc->aihc", share, keys), d, rotation).reshape(count * size, -1)

        streams, pre, _ = block(p, f"mtp.{stage}", streams, pre, attn, d, d.draft_topk, 0.0)
    return ops.collapse(streams, pre).reshape(count, size, -1)


def _per_head(rotation):
    """Tables that broadcast over heads."""
    return rotation[0][:, :, None, :], rotation[1][:, :, None, :]


def _query(p, a, x, d, rotation):
    cos, sin = _per_head(rotation)
    low = ops.rms(x @ p[f"{a}.wq_a.weight"].T, p[f"{a}.q_norm.weight"], d.eps)
    q = (low @ p[f"{a}.wq_b.weight"].T).reshape(*x.shape[:2], d.heads, d.head_dim)
    return ops.rope(q, cos, sin)


def _output(p, a, o, d, rotation):
    cos, sin = _per_head(rotation)
    o = ops.rope(o, cos, -sin).reshape(*o.shape[:2], d.o_groups, -1)
    z = jnp.einsum("btgi,gri->btgr", o, p[f"{a}.wo_a.weight"].reshape(d.o_groups, d.o_lora, -1))
    return z.reshape(*z.shape[:2], -1) @ p[f"{a}.wo_b.weight"].T


def base_logits(p: Params, d: Dims, hidden: Array) -> Array:
    """Logits without the Markov part."""
    last = f"mtp.{d.stages - 1}"
    return ops.rms(hidden, p[f"{last}.norm.weight"], d.eps) @ p["head.weight"].T


def markov(p: Params, d: Dims, tokens: Array) -> tuple[Array, Array]:
    """(embedding, logits) of the Markov head."""
    last = f"mtp.{d.stages - 1}.markov_head"
    m = p[f"{last}.embed.weight"][tokens]
    return m, m @ p[f"{last}.head.weight"].T


def confidence(p: Params, d: Dims, hidden: Array, m: Array) -> Array:
    """Raw confidence (before the sigmoid)."""
    weight = p[f"mtp.{d.stages - 1}.confidence_head.proj.weight"][0]
    return jnp.concatenate([hidden, m], axis=-1) @ weight


def propose(p: Params, d: Dims, ids: Array, doc: Array, features: Array, at: Anchors) -> tuple[Array, Array]:
    """(draft tokens [A, block], confidences) as the engine drafts them, greedily."""
    hidden = block_hidden(p, d, ids, doc, features, at)
    logits = base_logits(p, d, hidden)
    previous, tokens, sure = ids[at.row, at.position], [], []
    for i in range(d.block):
        m, bias = markov(p, d, previous)
        sure.append(jax.nn.sigmoid(confidence(p, d, hidden[:, i], m)))
        previous = jnp.argmax(logits[:, i] + bias, axis=1)
        tokens.append(previous)
    return jnp.stack(tokens, axis=1), jnp.stack(sure, axis=1)


def loss(p: Params, d: Dims, ids: Array, doc: Array, answer: Array, features: Array, teacher: Array, at: Anchors):
    """(loss, (share of right first drafts, mean right prefix)). teacher [B, T, vocab] are the trunk's logits."""
    hidden = block_hidden(p, d, ids, doc, features, at)
    t = ids.shape[1]
    where = jnp.minimum(at.position[:, None] + jnp.arange(d.block), t - 1)
    row = at.row[:, None]
    same = doc[row, where] == doc[at.row, at.position][:, None]
    valid = jnp.cumprod(same & answer[row, where] & (at.position[:, None] + jnp.arange(d.block) < t), axis=1)
    m, bias = markov(p, d, ids[row, where])
    logits = base_logits(p, d, hidden) + bias
    want = teacher[row, where]
    cross = -(jax.nn.softmax(want, axis=-1) * jax.nn.log_softmax(logits, axis=-1)).sum(axis=-1)
    weight = valid * 0.8 ** jnp.arange(d.block)
    right = (jnp.argmax(logits, axis=-1) == jnp.argmax(want, axis=-1)) & (valid > 0)
    prefix = jnp.cumprod(right, axis=1)
    raw = confidence(p, d, *jax.lax.stop_gradient((hidden, m)))
    sure = valid * (jax.nn.softplus(raw) - prefix * raw)
    total = (cross * weight).sum() / (weight.sum() + 1e-6) + 0.1 * sure.sum() / (valid.sum() + 1e-6)
    return total, (right[:, 0].sum() / (valid[:, 0].sum() + 1e-6), prefix.sum() / (valid[:, 0].sum() + 1e-6))


def pick_anchors(rng: np.random.Generator, answer: np.ndarray, count: int) -> Anchors:
    """Random answer positions (with a successor in the answer)."""
    rows, positions = np.nonzero(answer)
    keep = positions > 0
    rows, positions = rows[keep], positions[keep]
    choice = rng.choice(len(rows), size=count, replace=len(rows) < count)
    return Anchors(rows[choice].astype(np.int32), positions[choice].astype(np.int32))

