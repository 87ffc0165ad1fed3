"""Trains the trunk: python -m demo_model.train --work DIR [--steps N ...]. Resumes from DIR/trunk.npz."""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from . import chats, checkpoints, grow, init, objective, optim
from .config import Dims
from .forward import Mode
from .ngram import Hasher, compressed_token_map
from .packing import Packer, Shape
from .render import example
from .tokenizer import DemoTokenizer

SHORT, LONG = Shape(5, 192), Shape(2, 640)
CAPACITY = 1.35


class Running:
    """Exact match per skill on the training batches; nothing repeats, so this is nearly a held-out number."""

    def __init__(self) -> None:
        self.rate: dict[str, float] = {}

    def add(self, spans, batches, right) -> None:
        """Take in one step."""
        for rows, x, hits in zip(spans, batches, right):
            good = np.asarray(hits) | (x.weight < 0.99)
            for label, row, begin, end in rows:
                old = self.rate.get(label, 0.0)
                self.rate[label] = old + 0.03 * (float(good[row, begin:end].all()) - old)

    def __str__(self) -> str:
        return " ".join(f"{k} {100 * v:.0f}" for k, v in sorted(self.rate.items()))


def dims_for(tokenizer: DemoTokenizer, token_map) -> Dims:
    """The demo dimensions with everything the tokenizer determines."""
    return Dims(vocab=tokenizer.size, compressed_vocab=int(token_map.max()) + 1, noise_id=tokenizer.noise, image_id=tokenizer.image)


def open_data(folder: Path) -> tuple[DemoTokenizer, Dims, Hasher]:
    """Tokenizer, dimensions and hasher of a work folder."""
    tokenizer = DemoTokenizer(folder / "tokenizer.json")
    token_map = compressed_token_map(folder / "tokenizer.json")
    d = dims_for(tokenizer, token_map)
    return tokenizer, d, Hasher(d.engram_layers, d.ngram, d.ngram_heads, d.ngram_vocab, token_map, d.pad_id)


def first_weights(args: argparse.Namespace, tokenizer: DemoTokenizer, d: Dims, hasher: Hasher) -> dict[str, np.ndarray]:
    """Random weights, or those of an exported model, enlarged where it is smaller."""
    if not args.start_from:
        weights = init.trunk(d, args.seed)
        init.share_spellings(weights, tokenizer.spellings(), args.seed)
        return weights
    rng = random.Random(args.seed)
    documents = (example(chats.document(rng, chats.FULL_MIX), tokenizer).ids for _ in range(8000))
    return grow.trunk(args.start_from, d, hasher, documents, args.seed)


def rate_at(step: int, args: argparse.Namespace) -> float:
    """Warm-up, flat, then linear to 3 % at the last step."""
    if step < 60:
        return args.rate * (step + 1) / 60
    if step < args.decay_from:
        return args.rate
    left = (args.steps - step) / max(1, args.steps - args.decay_from)
    return args.rate * (0.03 + 0.97 * left)


def parse() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="holds tokenizer.json; checkpoints are written there")
    parser.add_argument("--start-from", type=Path, help="exported model to continue from, with a fresh optimiser (use its tokenizer)")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--copy-steps", type=int, default=520, help="copy-dense phase")
    parser.add_argument("--select-from", type=int, default=700, help="first step with top-k selection and candidate pool")
    parser.add_argument("--decay-from", type=int, default=3000)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save-minutes", type=float, default=5)
    return parser.parse_args()


def main() -> None:
    """The training loop. Every step draws its documents from a generator seeded with (seed, step)."""
    args = parse()
    jax.config.update("jax_compilation_cache_dir", str(args.work / "compiled"))
    tokenizer, d, hasher = open_data(args.work)
    path = args.work / "trunk.npz"
    if path.exists():
        _, p, state, info = checkpoints.load(path, d)
    else:
        p = {n: jnp.array(x) for n, x in first_weights(args, tokenizer, d, hasher).items()}
        state, info = optim.start(p), dict(step=0, tokens=0)
    print(f"{sum(x.size for x in p.values()) / 1e6:.2f} M parameters, from step {info['step']}", flush=True)
    packer = Packer(d, tokenizer, hasher, (SHORT, LONG))
    run = objective.make_step(d, Mode(capacity=CAPACITY, exact_ties=True, index_loss=True))
    running = Running()
    began = saved = time.time()
    step, tokens, smooth = info["step"], info["tokens"], None
    while step < args.steps:
        mix = chats.COPY_MIX if step < args.copy_steps else chats.FULL_MIX
        rng = random.Random(f"{args.seed}/{step}")
        batches = packer.next(rng, lambda r: example(chats.document(r, mix), tokenizer))
        p, state, metrics, right = run(p, state, batches, jnp.float32(rate_at(step, args)), jnp.bool_(step >= args.select_from))
        running.add(packer.spans, batches, right)
        step, tokens = step + 1, tokens + sum(int((x.batch.doc >= 0).sum()) for x in batches)
        loss = float(metrics["loss"])
        smooth = loss if smooth is None else 0.95 * smooth + 0.05 * loss
        if step % 25 == 0:
            print(f"{time.strftime('%H:%M:%S')} step {step} tokens {tokens / 1e6:.2f}M loss {smooth:.3f} "
                  f"index {float(metrics['index']):.3f} norm {float(metrics['norm']):.2f} load {float(metrics['load']):.2f} "
                  f"rate {rate_at(step, args):.1e} {(time.time() - began):.0f}s | {running}", flush=True)  # fmt: skip
        if time.time() - saved > 60 * args.save_minutes or step == args.steps:
            checkpoints.save(path, d, p, state, dict(step=step, tokens=tokens, seed=args.seed))
            saved = time.time()


if __name__ == "__main__":
    main()
