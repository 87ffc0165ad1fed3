"""Storage formats of the checkpoint: FP8 / FP4 / E8M0 / BF16 codecs and safetensors files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np

BLOCK = 32
_STORAGE = {"F32": "<f4", "BF16": "<u2", "F8_E4M3": "u1", "F8_E8M0": "u1", "I8": "i1"}
_FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=np.float64)
_FP4_SIGNED = np.concatenate([_FP4, -_FP4]).astype(np.float32)


class Stored(NamedTuple):
    """Raw storage of one tensor."""

    dtype: str
    data: np.ndarray


def bf16(x: np.ndarray) -> Stored:
    """Round to BF16."""
    return Stored("BF16", np.ascontiguousarray(x, np.float32).astype(ml_dtypes.bfloat16).view(np.uint16))


def f32(x: np.ndarray) -> Stored:
    """Keep as float32."""
    return Stored("F32", np.ascontiguousarray(x, np.float32))


def _power_of_two_at_least(x: np.ndarray) -> np.ndarray:
    mantissa, exponent = np.frexp(np.asarray(x, np.float64))
    return np.ldexp(1.0, np.where(mantissa == 0.5, exponent - 1, exponent))


def _e8m0(scale: np.ndarray) -> Stored:
    return Stored("F8_E8M0", (np.frexp(scale)[1] - 1 + 127).astype(np.uint8))


def _e8m0_value(code: np.ndarray) -> np.ndarray:
    return np.ldexp(np.float32(1), code.astype(np.int32) - 127).astype(np.float32)


def _e4m3(x: np.ndarray) -> np.ndarray:
    x = np.clip(x, -448, 448)
    return x.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)


def _e4m3_value(code: np.ndarray) -> np.ndarray:
    return code.view(ml_dtypes.float8_e4m3fn).astype(np.float32)


def fp8_tiles(w: np.ndarray) -> tuple[Stored, Stored]:
    """One scale per 32 x 32 tile."""
    n, k = w.shape
    pad = np.zeros((-(-n // BLOCK) * BLOCK, -(-k // BLOCK) * BLOCK))
    pad[:n, :k] = w
    tiles = pad.reshape(pad.shape[0] // BLOCK, BLOCK, pad.shape[1] // BLOCK, BLOCK)
    scale = _power_of_two_at_least(np.maximum(np.abs(tiles).max(axis=(1, 3)), 1e-30) / 448)
    code = _e4m3(tiles / scale[:, None, :, None]).reshape(pad.shape)[:n, :k]
    return Stored("F8_E4M3", np.ascontiguousarray(code)), _e8m0(scale)


def fp8_rows(w: np.ndarray) -> tuple[Stored, Stored]:
    """Engram tables: one scale per row and 32 columns."""
    groups = w.reshape(w.shape[0], -1, BLOCK).astype(np.float64)
    scale = _power_of_two_at_least(np.maximum(np.abs(groups).max(-1), 1e-30) / 448)
    return Stored("F8_E4M3", _e4m3(groups / scale[..., None]).reshape(w.shape)), _e8m0(scale)


def fp4_rows(w: np.ndarray) -> tuple[Stored, Stored]:
    """Experts: packed E2M1, even column in the low nibble, one scale per row and 32 columns."""
    groups = w.reshape(w.shape[0], -1, BLOCK).astype(np.float64)
    scale = _power_of_two_at_least(np.maximum(np.abs(groups).max(-1), 1e-30) / 6)
    x = groups / scale[..., None]
    size = np.minimum(np.abs(x), 6)
    upper = np.clip(np.searchsorted(_FP4, size), 1, 7)
    below, above = size - _FP4[upper - 1], _FP4[upper] - size
    code = np.where((above < below) | ((above == below) & (upper % 2 == 0)), upper, upper - 1)
    code = (code | np.where(np.signbit(x), 8, 0)).astype(np.uint8).reshape(w.shape)
    return Stored("I8", (code[:, 0::2] | (code[:, 1::2] << 4)).view(np.int8)), _e8m0(scale)


def dequantize(name: str, t: Stored, scale: np.ndarray | None) -> np.ndarray:
    """float32 values of a stored tensor."""
    if t.dtype == "F32":
        return np.array(t.data)
    if t.dtype == "BF16":
        return (t.data.astype(np.uint32) << 16).view(np.float32)
    assert scale is not None, name
    factor = _e8m0_value(scale)
    if t.dtype == "I8":
        raw = t.data.view(np.uint8)
        code = np.stack([raw & 15, raw >> 4], axis=-1).reshape(raw.shape[0], -1)
        return _FP4_SIGNED[code] * factor.repeat(BLOCK, axis=1)
    value = _e4m3_value(np.ascontiguousarray(t.data))
    if name.endswith("engram.embed.weight"):
        return value * factor.repeat(BLOCK, axis=1)
    n, k = value.shape
    return value * factor.repeat(BLOCK, axis=0)[:n].repeat(BLOCK, axis=1)[:, :k]


def write_safetensors(path: Path, tensors: dict[str, Stored]) -> int:
    """Write one file; returns the bytes of tensor data."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, t in tensors.items():
        header[name] = dict(dtype=t.dtype, shape=list(t.data.shape), data_offsets=[offset, offset + t.data.nbytes])
        offset += t.data.nbytes
    blob = json.dumps(header, separators=(",", ":")).encode()
    blob += b" " * (-len(blob) % 8)
    with path.open("wb") as f:
        f.write(len(blob).to_bytes(8, "little") + blob)
        for t in tensors.values():
            f.write(np.ascontiguousarray(t.data).tobytes())
    return offset


def read_checkpoint(folder: Path) -> dict[str, np.ndarray]:
    """Every weight of a model folder, dequantised to float32."""
    stored: dict[str, Stored] = {}
    for path in sorted(folder.glob("*.safetensors")):
        raw = path.read_bytes()
        size = int.from_bytes(raw[:8], "little")
        for name, entry in json.loads(raw[8 : 8 + size]).items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            data = np.frombuffer(raw, np.uint8, end - begin, 8 + size + begin).view(_STORAGE[entry["dtype"]])
            stored[name] = Stored(entry["dtype"], data.reshape(entry["shape"]))
    out = {}
    for name, t in stored.items():
        if not name.endswith(".scale"):
            scale = stored.get(name.removesuffix(".weight") + ".scale")
            out[name] = dequantize(name, t, None if scale is None else scale.data)
    return out


def stack_experts(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The trainer's layout: `P.ffn.experts.w1` [E, F, D] instead of one tensor per expert."""
    out = {n: w for n, w in weights.items() if ".ffn.experts." not in n}
    groups: dict[str, dict[int, np.ndarray]] = {}
    for name, w in weights.items():
        if ".ffn.experts." in name:
            stem, rest = name.split(".ffn.experts.")
            expert, which, _ = rest.split(".")
            groups.setdefault(f"{stem}.ffn.experts.{which}", {})[int(expert)] = w
    out.update({n: np.stack([g[e] for e in range(len(g))]) for n, g in groups.items()})
    return out
