"""Times our tokenizer and the PyPI package `tokenizers` on one text, in one run on one core.

    .venv/bin/python bench/recipe/compare_tokenizers.py [--bin-dir build/release/bin]

The text is a chat of about 8 K tokens in which no added token is spelled. Times are milliseconds
of processor time, so a busy machine disturbs them little; rounds of the two take turns. Exit 1 if
rendering and tokenizing takes more than the bar, or longer than the package takes for the text
alone.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BAR_MS = 10.0
REPEATS_OF_TEXT = 15
ROUNDS = 5
ENCODINGS_A_ROUND = 10
OURS = ("encode_plain", "render_and_encode")


def ours(bin_dir):
    """{benchmark: (ms, tokens)} of one round."""
    command = [bin_dir / "tokenizer_bench", f"--benchmark_filter=^({'|'.join(OURS)})$"]
    ran = subprocess.run(
        [*command, "--benchmark_format=json"], cwd=ROOT, check=True, capture_output=True
    )
    return {b["name"]: (b["cpu_time"], int(b["tokens"])) for b in json.loads(ran.stdout)["benchmarks"]}


def package(tokenizer, text):
    times = []
    for _ in range(ENCODINGS_A_ROUND):
        begin = time.process_time()
        encoding = tokenizer.encode(text, add_special_tokens=False)
        times.append((time.process_time() - begin) * 1e3)
    return statistics.median(times), len(encoding.ids)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin-dir", type=pathlib.Path, default=ROOT / "build/release/bin")
    bin_dir = parser.parse_args().bin_dir.resolve()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ["RAYON_NUM_THREADS"] = "1"
    import tokenizers  # reads the variable when it is loaded

    name = f"tokenizers {tokenizers.__version__}"
    path = ROOT / "tests/data/tokenizer-v4.1/tokenizer.json"
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    text = (ROOT / "bench/recipe/chat_text.txt").read_text(encoding="utf-8") * REPEATS_OF_TEXT
    rounds = {row: [] for row in (*OURS, name)}
    for _ in range(ROUNDS):
        for row, result in (ours(bin_dir) | {name: package(tokenizer, text)}).items():
            rounds[row].append(result)
    best = {row: min(results)[0] for row, results in rounds.items()}
    for row, results in rounds.items():
        median = statistics.median(ms for ms, _ in results)
        print(f"{row:20} {results[0][1]:6} tokens  median {median:6.2f} ms  best {best[row]:6.2f} ms")
    if rounds["encode_plain"][0][1] != rounds[name][0][1]:
        sys.exit("the two do not give the same number of tokens")
    ratio = best[name] / best["render_and_encode"]
    print(f"rendering and tokenizing: {ratio:.1f} times as fast as {name}; bar {BAR_MS} ms")
    sys.exit(0 if best["render_and_encode"] <= min(BAR_MS, best[name]) else 1)


if __name__ == "__main__":
    main()
