"""The demo tokenizer: byte-level BPE in the layout of the real tokenizer.json, with ids of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Iterable

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from .ngram import byte_alphabet

# (spelling, special, normalized) as the real file has them
FIRST = (("<｜begin▁of▁sentence｜>", True, False), ("<｜end▁of▁sentence｜>", True, False), ("<｜▁pad▁｜>", True, False))
LAST = (
    ("<｜place▁holder▁no▁0｜>", True, False),  # the drafter's noise token
    ("<｜System｜>", False, True), ("<｜User｜>", False, True), ("<｜Assistant｜>", False, True),
    ("<think>", False, True), ("</think>", False, True), ("｜DSML｜", False, True), ("<｜latest_reminder｜>", False, True),
    ("<｜image｜>", True, False), ("<｜deepseek_image｜>", False, True),
    ("<｜/polygon｜>", True, False), ("<｜polygon｜>", True, False), ("<｜/point｜>", True, False), ("<｜point｜>", True, False),
    ("<｜/box｜>", True, False), ("<｜box｜>", True, False), ("<｜/ref｜>", True, False), ("<｜ref｜>", True, False),
)  # fmt: skip

BLANK = "Ġ"  # how byte-level BPE spells a blank

_CJK = "[一-龥぀-ゟ゠-ヿ]+"
_WORDS = (
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)


def _pre_tokenizer(digits: str) -> pre_tokenizers.PreTokenizer:
    split = lambda pattern: pre_tokenizers.Split(Regex(pattern), "isolated")
    return pre_tokenizers.Sequence(
        [split(digits), split(_CJK), split(_WORDS), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )


def train(texts: Iterable[str], vocab: int, out: Path) -> None:
    """Train on plain stretches and write tokenizer.json.

    Digits are trained one by one, so no merge contains two of them and the V4.1 pre-tokenizer (up to three
    digits together) gives the same tokens.
    """
    base = vocab - len(LAST)
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = _pre_tokenizer(r"\p{N}")
    trainer = trainers.BpeTrainer(
        vocab_size=base, special_tokens=[s for s, _, _ in FIRST], initial_alphabet=sorted(byte_alphabet()), show_progress=False
    )
    t.train_from_iterator(texts, trainer)
    model = json.loads(t.to_str())["model"]
    assert len(model["vocab"]) == base, f"only {len(model['vocab'])} of {base} entries"
    final = Tokenizer(models.BPE(vocab=model["vocab"], merges=[tuple(m) for m in model["merges"]]))
    final.pre_tokenizer = _pre_tokenizer(r"\p{N}{1,3}")
    final.decoder = decoders.ByteLevel(add_prefix_space=True, trim_offsets=True, use_regex=True)
    for spelling, special, normalized in (*FIRST, *LAST):
        token = AddedToken(spelling, special=special, normalized=normalized)
        (final.add_special_tokens if special else final.add_tokens)([token])
    raw = json.loads(final.to_str())
    for entry in raw["added_tokens"]:
        entry["special"], entry["normalized"] = {s: (a, b) for s, a, b in (*FIRST, *LAST)}[entry["content"]]
    raw["normalizer"] = {"type": "Sequence", "normalizers": []}
    raw["post_processor"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    raw["model"]["merges"] = [m if isinstance(m, str) else " ".join(m) for m in raw["model"]["merges"]]
    out.write_text(json.dumps(raw, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


class DemoTokenizer:
    """Encodes plain stretches (never looking for added tokens) and knows the control tokens."""

    def __init__(self, path: Path):
        raw = json.loads(path.read_text(encoding="utf-8"))
        self.control = {t["content"]: t["id"] for t in raw["added_tokens"]}
        self.spelling = {i: s for s, i in self.control.items()}
        raw["added_tokens"], raw["post_processor"] = [], None
        self._plain = Tokenizer.from_str(json.dumps(raw))
        self._cache: dict[str, list[int]] = {}
        self.size = len(raw["model"]["vocab"]) + len(LAST)
        self.bos, self.eos, self.pad = 0, 1, 2
        self.noise = self.control[LAST[0][0]]
        self.image = self.control["<｜deepseek_image｜>"]
        self.assistant = self.control["<｜Assistant｜>"]
        self.think, self.think_end = self.control["<think>"], self.control["</think>"]

    def spellings(self) -> np.ndarray:
        """[words, 2] ids of every word that is one token both without and with a leading blank."""
        vocab = self._plain.get_vocab()
        pairs = [(i, vocab[BLANK + s]) for s, i in vocab.items() if len(s) > 1 and s.isalpha() and s.isascii() and BLANK + s in vocab]
        return np.array(sorted(pairs))

    def plain(self, text: str) -> list[int]:
        """Ids of text without control tokens."""
        found = self._cache.get(text)
        if found is None:
            found = self._plain.encode(text, add_special_tokens=False).ids
            if len(self._cache) < 50000:
                self._cache[text] = found
        return found

    def stretches(self, text: str, ranges: list[tuple[int, int]]) -> list[int]:
        """Ids of a rendered prompt whose special ranges are character offsets."""
        out: list[int] = []
        at = 0
        for begin, end in ranges:
            if begin > at:
                out += self.plain(text[at:begin])
            out.append(self.control[text[begin:end]])
            at = end
        return out + (self.plain(text[at:]) if at < len(text) else [])

    def decode(self, ids: Iterable[int]) -> str:
        """Text with control tokens spelled out."""
        parts: list[str] = []
        pending: list[int] = []
        for i in ids:
            if i in self.spelling:
                parts += [self._plain.decode(pending, skip_special_tokens=False), self.spelling[i]]
                pending = []
            else:
                pending.append(i)
        return "".join(parts) + self._plain.decode(pending, skip_special_tokens=False)
