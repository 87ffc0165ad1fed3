"""Held-out documents and teacher-forced exact match.

Greedy decoding gives the wanted answer exactly if every token of it is the argmax after its own prefix, so one
forward pass per batch decides exact match.
"""

from __future__ import annotations

import random

import jax
import jax.numpy as jnp
import numpy as np

from . import chats
from .config import Dims
from .forward import Batch, Mode, Switches, forward, logits_of
from .ngram import Hasher
from .packing import ALIGN, Rows, Shape
from .render import Example, example
from .tokenizer import DemoTokenizer


def held_out_examples(tokenizer: DemoTokenizer, seed: int, counts: dict[str, int], limit: int = 10**6) -> list[Example]:
    """`counts` documents per skill, all from the side of the split that is never trained on.

    Of conversations one assistant message at a random place is asked for.
    """
    rng, out = random.Random(seed), []
    for skill, count in counts.items():
        done = 0
        while done < count:
            chat = chats.document(rng, {skill: 1.0}, held=True)
            inner = sum(2 if t.call else 1 for t in chat.turns)
            e = example(chat, tokenizer, stop_after=rng.randint(1, inner) if skill == "tools" else None)
            if len(e.ids) <= limit:
                out.append(e)
                done += 1
    return out


class Scorer:
    """Teacher-forced argmax of packed examples."""

    def __init__(self, d: Dims, hasher: Hasher, shapes: tuple[Shape, ...], mode: Mode, align: int = ALIGN):
        self.d, self.hasher, self.shapes, self.align = d, hasher, shapes, align

        def run(p: dict, batch: Batch, target: jax.Array, on: Switches):
            logits = logits_of(p, forward(p, d, batch, mode, on).hidden, d)
            flat = target.reshape(-1)
            logp = jnp.take_along_axis(logits, flat[:, None], axis=1)[:, 0] - jax.nn.logsumexp(logits, axis=1)
            return jnp.argmax(logits, axis=1).reshape(target.shape), -logp.reshape(target.shape)

        self._run = jax.jit(run)

    def batches(self, examples: list[Example]):
        """(rows, [(example index, row, offset)]) until all are placed; each goes to the shortest fitting shape."""
        todo = {s: [] for s in self.shapes}
        for i, e in enumerate(examples):
            shape = next(s for s in self.shapes if len(e.ids) <= s.length)
            todo[shape].append((i, e.ids, self.hasher.rows(e.ids)))
        for shape, items in todo.items():
            while items:
                rows, placed, rest = Rows(shape, self.d, self.align), [], []
                for item in items:
                    at = rows.place(item[1], np.ones(len(item[1]), np.float32), item[2])
                    rest.append(item) if at is None else placed.append((item[0], *at))
                items = rest
                yield rows, placed

    def argmax(self, p: dict, examples: list[Example], on: Switches = Switches()) -> list[tuple[np.ndarray, np.ndarray]]:
        """(argmax ids, losses) of the answer tokens of each example."""
        run, out = self._run, [None] * len(examples)
        on = Switches(*(jnp.bool_(flag) for flag in on))
        for rows, placed in self.batches(examples):
            x = rows.batch()
            best, loss = (np.asarray(a) for a in run(p, x.batch, x.target, on))
            for i, row, at in placed:
                e = examples[i]
                span = slice(at + len(e.prompt) - 1, at + len(e.ids) - 1)
                out[i] = (best[row, span], loss[row, span])
        return out
