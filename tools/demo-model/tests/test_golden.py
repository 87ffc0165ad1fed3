"""The JAX forward against the golden checkpoints, and exactness of packing."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest

from demo_model.config import dims_from_config
from demo_model.formats import read_checkpoint, stack_experts
from demo_model.forward import Batch, Mode, forward, logits_of
from demo_model.ngram import Hasher, compressed_token_map


def load(folder: Path):
    d = dims_from_config(folder / "config.json")
    token_map = compressed_token_map(folder / "tokenizer.json")
    hasher = Hasher(d.engram_layers, d.ngram, d.ngram_heads, d.ngram_vocab, token_map, d.pad_id)
    return d, stack_experts(read_checkpoint(folder)), hasher


def pack(d, hasher, docs, length):
    """One row; every document starts at a multiple of 16."""
    ids = np.full((1, length), d.pad_id, np.int32)
    doc = np.full((1, length), -1, np.int32)
    rows = np.zeros((1, length, len(d.engram_layers), d.columns), np.int32)
    at, starts = 0, []
    for i, tokens in enumerate(docs):
        ids[0, at : at + len(tokens)], doc[0, at : at + len(tokens)] = tokens, i
        rows[0, at : at + len(tokens)] = hasher.rows(tokens)
        starts.append(at)
        at += -(-len(tokens) // 16) * 16
    return Batch(ids, doc, rows), starts


def runner(d):
    """Jitted logits; compiled once per row length."""
    return jax.jit(lambda p, batch: logits_of(p, forward(p, d, batch, Mode()).hidden, d))


@pytest.mark.parametrize("name", ["tiny-a", "tiny-b"])
def test_golden_logits(golden, name):
    d, p, hasher = load(golden / name)
    run = runner(d)
    length = 14 * d.window if d.window * 14 > 300 else 20 * d.window
    for prompt in json.loads((golden / name / "golden.json").read_text())["prompts"]:
        ids = np.array(prompt["ids"])
        batch, _ = pack(d, hasher, [ids], length)
        logits = np.asarray(run(p, batch))[: len(ids)]
        for want, row in zip(prompt["logits"], range(len(ids) - len(prompt["logits"]), len(ids))):
            for token, value in want["top"] + want["probes"]:
                assert abs(logits[row, token] - value) < 2e-4


def test_packing_is_exact(golden):
    d, p, hasher = load(golden / "tiny-a")
    run = runner(d)
    rng = np.random.default_rng(0)
    docs = [rng.integers(3, d.vocab, n) for n in (33, 150, 7, 90)]
    batch, starts = pack(d, hasher, docs, 320)
    together = np.asarray(run(p, batch))
    for doc, start in zip(docs, starts):
        single = np.asarray(run(p, pack(d, hasher, [doc], 320)[0]))
        assert np.abs(single[: len(doc)] - together[start : start + len(doc)]).max() < 1e-4
