"""Loss and training step of the trunk."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from . import optim
from .config import Dims
from .forward import Batch, Mode, Switches, forward, logits_of

Array = jax.Array


class Labelled(NamedTuple):
    """A packed batch with next-token targets."""

    batch: Batch
    target: Array  # [B, T]
    weight: Array  # [B, T], 0 where there is nothing to predict


def batch_loss(p, d: Dims, x: Labelled, mode: Mode, on: Switches):
    """(weighted loss sum, (index loss, load, answer loss sum, answer tokens, right predictions [B, T]))."""
    result = forward(p, d, x.batch, mode, on)
    logits = logits_of(p, result.hidden, d)
    target, weight = x.target.reshape(-1), x.weight.reshape(-1)
    logp = jnp.take_along_axis(logits, target[:, None], axis=1)[:, 0] - jax.nn.logsumexp(logits, axis=1)
    answer = weight >= 0.99
    right = (logits.max(axis=1) <= jnp.take_along_axis(logits, target[:, None], axis=1)[:, 0]).reshape(x.target.shape)
    stats = (result.index_loss, result.load, -(logp * answer).sum(), answer.sum(), right)
    return -(logp * weight).sum(), stats


def make_step(d: Dims, mode: Mode, index_weight: float = 0.3):
    """Jitted (params, state, batches, rate, selecting) -> (params, state, metrics, right predictions per batch)."""
    prefixes = [f"layers.{layer}" for layer in range(d.layers)]

    def loss_fn(p, batches, selecting):
        total, weight, stats = 0.0, 0.0, []
        for x in batches:
            loss, s = batch_loss(p, d, x, mode, Switches(select=selecting, pool=selecting))
            total, weight = total + loss, weight + x.weight.sum()
            stats.append(s)
        index = sum(s[0] for s in stats) / len(stats)
        load = sum(s[1] for s in stats) / len(stats)
        answer = sum(s[2] for s in stats) / sum(s[3] for s in stats)
        return total / weight + index_weight * index, (index, load, answer, [s[4] for s in stats])

    def step(p, state, batches, rate, selecting):
        (_, (index, load, answer, right)), grads = jax.value_and_grad(loss_fn, has_aux=True)(p, batches, selecting)
        p, state, norm = optim.update(p, grads, state, rate)
        p = optim.balance_router(p, load, prefixes)
        metrics = dict(loss=answer, index=index, norm=norm, load=(load.max(axis=1) / load.mean(axis=1)).max())
        return p, state, metrics, right

    return jax.jit(step, donate_argnums=(0, 1))
