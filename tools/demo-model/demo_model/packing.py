"""Packs examples into rows of fixed lengths."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Callable

import numpy as np

from .config import Dims
from .forward import Batch
from .ngram import Hasher
from .objective import Labelled
from .render import Example, loss_weights
from .tokenizer import DemoTokenizer

ALIGN = 16  # multiple of 2 (ratio-2 groups) and of the candidate block size in every ratio


@dataclass(frozen=True)
class Shape:
    """Rows of one length."""

    rows: int
    length: int


class Rows:
    """Empty rows to fill with documents."""

    def __init__(self, shape: Shape, d: Dims, align: int = ALIGN):
        self.shape, self.align = shape, align
        size = (shape.rows, shape.length)
        self.ids = np.full(size, d.pad_id, np.int32)
        self.doc = np.full(size, -1, np.int32)
        self.engram = np.zeros((*size, len(d.engram_layers), d.columns), np.int32)
        self.target = np.zeros(size, np.int32)
        self.weight = np.zeros(size, np.float32)
        self.used = [0] * shape.rows
        self.count = 0
        self.spans: list[tuple[str, int, int, int]] = []  # (label, row, begin, end)

    def place(self, ids: np.ndarray, weight: np.ndarray, engram: np.ndarray, label: str = "") -> tuple[int, int] | None:
        """(row, offset) of the document, or None if it fits nowhere."""
        for row, at in enumerate(self.used):
            end = at + len(ids)
            if end > self.shape.length:
                continue
            self.ids[row, at:end], self.doc[row, at:end], self.engram[row, at:end] = ids, self.count, engram
            self.target[row, at : end - 1], self.weight[row, at:end] = ids[1:], weight
            self.used[row] = -(-end // self.align) * self.align
            self.count += 1
            self.spans.append((label, row, at, end))
            return row, at
        return None

    def batch(self) -> Labelled:
        """The filled rows."""
        return Labelled(Batch(self.ids, self.doc, self.engram), self.target, self.weight)


class Packer:
    """Endless batches out of a document source; what does not fit waits for the next batch."""

    def __init__(self, d: Dims, tokenizer: DemoTokenizer, hasher: Hasher, shapes: tuple[Shape, ...]):
        self.d, self.tokenizer, self.hasher, self.shapes = d, tokenizer, hasher, shapes
        self.waiting: list[tuple[np.ndarray, np.ndarray, np.ndarray, str]] = []
        self.spans: list[list[tuple[str, int, int, int]]] = []
        self.dropped = 0

    def _prepare(self, e: Example) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
        return e.ids, loss_weights(e, self.tokenizer), self.hasher.rows(e.ids), e.skill

    def next(self, rng: random.Random, source: Callable[[random.Random], Example], align: int = ALIGN) -> list[Labelled]:
        """One batch per shape; shapes are ordered by length."""
        targets = [Rows(s, self.d, align) for s in self.shapes]
        left, misses, queue = [], 0, self.waiting
        while misses < 12:
            item = queue.pop(0) if queue else self._prepare(source(rng))
            if len(item[0]) > targets[-1].shape.length:
                self.dropped += 1
            elif not any(rows.place(*item) for rows in targets):
                left.append(item)
                misses += 1
        self.waiting = left[-200:] + queue
        self.spans = [rows.spans for rows in targets]
        return [rows.batch() for rows in targets]
