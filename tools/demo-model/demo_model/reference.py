"""Greedy answers, draft acceptance and ablations of an exported model, in JAX on packed rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Callable

import jax
import jax.numpy as jnp
import numpy as np

from . import drafter
from .config import dims_from_config
from .evalset import Scorer
from .formats import read_checkpoint, stack_experts
from .forward import Mode, Switches, forward
from .ngram import Hasher, compressed_token_map
from .packing import Shape
from .render import Example
from .tokenizer import DemoTokenizer

SHAPES = (Shape(3, 640),)
PLAIN = Mode(capacity=0)


class Reference:
    """An exported model folder with its dequantised weights."""

    def __init__(self, folder: Path):
        self.d = dims_from_config(folder / "config.json")
        self.tokenizer = DemoTokenizer(folder / "tokenizer.json")
        token_map = compressed_token_map(folder / "tokenizer.json")
        d = self.d
        self.hasher = Hasher(d.engram_layers, d.ngram, d.ngram_heads, d.ngram_vocab, token_map, d.pad_id)
        self.p = {n: jnp.array(w) for n, w in stack_experts(read_checkpoint(folder)).items()}
        self.scorer = Scorer(d, self.hasher, SHAPES, PLAIN)

    def generate(self, examples: list[Example], max_tokens: int) -> list[list[int]]:
        """Greedy tokens (with EOS, if it came). Whole answers are confirmed in one pass where the model agrees."""
        best = self.scorer.argmax(self.p, examples)
        out: list[list[int]] = []
        open_ones: list[int] = []
        for i, (e, (ids, _)) in enumerate(zip(examples, best)):
            wrong = np.nonzero(ids != np.array(e.answer))[0]
            if len(wrong) == 0:
                out.append(list(e.answer))
                continue
            first = int(wrong[0])
            out.append(list(e.answer[:first]) + [int(ids[first])])
            open_ones.append(i)
        while open_ones:
            open_ones = [i for i in open_ones if out[i][-1] != self.d_eos and len(out[i]) < max_tokens]
            open_ones = [i for i in open_ones if len(examples[i].prompt) + len(out[i]) < SHAPES[-1].length]
            if not open_ones:
                break
            partial = [replace(examples[i], prompt=examples[i].prompt + out[i][:-1], answer=[out[i][-1], 0]) for i in open_ones]
            for i, (ids, _) in zip(open_ones, self.scorer.argmax(self.p, partial)):
                out[i].append(int(ids[1]))
        return out

    @property
    def d_eos(self) -> int:
        """End of answer."""
        return self.tokenizer.eos

    def losses(self, examples: list[Example], on: Switches) -> list[np.ndarray]:
        """Loss of every answer token with parts switched off."""
        return [loss for _, loss in self.scorer.argmax(self.p, examples, on)]

    def _proposer(self) -> Callable:
        @jax.jit
        def run(p, batch, at):
            features = forward(p, self.d, batch, PLAIN).features
            return drafter.propose(p, self.d, batch.ids, batch.doc, features, at)

        return run

    def acceptance(self, examples: list[Example], answers: list[list[int]]) -> list[list[int]]:
        """Accepted drafts of every speculative step, per example, when `answers` are the greedy tokens."""
        known = [replace(e, answer=a) for e, a in zip(examples, answers)]
        run, accepted = self._proposer(), [[] for _ in known]
        for rows, placed in self.scorer.batches(known):
            wanted = [(i, row, at + len(known[i].prompt) + n) for i, row, at in placed for n in range(len(known[i].answer) - 1)]
            drafts: dict[tuple[int, int], np.ndarray] = {}
            size = 128
            for begin in range(0, len(wanted), size):
                part = wanted[begin : begin + size]
                padded = part + [part[0]] * (size - len(part))
                where = drafter.Anchors(np.array([r for _, r, _ in padded]), np.array([t for _, _, t in padded]))
                tokens = np.asarray(run(self.p, rows.batch().batch, where)[0])
                drafts.update({(r, t): tokens[n] for n, (_, r, t) in enumerate(part)})
            for i, row, at in placed:
                accepted[i] = _walk(known[i], drafts, row, at)
        return accepted


def _walk(e: Example, drafts: dict[tuple[int, int], np.ndarray], row: int, at: int) -> list[int]:
    """Steps of speculative decoding along the known greedy answer; the first token comes from the prefill."""
    steps, n = [], 0
    while n < len(e.answer) - 1:
        proposal, rest = drafts[row, at + len(e.prompt) + n], e.answer[n + 1 :]
        count = 0
        while count < min(len(rest), len(proposal)) and proposal[count] == rest[count]:
            count += 1
        steps.append(count)
        n += count + 1
    return steps
