"""Engram addressing: compressed vocabulary, bucket primes, multipliers, table rows."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import numpy as np

_WHITE_SPACE = "\t\n\x0b\x0c\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"


def byte_alphabet() -> dict[str, int]:
    """Printable stand-in character -> byte of byte-level BPE spellings."""
    keep = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(b): b for b in keep}
    rest = [b for b in range(256) if b not in table.values()]
    table.update({chr(256 + i): b for i, b in enumerate(rest)})
    return table


_ALPHABET = byte_alphabet()


def _text(spelling: str) -> str:
    if all(c in _ALPHABET for c in spelling):
        return bytes(_ALPHABET[c] for c in spelling).decode("utf-8", errors="replace")
    return spelling


def _normalize(text: str) -> str:
    text = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text))
    text = "".join(c.lower() for c in text if not unicodedata.category(c).startswith("M"))
    out: list[str] = []
    for c in text:
        if c in " \t\r\n":
            if out and out[-1] == " ":
                continue
            c = " "
        out.append(c)
    text = "".join(out)
    return text if text == " " else text.strip(_WHITE_SPACE)


def compressed_token_map(tokenizer_json: Path) -> np.ndarray:
    """compressed[token id]; new ids in order of first appearance."""
    raw = json.loads(tokenizer_json.read_text(encoding="utf-8"))
    by_id = {i: s for s, i in raw["model"]["vocab"].items()}
    by_id.update({t["id"]: t["content"] for t in raw["added_tokens"]})
    ids: dict[str, int] = {}
    out = []
    for i in range(len(by_id)):
        text = _text(by_id[i])
        key = by_id[i] if "\ufffd" in text else (_normalize(text) or text)
        out.append(ids.setdefault(key, len(ids)))
    return np.array(out, dtype=np.int64)


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % p for p in range(2, int(n**0.5) + 1))


def bucket_primes(n_layers: int, max_ngram: int, heads: int, start: int) -> np.ndarray:
    """[layer, n-gram size - 2, head] moduli, all different."""
    used: set[int] = set()
    out = np.zeros((n_layers, max_ngram - 1, heads), dtype=np.int64)
    for index in np.ndindex(n_layers, max_ngram - 1):
        p = start - 1
        for head in range(heads):
            p += 1
            while p in used or not _is_prime(p):
                p += 1
            used.add(p)
            out[(*index, head)] = p
    return out


class Hasher:
    """Engram table rows of token sequences."""

    def __init__(self, layers: tuple[int, ...], max_ngram: int, heads: int, start: int, token_map: np.ndarray, pad_id: int):
        self.token_map, self.pad = token_map, int(token_map[pad_id])
        self.primes = bucket_primes(len(layers), max_ngram, heads, start)
        flat = self.primes.reshape(len(layers), -1)
        self.offsets = np.cumsum(flat, axis=1) - flat
        bound = max(1, ((2**63 - 1) // (int(token_map.max()) + 1)) // 2)
        draws = [np.random.default_rng(10007 * layer).integers(0, bound, size=max_ngram) for layer in layers]
        self.multipliers = 2 * np.array(draws, dtype=np.int64) + 1

    def rows(self, ids: np.ndarray) -> np.ndarray:
        """[position, engram layer, column] for a whole sequence from position 0."""
        c = self.token_map[np.asarray(ids)]
        n_layers, sizes, heads = self.primes.shape
        out = np.empty((len(c), n_layers, sizes * heads), dtype=np.int32)
        padded = np.concatenate([np.full(sizes, self.pad, dtype=np.int64), c])
        for layer in range(n_layers):
            acc = c * self.multipliers[layer, 0]
            for k in range(1, sizes + 1):
                acc = acc ^ (padded[sizes - k : sizes - k + len(c)] * self.multipliers[layer, k])
                for h in range(heads):
                    column = (k - 1) * heads + h
                    out[:, layer, column] = acc % self.primes[layer, k - 1, h] + self.offsets[layer, column]
        return out
