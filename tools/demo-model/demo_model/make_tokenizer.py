"""Trains the tokenizer on generated documents: python -m demo_model.make_tokenizer --out DIR."""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from . import chats, render, words
from .tokenizer import FIRST, LAST, DemoTokenizer, train


class _Collector(DemoTokenizer):
    """Looks like a tokenizer to the renderer and keeps every plain stretch."""

    def __init__(self) -> None:
        self.control = {s: i for i, (s, _, _) in enumerate((*FIRST, *LAST))}
        self.bos = self.eos = 0
        self.texts: list[str] = []

    def plain(self, text: str) -> list[int]:
        self.texts.append(text)
        return []


def corpus(seed: int, documents: int) -> list[str]:
    """Plain stretches of generated documents; long fixed texts only a few hundred times."""
    rng, collector, seen = random.Random(seed), _Collector(), {}
    for _ in range(documents):
        render.example(chats.document(rng, chats.FULL_MIX), collector)
    out = []
    for text in collector.texts:
        seen[text] = seen.get(text, 0) + 1
        if seen[text] <= 300:
            out.append(text)
    vocabulary = words.NOUNS + words.NAMES + words.CITIES + words.COLORS + words.FOODS + words.JOBS + words.ROOMS
    out += [f" {w}\n{w}" for w in vocabulary for _ in range(500)]  # each word is one token, with and without a blank
    out += [w for _, _, country, capital in words.CAPITALS for w in (country, capital) for _ in range(500)]
    out += [w for w in words.ZH_WORDS + words.ZH_NAMES + words.ZH_CITIES for _ in range(500)]
    return out


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--vocab", type=int, default=2048)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--documents", type=int, default=20000)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    train(corpus(args.seed, args.documents), args.vocab, args.out / "tokenizer.json")
    config = dict(
        tokenizer_class="PreTrainedTokenizerFast", bos_token=FIRST[0][0], eos_token=FIRST[1][0], pad_token=FIRST[2][0],
        add_bos_token=True, add_eos_token=False, model_max_length=8192,
    )  # fmt: skip
    (args.out / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
