"""Training checkpoints: weights, optimiser state, step and configuration in one file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from .config import Dims
from .optim import AdamState


def save(path: Path, d: Dims, params: dict, state: AdamState | None, info: dict[str, Any]) -> None:
    """Write atomically."""
    arrays = {f"p/{n}": np.asarray(x) for n, x in params.items()}
    if state is not None:
        arrays.update({f"m/{n}": np.asarray(x) for n, x in state.m.items()})
        arrays.update({f"v/{n}": np.asarray(x) for n, x in state.v.items()})
        arrays["count"] = np.asarray(state.count)
    arrays["info"] = np.frombuffer(json.dumps(info).encode(), np.uint8)
    arrays["dims"] = np.frombuffer(d.to_json().encode(), np.uint8)
    temporary = path.with_suffix(".part.npz")
    np.savez(temporary, **arrays)
    os.replace(temporary, path)


def load(path: Path, expect: Dims | None = None) -> tuple[Dims, dict, AdamState | None, dict[str, Any]]:
    """Read; refuses a checkpoint of other dimensions."""
    with np.load(path) as f:
        arrays = {n: f[n] for n in f.files}
    d = Dims.from_json(arrays["dims"].tobytes().decode())
    if expect is not None and expect.to_json() != d.to_json():
        raise SystemExit(f"{path} has other dimensions: {d}")
    pick = lambda prefix: {n[2:]: jnp.array(x) for n, x in arrays.items() if n.startswith(prefix)}
    state = AdamState(pick("m/"), pick("v/"), jnp.array(arrays["count"])) if "count" in arrays else None
    return d, pick("p/"), state, json.loads(arrays["info"].tobytes().decode())
