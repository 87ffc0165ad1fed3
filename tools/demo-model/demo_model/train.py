"""Trains the trunk: python -m demo_model.train --work DIR [--steps N ...]. Resumes from DIR/trunk.npz."""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import jax.numpy as jnp

from . import chats, checkpoints, evalset, init, objective, optim
from .config import Dims
from .forward import Mode
from .ngram import Hasher, compressed_token_map
from .packing import Packer, Shape
from .render import example
from .tokenizer import DemoTokenizer

COPY_ROWS, SHORT, LONG = Shape(8, 192), Shape(6, 192), Shape(1, 576)
CAPACITY = 1.35


def dims_for(tokenizer: DemoTokenizer, token_map) -> Dims:
    """The demo dimensions with everything the tokenizer determines."""
    return Dims(vocab=tokenizer.size, compressed_vocab=int(token_map.max()) + 1, noise_id=tokenizer.noise, image_id=tokenizer.image)


def open_data(folder: Path) -> tuple[DemoTokenizer, Dims, Hasher]:
    """Tokenizer, dimensions and hasher of a work folder."""
    tokenizer = DemoTokenizer(folder / "tokenizer.json")
    token_map = compressed_token_map(folder / "tokenizer.json")
    d = dims_for(tokenizer, token_map)
    return tokenizer, d, Hasher(d.engram_layers, d.ngram, d.ngram_heads, d.ngram_vocab, token_map, d.pad_id)


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
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--copy-steps", type=int, default=600, help="copy-dense phase: short rows, full visibility")
    parser.add_argument("--decay-from", type=int, default=3600)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--eval-every", type=int, default=400)
    parser.add_argument("--save-minutes", type=float, default=5)
    return parser.parse_args()


def main() -> None:
    """The training loop. Every step draws its documents from a generator seeded with (seed, step)."""
    args = parse()
    tokenizer, d, hasher = open_data(args.work)
    path = args.work / "trunk.npz"
    if path.exists():
        _, p, state, info = checkpoints.load(path, d)
    else:
        p = {n: jnp.array(x) for n, x in init.trunk(d, args.seed).items()}
        state, info = optim.start(p), dict(step=0, tokens=0)
    print(f"{sum(x.size for x in p.values()) / 1e6:.2f} M parameters, from step {info['step']}", flush=True)
    packers = {False: Packer(d, tokenizer, hasher, (COPY_ROWS,)), True: Packer(d, tokenizer, hasher, (SHORT, LONG))}
    steps = {s: objective.make_step(d, Mode(select=s, capacity=CAPACITY, exact_ties=False, index_loss=True)) for s in (False, True)}
    counts = {s: 40 if s != "tools" else 20 for s in evalset.SKILLS}
    held = evalset.held_out_examples(tokenizer, 7, counts, LONG.length)
    scorer = evalset.Scorer(d, hasher, (SHORT, LONG))
    began = saved = time.time()
    step, tokens, smooth = info["step"], info["tokens"], None
    while step < args.steps:
        full = step >= args.copy_steps  # from here on with selection and candidate pool
        mix = chats.FULL_MIX if full else chats.COPY_MIX
        rng = random.Random(f"{args.seed}/{step}")
        batches = packers[full].next(rng, lambda r: example(chats.document(r, mix), tokenizer))
        p, state, metrics = steps[full](p, state, batches, jnp.float32(rate_at(step, args)))
        step, tokens = step + 1, tokens + sum(int((x.batch.doc >= 0).sum()) for x in batches)
        loss, accuracy = float(metrics["loss"]), float(metrics["accuracy"])
        smooth = (loss, accuracy) if smooth is None else (0.95 * smooth[0] + 0.05 * loss, 0.95 * smooth[1] + 0.05 * accuracy)
        if step % 25 == 0:
            print(f"{time.strftime('%H:%M:%S')} step {step} tokens {tokens / 1e6:.2f}M loss {smooth[0]:.3f} acc {smooth[1]:.3f} "
                  f"index {float(metrics['index']):.3f} norm {float(metrics['norm']):.2f} load {float(metrics['load']):.2f} "
                  f"rate {rate_at(step, args):.2e} {(time.time() - began):.0f}s dropped {packers[full].dropped}", flush=True)  # fmt: skip
        if time.time() - saved > 60 * args.save_minutes or step == args.steps:
            checkpoints.save(path, d, p, state, dict(step=step, tokens=tokens, seed=args.seed))
            saved = time.time()
        if step % args.eval_every == 0 or step == args.steps:
            result = scorer.report(p, held, Mode(select=full, exact_ties=False, capacity=3.0))
            print("eval", step, " ".join(f"{k} {v[0]:.0f}/{v[1]:.3f}" for k, v in result.items()), flush=True)


if __name__ == "__main__":
    main()
