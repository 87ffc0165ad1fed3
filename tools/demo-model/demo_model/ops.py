"""Building blocks of the forward pass, with hand-written gradients where autodiff is slow on a CPU."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from .config import Dims

Array = jax.Array

# ---------------------------------------------------------------- elementary


def rms(x: Array, weight: Array, eps: float) -> Array:
    """RMS norm over the last axis."""
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def frequencies(d: Dims, compressed: bool) -> np.ndarray:
    """float32 rotary frequency of each adjacent pair."""
    theta = d.compress_theta if compressed else d.theta
    exponent = np.arange(0, d.rope, 2, dtype=np.float32) / np.float32(d.rope)
    freq = np.float32(1) / (np.float64(theta) ** exponent.astype(np.float64)).astype(np.float32)
    if not compressed or d.yarn_len <= 0:
        return freq
    dim = lambda turns: d.rope * math.log(d.yarn_len / (turns * 2 * math.pi)) / (2 * math.log(theta))
    low, high = max(math.floor(dim(d.yarn_fast)), 0), min(math.ceil(dim(d.yarn_slow)), d.rope - 1)
    ramp = (np.arange(d.rope // 2, dtype=np.float32) - low) / max(high - low, 1e-3)
    keep = (1 - np.clip(ramp, 0, 1)).astype(np.float32)
    return (freq / np.float32(d.yarn_factor) * (1 - keep) + freq * keep).astype(np.float32)


def rope(x: Array, cos: Array, sin: Array) -> Array:
    """Rotate adjacent pairs of the trailing channels; cos and sin broadcast against x[..., pairs]."""
    pairs = cos.shape[-1]
    head, tail = x[..., : -2 * pairs], x[..., -2 * pairs :]
    tail = tail.reshape(*tail.shape[:-1], pairs, 2)
    even, odd = tail[..., 0], tail[..., 1]
    turned = jnp.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1)
    return jnp.concatenate([head, turned.reshape(*turned.shape[:-2], 2 * pairs)], axis=-1)


# ---------------------------------------------------------------- hyper-connections


@jax.custom_vjp
def collapse(streams: Array, pre: Array) -> Array:
    """sum_m pre[t, m] * streams[t, m]."""
    return jnp.einsum("tm,tmd->td", pre, streams)


def _collapse_fwd(streams, pre):
    return collapse(streams, pre), (streams, pre)


def _collapse_bwd(saved, g):
    streams, pre = saved
    return pre[:, :, None] * g[:, None, :], jnp.einsum("td,tmd->tm", g, streams)


collapse.defvjp(_collapse_fwd, _collapse_bwd)


@jax.custom_vjp
def expand(y: Array, streams: Array, post: Array, comb: Array) -> Array:
    """new[k] = post[k] * y + sum_j comb[j, k] * streams[j]."""
    return post[:, :, None] * y[:, None, :] + jnp.einsum("tjk,tjd->tkd", comb, streams)


def _expand_fwd(y, streams, post, comb):
    return expand(y, streams, post, comb), (y, streams, post, comb)


def _expand_bwd(saved, g):
    y, streams, post, comb = saved
    return (
        jnp.einsum("tk,tkd->td", post, g),
        jnp.einsum("tjk,tkd->tjd", comb, g),
        jnp.einsum("td,tkd->tk", y, g),
        jnp.einsum("tjd,tkd->tjk", streams, g),
    )


expand.defvjp(_expand_fwd, _expand_bwd)


def sinkhorn(z: Array, iters: int, eps: float) -> Array:
    """z is [j, k, tokens]; alternating normalisation that ends on the columns (sum over j)."""
    c = jax.nn.softmax(z, axis=1) + eps
    c = c / (c.sum(axis=0, keepdims=True) + eps)

    def step(c, _):
        c = c / (c.sum(axis=1, keepdims=True) + eps)
        return c / (c.sum(axis=0, keepdims=True) + eps), None

    return jax.lax.scan(step, c, None, length=iters - 1)[0]


def hc_mix(streams: Array, fn: Array, scale: Array, base: Array, d: Dims) -> tuple[Array, Array, Array]:
    """(pre [T, M], post [T, M], comb [T, M, M]) of one sub-layer."""
    m = d.hc
    flat = streams.reshape(streams.shape[0], -1)
    u = (flat @ fn.T) * jax.lax.rsqrt(jnp.mean(flat * flat, axis=-1, keepdims=True) + d.eps)
    pre = jax.nn.sigmoid(u[:, :m] * scale[0] + base[:m]) + d.hc_eps
    post = 2 * jax.nn.sigmoid(u[:, m : 2 * m] * scale[1] + base[m : 2 * m])
    z = (u[:, 2 * m :] * scale[2] + base[2 * m :]).T.reshape(m, m, -1)
    return pre, post, sinkhorn(z, d.iters, d.hc_eps).transpose(2, 0, 1)


# ---------------------------------------------------------------- selection


def _ordered_bits(x: Array) -> Array:
    """uint32 keys in the order of the floats."""
    bits = jax.lax.bitcast_convert_type(x + 0.0, jnp.uint32)  # + 0.0 turns -0 into 0
    return jnp.where(bits >> 31 == 1, ~bits, bits | jnp.uint32(0x80000000))


def select_top(scores: Array, visible: Array, k: int, exact_ties: bool) -> Array:
    """Mask of the k best visible entries of the last axis.

    exact_ties = False keeps all entries equal to the k-th (cheaper, for training).
    """
    if scores.shape[-1] <= k:
        return visible
    key = _ordered_bits(jnp.where(visible, jax.lax.stop_gradient(scores), -jnp.inf))

    def step(i, low):
        trial = low | (jnp.uint32(1) << (31 - i).astype(jnp.uint32))
        return jnp.where((key >= trial[..., None]).sum(axis=-1) >= k, trial, low)

    kth = jax.lax.fori_loop(0, 32, step, jnp.zeros(key.shape[:-1], jnp.uint32))[..., None]
    if not exact_ties:
        return (key >= kth) & visible
    above, equal = key > kth, key == kth
    room = k - above.sum(axis=-1, keepdims=True)
    order = jax.lax.associative_scan(jnp.add, equal.astype(jnp.int32), axis=-1)
    return (above | (equal & (order <= room))) & visible


def candidate_mask(scores: Array, visible: Array, newest: Array, blocks: int, size: int, exact_ties: bool) -> Array:
    """Visible entries inside the best blocks; newest [T] is the block that is always kept."""
    lead, n = scores.shape[:-1], scores.shape[-1]
    if -(-n // size) <= blocks:
        return visible
    pad = -n % size
    masked = jnp.where(visible, jax.lax.stop_gradient(scores), -jnp.inf)
    masked = jnp.pad(masked, [(0, 0)] * len(lead) + [(0, pad)], constant_values=-jnp.inf)
    best = masked.reshape(*lead, -1, size).max(axis=-1)
    seen = best > -jnp.inf
    is_newest = jnp.arange(best.shape[-1]) == newest[..., None]
    best = jnp.where(is_newest & seen, jnp.finfo(jnp.float32).max, best)
    keep = select_top(best, seen, blocks, exact_ties)
    return jnp.repeat(keep, size, axis=-1)[..., :n] & visible


# ---------------------------------------------------------------- Engram gate


@jax.custom_vjp
def signed_root(x: Array) -> Array:
    """sign(x) * sqrt(max(|x|, 1e-6)) with a bounded gradient."""
    return jnp.copysign(jnp.sqrt(jnp.maximum(jnp.abs(x), 1e-6)), x)


signed_root.defvjp(
    lambda x: (signed_root(x), x),
    lambda x, g: (g * 0.5 * jax.lax.rsqrt(jnp.maximum(jnp.abs(x), 0.01)),),
)


# ---------------------------------------------------------------- mixture of experts


@jax.custom_vjp
def _dispatch(x: Array, token: Array, slots: Array, kept: Array) -> Array:
    """Rows of x for every expert slot; token [slots] is clamped for empty ones."""
    return x[token]


def _dispatch_fwd(x, token, slots, kept):
    return x[token], (slots, kept)


def _dispatch_bwd(saved, g):
    slots, kept = saved
    total = sum(g[slots[:, i]] * kept[:, i, None] for i in range(slots.shape[1]))
    return total, None, None, None


_dispatch.defvjp(_dispatch_fwd, _dispatch_bwd)


@jax.custom_vjp
def _combine(y: Array, weight: Array, token: Array, slot_choice: Array, slots: Array) -> Array:
    """sum over choices of weight[t, i] * y[slots[t, i]]; slot_choice is the choice number, -1 for an empty slot."""
    return sum(weight[:, i, None] * y[slots[:, i]] for i in range(slots.shape[1]))


def _combine_fwd(y, weight, token, slot_choice, slots):
    return _combine(y, weight, token, slot_choice, slots), (y, weight, token, slot_choice, slots)


def _combine_bwd(saved, g):
    y, weight, token, slot_choice, slots = saved
    k = slots.shape[1]
    per_slot = jnp.where(slot_choice >= 0, weight.reshape(-1)[token * k + jnp.maximum(slot_choice, 0)], 0)
    d_weight = jnp.stack([(g * y[slots[:, i]]).sum(axis=1) for i in range(k)], axis=1)
    return per_slot[:, None] * g[token], d_weight, None, None, None


_combine.defvjp(_combine_fwd, _combine_bwd)


def _rank_in_group(onehot: Array) -> Array:
    """Exclusive running count per column of a 0/1 matrix, as two small triangular products."""
    n, e = onehot.shape
    size = 128
    blocks = jnp.pad(onehot, ((0, -n % size), (0, 0))).T.reshape(-1, size)  # [E * blocks, size]
    inside = (blocks @ jnp.triu(jnp.ones((size, size)), 1)).reshape(e, -1, size)
    sums = blocks.sum(axis=1).reshape(e, -1)
    before = sums @ jnp.triu(jnp.ones((sums.shape[1], sums.shape[1])), 1)
    return (inside + before[:, :, None]).reshape(e, -1)[:, :n].T


def swiglu(gate: Array, up: Array, limit: float) -> Array:
    """The gate is clamped from above only, the up branch on both sides."""
    if limit > 0:
        gate, up = jnp.minimum(gate, limit), jnp.clip(up, -limit, limit)
    return jax.nn.silu(gate) * up


def moe(p: dict[str, Array], prefix: str, x: Array, d: Dims, k: int, capacity: float) -> tuple[Array, Array]:
    """(output, share of the choices per expert). capacity = slots per expert over the mean load; 0 drops nothing."""
    n = x.shape[0]
    score = jnp.sqrt(jax.nn.softplus(x @ p[f"{prefix}.gate.weight"].T))
    experts = score.shape[1]
    left = jax.lax.stop_gradient(score + p[f"{prefix}.gate.bias"])
    chosen = []
    for _ in range(k):
        hot = jax.nn.one_hot(jnp.argmax(left, axis=-1), experts)
        chosen.append(hot)
        left = jnp.where(hot > 0, -jnp.inf, left)
    hot = jnp.stack(chosen, axis=1)  # [T, k, E]
    weight = (hot * score[:, None, :]).sum(axis=-1)
    if d.norm_topk and k > 1:
        weight = weight / (weight.sum(axis=1, keepdims=True) + 1e-20)
    weight = weight * d.scaling

    cap = n if capacity == 0 else min(n, int(math.ceil(n * k / experts * capacity)))
    flat = hot.reshape(n * k, experts)
    rank = (_rank_in_group(flat) * flat).sum(axis=1).astype(jnp.int32).reshape(n, k)
    kept = rank < cap
    slots = jnp.argmax(hot, axis=-1).astype(jnp.int32) * cap + jnp.minimum(rank, cap - 1)
    source = jnp.full(experts * cap + 1, n * k, jnp.int32)
    source = source.at[jnp.where(kept, slots, experts * cap).reshape(-1)].set(jnp.arange(n * k, dtype=jnp.int32))
    source = source[:-1]
    token = jnp.minimum(source // k, n - 1)
    slot_choice = jnp.where(source < n * k, source % k, -1)

    xe = _dispatch(x, token, slots, kept.astype(x.dtype)).reshape(experts, cap, -1)
    h = swiglu(
        jnp.einsum("ecd,efd->ecf", xe, p[f"{prefix}.experts.w1"]),
        jnp.einsum("ecd,efd->ecf", xe, p[f"{prefix}.experts.w3"]),
        d.swiglu_limit,
    )
    ye = jnp.einsum("ecf,edf->ecd", h, p[f"{prefix}.experts.w2"]).reshape(experts * cap, -1)
    routed = _combine(ye, jnp.where(kept, weight, 0), token, slot_choice, slots)
    s = f"{prefix}.shared_experts"
    shared = swiglu(x @ p[f"{s}.w1.weight"].T, x @ p[f"{s}.w3.weight"].T, d.swiglu_limit) @ p[f"{s}.w2.weight"].T
    return routed + shared, flat.mean(axis=0) * k


