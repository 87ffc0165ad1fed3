"""Seeded random requests through the reference package and through `deepinfer-cli recipe`.

    differential.py --binary build/release/bin/deepinfer-cli [--count 2000] [--seed N] [--kinds …]

Prints the first differences and how many inputs agreed; exit 1 on a difference.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from drawing import Drawing
from equality import difference
from reference import Reference

ROOT = Path(__file__).resolve().parents[2]
TOKENIZER = ROOT / "tests/data/tokenizer-v4.1/tokenizer.json"
SEED = 20261130
KINDS = (
    "chat-convert", "messages-convert", "responses-convert", "max-tokens", "render", "encode",
    "tokenize", "detokenize", "chat-stream", "messages-stream", "responses-stream",
)  # fmt: skip


def share(count, kind):
    """How many of `count` inputs are of this kind."""
    place = KINDS.index(kind)
    return (place + 1) * count // len(KINDS) - place * count // len(KINDS)


def draw(kind, count, seed, tokenizer):
    """Input i of a kind has a generator of its own, so more inputs change none."""
    return [Drawing(f"{seed}/{kind}/{i}").input(kind, tokenizer) for i in range(count)]


def ask(binary, kind, inputs):
    """What the program answers: its outputs, `{"error": …}` for a line it cannot handle."""
    lines = [json.dumps({"id": str(i), "input": given}) for i, given in enumerate(inputs)]
    command = [str(binary), "recipe", kind, "--tokenizer", str(TOKENIZER)]
    ran = subprocess.run(
        command, input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=300
    )
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    if ran.returncode != 0 or [a.get("id") for a in answers] != [str(i) for i in range(len(lines))]:
        raise RuntimeError(f"{command}: exit {ran.returncode}, {len(answers)} answers\n{ran.stderr}")
    return [answer.get("output", answer) for answer in answers]


def differences(kind, inputs, reference, answers):
    """(number of the input, input, what is unlike) of every input the two disagree on."""
    found = []
    for i, (given, got) in enumerate(zip(inputs, answers, strict=True)):
        unlike = difference(kind, given, reference.run(kind, given), got)
        if unlike:
            found.append((i, given, unlike))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", default=SEED)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--show", type=int, default=5, help="differences to print in full")
    options = parser.parse_args()
    reference = Reference(TOKENIZER)
    total = unlike = 0
    for kind in options.kinds:
        inputs = draw(kind, share(options.count, kind), options.seed, reference.tokenizer)
        found = differences(kind, inputs, reference, ask(options.binary, kind, inputs))
        for i, given, sentence in found[: options.show]:
            print(f"{kind} {i}: {sentence}\n  {json.dumps(given, ensure_ascii=False)[:2000]}")
        print(f"{kind}: {len(inputs) - len(found)} of {len(inputs)} agree")
        total, unlike = total + len(inputs), unlike + len(found)
    print(f"seed {options.seed}: {total - unlike} of {total} agree")
    sys.exit(1 if unlike else 0)


if __name__ == "__main__":
    main()
