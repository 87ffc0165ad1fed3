"""The draft stages against the golden speculative steps."""

import json

import jax
import numpy as np
from test_golden import load, pack

from demo_model import drafter
from demo_model.forward import Mode, forward


def test_golden_drafts(golden):
    """Every block drafted along the golden greedy continuation has the golden tokens and confidences."""
    d, p, hasher = load(golden / "tiny-a")
    prompts = json.loads((golden / "tiny-a" / "golden.json").read_text())["prompts"]
    features_of = jax.jit(lambda p, batch: forward(p, d, batch, Mode()).features)
    propose = jax.jit(lambda p, ids, doc, f, at: drafter.propose(p, d, ids, doc, f, at))
    checked = 0
    for prompt in prompts:
        steps = prompt["speculative"]["steps"]
        ids = np.array(prompt["ids"] + prompt["greedy"])
        if len(ids) > 96:
            continue
        batch, _ = pack(d, hasher, [ids], 96)
        at = drafter.Anchors(np.zeros(40, np.int32), np.array([s["position"] for s in steps] + [1] * (40 - len(steps))))
        tokens, confidence = propose(p, batch.ids, batch.doc, features_of(p, batch), at)
        for i, s in enumerate(steps):
            if s["position"] < len(ids):
                assert list(np.asarray(tokens[i])) == s["drafts"]
                key = "confidences" if "confidences" in s else "confidence"
                assert np.abs(np.asarray(confidence[i]) - np.array(s[key])).max() < 1e-4
                checked += 1
    assert checked > 10
