"""Loss and training step of the trunk."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from . import optim
from .config import Dims
from .forward import Batch, Mode, forward, logits_of

Array = jax.Array


class Labelled(NamedTuple):
    """A packed batch with next-token targets."""

    batch: Batch
    target: Array  # [B, T]
    weight: Array  # [B, T], 0 where there is nothing to predict


def batch_loss(p, d: Dims, x: Labelled, mode: Mode):
    """(weighted loss sum, index loss, load, answer loss sum, answer tokens, right answer tokens)."""
    result = forward(p, d, x.batch, mode)
    logits = logits_of(p, result.hidden, d)
    target, weight = x.target.reshape(-1), x.weight.reshape(-1)
    logp = jnp.take_along_axis(logits, target[:, None], axis=1)[:, 0] - jax.nn.logsumexp(logits, axis=1)
    answer = weight >= 0.99
    right = (jnp.argmax(jax.lax.stop_gradient(logits), axis=1) == target) & answer
    stats = (result.index_loss, result.load, -(logp * answer).sum(), answer.sum(), right.sum())
    return -(logp * weight).sum(), stats


def make_step(d: Dims, mode: Mode, index_weight: float = 0.3):
    """Jitted (params, state, batches, rate) -> (params, state, metrics); the batches may have different shapes."""
    prefixes = [f"layers.{layer}" for layer in range(d.layers)]

    def loss_fn(p, batches):
        total, weight, stats = 0.0, 0.0, []
        for x in batches:
            loss, s = batch_loss(p, d, x, mode)
            total, weight = total + loss, weight + x.weight.sum()
            stats.append(s)
        index = sum(s[0] for s in stats) / len(stats)
        load = sum(s[1] for s in stats) / len(stats)
        answer = [sum(s[i] for s in stats) for i in (2, 3, 4)]
        return total / weight + index_weight * index, (index, load, answer)

    def step(p, state, batches, rate):
        (loss, (index, load, answer)), grads = jax.value_and_grad(loss_fn, has_aux=True)(p, batches)
        p, state, norm = optim.update(p, grads, state, rate)
        p = optim.balance_router(p, load, prefixes)
        metrics = dict(loss=answer[0] / answer[1], accuracy=answer[2] / answer[1], index=index, norm=norm,
                       load=(load.max(axis=1) / load.mean(axis=1)).max())  # fmt: skip
        return p, state, metrics

    return jax.jit(step, donate_argnums=(0, 1))
