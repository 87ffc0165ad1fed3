"""A grown model computes what the small one did while its new experts are not chosen."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from demo_model import grow, init
from demo_model.config import Dims
from demo_model.forward import Batch, Mode, forward, logits_of
from demo_model.ngram import Hasher

SMALL = Dims(vocab=300, window=16, layers=4, ratios=(0, 2, 1, 1), kv_sources=(1, 2), index_sources=(1, 2), candidate=2, experts=4,
             index_heads=2, index_topk=4, ngram_vocab=300, compressed_vocab=300, targets=(1, 2, 3))  # fmt: skip
LARGE = replace(SMALL, experts=6, index_heads=4, ngram_vocab=40000)


def hasher(d):
    return Hasher(d.engram_layers, d.ngram, d.ngram_heads, d.ngram_vocab, np.arange(d.vocab), d.pad_id)


def logits(d, weights, ids):
    batch = Batch(ids[None], np.zeros((1, len(ids)), np.int32), hasher(d).rows(ids)[None])
    return np.asarray(logits_of(weights, forward(weights, d, batch, Mode()).hidden, d))


def test_growth_keeps_the_function(monkeypatch):
    small = init.trunk(SMALL, 1)
    monkeypatch.setattr(grow, "trunk_of", lambda model: small)
    monkeypatch.setattr(grow, "dims_from_config", lambda path: SMALL)
    ids = np.random.default_rng(2).integers(3, SMALL.vocab, 32).astype(np.int32)
    large = grow.trunk(Path("model"), LARGE, hasher(LARGE), [ids], seed=3)
    assert {n: w.shape for n, w in large.items()} == {n: w.shape for n, w in init.trunk(LARGE, 3).items()}
    for name in large:
        if name.endswith("gate.bias"):
            assert (large[name][SMALL.experts :] < small[name].min()).all()
            large[name][SMALL.experts :] = -100
    np.testing.assert_allclose(logits(LARGE, large, ids), logits(SMALL, small, ids), atol=2e-4)


def test_equal_dimensions_are_taken_as_they_are(monkeypatch):
    small = init.trunk(SMALL, 1)
    monkeypatch.setattr(grow, "trunk_of", lambda model: small)
    monkeypatch.setattr(grow, "dims_from_config", lambda path: SMALL)
    assert grow.trunk(Path("model"), SMALL, hasher(SMALL), [], seed=3) is small
