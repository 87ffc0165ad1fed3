"""Trains the draft stages on the frozen trunk: python -m demo_model.train_drafter --work DIR."""

from __future__ import annotations

import argparse
import random
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from . import chats, checkpoints, drafter, init, optim
from .forward import Mode, forward, logits_of
from .packing import Packer, Shape
from .render import example
from .train import open_data

NOISE = "noise_row"
ROWS, ANCHORS = Shape(3, 640), 192


def with_noise(trunk: dict, stages: dict, noise_id: int) -> dict:
    """All weights, the noise token's embedding row replaced by the trained one."""
    out = {**trunk, **{n: x for n, x in stages.items() if n != NOISE}}
    out["embed.weight"] = trunk["embed.weight"].at[noise_id].set(stages[NOISE])
    return out


def main() -> None:
    """Command line and loop; writes DIR/drafter.npz."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=2)
    args = parser.parse_args()
    jax.config.update("jax_compilation_cache_dir", str(args.work / "compiled"))
    tokenizer, d, hasher = open_data(args.work)
    _, trunk, _, info = checkpoints.load(args.work / "trunk.npz", d)
    path = args.work / "drafter.npz"
    if path.exists():  # also continues on a newer trunk
        _, p, state, done = checkpoints.load(path, d)
        start = done["step"]
    else:
        p = {n: jnp.array(x) for n, x in init.drafter(d, {n: np.asarray(x) for n, x in trunk.items()}, args.seed).items()}
        p[NOISE] = jnp.array(trunk["embed.weight"][d.noise_id])
        state, start = optim.start(p), 0
    mode = Mode(capacity=1.6, exact_ties=False)

    frozen = {n: trunk[n] for n in ("embed.weight", "head.weight")}

    def loss_fn(p, frozen, x, at, seen):
        full = with_noise(frozen, p, d.noise_id)
        features, teacher = seen
        return drafter.loss(full, d, x.batch.ids, x.batch.doc, x.weight >= 0.99, features, teacher, at)

    @jax.jit
    def observe(trunk, batch):
        result = forward(trunk, d, batch, mode)
        return result.features, logits_of(trunk, result.hidden, d).reshape(*batch.ids.shape, -1)

    @partial(jax.jit, donate_argnums=(0, 1))
    def step_fn(p, state, frozen, x, at, seen, rate):
        (value, stats), grads = jax.value_and_grad(loss_fn, has_aux=True)(p, frozen, x, at, seen)
        p, state, _ = optim.update(p, grads, state, rate)
        return p, state, value, stats

    packer = Packer(d, tokenizer, hasher, (ROWS,))
    saved, smooth = time.time(), None
    for step in range(start, args.steps):
        rng = random.Random(f"draft/{args.seed}/{step}")
        (x,) = packer.next(rng, lambda r: example(chats.document(r, chats.FULL_MIX), tokenizer))
        pick = np.random.default_rng([args.seed, step])
        at = drafter.pick_anchors(pick, x.weight >= 0.99, ANCHORS)
        seen = observe(trunk, x.batch)
        rate = args.rate * min(1, (step + 1) / 30, max(0.02, 2 * (args.steps - step) / args.steps))
        p, state, value, stats = step_fn(p, state, frozen, x, at, seen, jnp.float32(rate))
        now = np.array([float(value), *map(float, stats)])
        smooth = now if smooth is None else 0.95 * smooth + 0.05 * now
        if (step + 1) % 25 == 0:
            print(f"{time.strftime('%H:%M:%S')} draft step {step + 1} loss {smooth[0]:.3f} first {smooth[1]:.3f} "
                  f"accepted {smooth[2]:.2f} rate {rate:.1e}", flush=True)  # fmt: skip
        if time.time() - saved > 180 or step + 1 == args.steps:
            checkpoints.save(path, d, p, state, dict(step=step + 1, trunk=info))
            saved = time.time()


if __name__ == "__main__":
    main()
