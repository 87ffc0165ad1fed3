"""Greedy answers of the real engine through `COMMAND generate MODEL`."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

EOS = 1


def run_engine(command: str, model: Path, prompts: list[list[int]], max_tokens: int) -> list[list[int]]:
    """Token ids of every answer, with the end token where the answer ended by itself."""
    lines = [
        json.dumps(dict(id=str(i), prompt_token_ids=p, max_tokens=max_tokens, temperature=0, ignore_eos=False))
        for i, p in enumerate(prompts)
    ]
    done = subprocess.run(
        [*shlex.split(command), "generate", str(model)], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True
    )
    replies = {r["id"]: r for r in map(json.loads, done.stdout.splitlines())}
    out = []
    for i in range(len(prompts)):
        ids = list(replies[str(i)]["token_ids"])
        if replies[str(i)]["finish_reason"] == "stop" and (not ids or ids[-1] != EOS):
            ids.append(EOS)
        out.append(ids)
    return out
