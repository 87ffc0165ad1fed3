"""AdamW with clipping, per-group learning rates and the router bias rule."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

Params = dict[str, jax.Array]


class AdamState(NamedTuple):
    """First and second moments, step count."""

    m: Params
    v: Params
    count: jax.Array


BETA1, BETA2, EPS, DECAY, CLIP = 0.9, 0.97, 1e-9, 0.05, 1.0


def start(p: Params) -> AdamState:
    """Zero moments."""
    zeros = {n: jnp.zeros_like(x) for n, x in p.items()}
    return AdamState(zeros, {n: jnp.zeros_like(x) for n, x in p.items()}, jnp.zeros((), jnp.int32))


def _decays(name: str, x: jax.Array) -> bool:
    return x.ndim >= 2 and not name.endswith("engram.embed.weight") and not name.endswith(("q_weight", "k_weight"))


def update(p: Params, grads: Params, state: AdamState, rate: jax.Array) -> tuple[Params, AdamState, jax.Array]:
    """One step; returns the gradient norm as well."""
    grads = {n: g for n, g in grads.items() if not n.endswith("gate.bias")}
    norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in grads.values()))
    factor = jnp.minimum(1.0, CLIP / (norm + 1e-9))
    count = state.count + 1
    t = count.astype(jnp.float32)
    fix1, fix2 = 1 - BETA1**t, 1 - BETA2**t
    out, m_out, v_out = dict(p), dict(state.m), dict(state.v)
    for name, g in grads.items():
        g = g * factor
        m = BETA1 * state.m[name] + (1 - BETA1) * g
        v = BETA2 * state.v[name] + (1 - BETA2) * g * g
        lr = rate * (3.0 if name.endswith("engram.embed.weight") else 1.0)
        step = (m / fix1) / (jnp.sqrt(v / fix2) + EPS)
        if _decays(name, p[name]):
            step = step + DECAY * p[name]
        out[name], m_out[name], v_out[name] = p[name] - lr * step, m, v
    return out, AdamState(m_out, v_out, count), norm


def balance_router(p: Params, load: jax.Array, prefixes: list[str], speed: float = 0.003) -> Params:
    """Move the selection biases against the load; load is [blocks, experts]."""
    out = dict(p)
    for row, prefix in zip(load, prefixes):
        out[f"{prefix}.ffn.gate.bias"] = p[f"{prefix}.ffn.gate.bias"] + speed * jnp.sign(row.mean() - row)
    return out
