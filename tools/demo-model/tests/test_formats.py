"""Quantisers, against the NumPy reference's codecs."""

import numpy as np

from demo_model import formats


def test_formats_equal_the_reference(v41ref):
    from v41ref import checkpoint as ck

    rng = np.random.default_rng(0)
    w = (rng.normal(size=(96, 64)) * np.exp(rng.normal(size=(96, 1)) * 3)).astype(np.float32)
    pairs = [
        (formats.fp8_tiles, ck.quantize_fp8_blocks),
        (formats.fp8_rows, ck.quantize_fp8_rows),
        (formats.fp4_rows, ck.quantize_fp4_rows),
    ]
    for ours, theirs in pairs:
        for a, b in zip(ours(w), theirs(w)):
            assert a.dtype == b.dtype and np.array_equal(a.data, b.data)
    assert np.array_equal(formats.bf16(w).data, ck.bf16_encode(w))
