"""Times the PyPI package `tokenizers` on the text of tokenizer_bench, and checks that it gives
as many tokens.

    pip install tokenizers==0.23.1
    RAYON_NUM_THREADS=1 taskset -c 0 python bench/recipe/compare_tokenizers.py
    taskset -c 0 build/bin/tokenizer_bench --benchmark_filter=encode_plain

Both print milliseconds of processor time for one encoding of the same text, in which no added
token is spelled.
"""
import pathlib
import time

import tokenizers

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPEATS_OF_TEXT = 15
ROUNDS = 50


def main():
    tokenizer = tokenizers.Tokenizer.from_file(str(ROOT / "tests/data/tokenizer-v4.1/tokenizer.json"))
    text = (ROOT / "bench/recipe/chat_text.txt").read_text(encoding="utf-8") * REPEATS_OF_TEXT
    times = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        encoding = tokenizer.encode(text, add_special_tokens=False)
        times.append((time.process_time() - begin) * 1e3)
    times.sort()
    print(f"tokenizers {tokenizers.__version__}: {len(encoding.ids)} tokens, "
          f"median {times[len(times) // 2]:.2f} ms, best {times[0]:.2f} ms")


if __name__ == "__main__":
    main()
