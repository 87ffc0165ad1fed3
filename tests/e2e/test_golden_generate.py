"""`deepinfer-cli generate` reproduces the golden checkpoints (their origin: tests/data/README.md)."""

import json
from pathlib import Path

import pytest
from programs import ROOT

MODELS = ("tiny-a", "tiny-b")
# Sequences that run at once: alone, or all prompts of the file together (mixed lengths).
WAYS = {"alone": 1, "batch": 64}
VARIANTS = ("reference", "avx2", "avx512")
# Tokens of a prompt per step; 0 takes a prompt whole.
CHUNKS = (1, 7, 64, 0)
SANITIZER_CHUNKS = (7, 0)
# All variants compute in float32 and differ from the float64 reference by a few 1e-5 only.
LOGIT_TOLERANCE = 2e-4


def supports(variant):
    flags = Path("/proc/cpuinfo").read_text().split()
    needed = {
        "reference": [],
        "avx2": ["avx2", "fma", "f16c"],
        "avx512": ["avx512f", "avx512bw", "avx512vl", "avx512dq"],
    }
    return all(flag in flags for flag in needed[variant])


def golden(model):
    return json.loads((ROOT / "tests/data" / model / "golden.json").read_text())["prompts"]


def golden_logits(prompt):
    """Token id -> logit at the last position of the prompt."""
    last = prompt["logits"][-1]
    assert last["position"] == len(prompt["ids"]) - 1
    return {token: value for token, value in [*last["top"], *last["probes"]]}


def lines(prompts):
    return "".join(
        json.dumps(
            {
                "id": prompt["name"],
                "prompt_token_ids": prompt["ids"],
                "max_tokens": len(prompt["greedy"]),
                "temperature": 0,
                "ignore_eos": True,
                "probe_logits": list(golden_logits(prompt)),
            }
        )
        + "\n"
        for prompt in prompts
    )


def pytest_generate_tests(metafunc):
    """The whole grid; a smaller one for the sanitizer builds, which are many times slower."""
    sanitized = metafunc.config.getoption("--build-kind") in ("asan", "tsan")
    metafunc.parametrize("way", ["batch"] if sanitized else list(WAYS))
    metafunc.parametrize("chunk", SANITIZER_CHUNKS if sanitized else CHUNKS)
    metafunc.parametrize("variant", VARIANTS)
    metafunc.parametrize("model", MODELS)


def test_greedy_tokens_and_logits_are_golden(programs, model, variant, chunk, way):
    if not supports(variant):
        pytest.skip(f"this CPU has no {variant}")
    prompts = golden(model)
    done = programs.run(
        "deepinfer-cli",
        "generate",
        ROOT / "tests/data" / model,
        *("--kernel-variant", variant),
        *("--max-num-seqs", WAYS[way]),
        *("--prefill-chunk-tokens", chunk),
        # Room for all prompts in one step; the engine runs a step of this size when it starts.
        *("--max-num-batched-tokens", 1024),
        *("--max-model-len", 512),
        stdin=lines(prompts),
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [prompt["name"] for prompt in prompts]
    for answer, prompt in zip(answers, prompts):
        assert "error" not in answer, answer
        assert answer["token_ids"] == prompt["greedy"], prompt["name"]
        assert answer["finish_reason"] == "length"
        assert answer["usage"]["prompt_tokens"] == len(prompt["ids"])
        for token, expected in golden_logits(prompt).items():
            assert answer["logits"][str(token)] == pytest.approx(expected, abs=LOGIT_TOLERANCE)
