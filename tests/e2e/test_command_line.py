"""The commands as a user meets them: inspect, generate, their errors, and flags as documented."""

import json
import re
import shutil

import pytest

from programs import ROOT

TINY = ROOT / "tests/data/tiny-a"


def test_inspect_describes_a_complete_checkpoint(programs):
    done = programs.run("deepinfer-cli", "inspect", TINY)
    assert done.returncode == 0, done.stderr
    assert "DeepseekV41ForCausalLM" in done.stdout
    assert "complete: this directory can be served" in done.stdout


def test_inspect_lists_every_problem_of_a_damaged_one(programs, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(TINY, damaged)
    (damaged / "model-00002-of-00002.safetensors").unlink()
    (damaged / "tokenizer.json").write_text("{")
    done = programs.run("deepinfer-cli", "inspect", damaged)
    assert done.returncode == 3
    assert "model-00002-of-00002.safetensors" in done.stdout
    assert "tokenizer.json" in done.stdout
    assert "tensors missing" in done.stdout


def test_generate_answers_all_three_kinds_of_prompt(programs):
    lines = [
        {"id": "ids", "prompt_token_ids": [5, 6, 7], "max_tokens": 4},
        {"id": "text", "prompt": "the cat", "max_tokens": 4},
        {"id": "chat", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 4},
        {"id": "bad", "prompt": 5},
        {"id": "long", "prompt_token_ids": [5] * 5000, "max_tokens": 4},
    ]
    stdin = "".join(json.dumps(line) + "\n" for line in lines)
    done = programs.run("deepinfer-cli", "generate", TINY, stdin=stdin)
    assert done.returncode == 0, done.stderr
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert list(answers) == ["ids", "text", "chat", "bad", "long"]
    for name in ("ids", "text", "chat"):
        assert 1 <= len(answers[name]["token_ids"]) <= 4
        assert answers[name]["usage"]["completion_tokens"] == len(answers[name]["token_ids"])
    assert "prompt must be a string" in answers["bad"]["error"]
    assert answers["long"]["error"]


def test_generate_is_the_same_with_few_and_many_at_once(programs):
    lines = "".join(
        json.dumps({"id": n, "prompt_token_ids": [5 + n, 6], "max_tokens": 8, "seed": n}) + "\n"
        for n in range(20)
    )
    few = programs.run("deepinfer-cli", "generate", TINY, "--max-num-seqs", 2, stdin=lines)
    many = programs.run("deepinfer-cli", "generate", TINY, "--max-num-seqs", 64, stdin=lines)
    assert few.returncode == 0, few.stderr
    assert few.stdout == many.stdout


def test_generate_names_a_variant_that_does_not_exist(programs):
    done = programs.run("deepinfer-cli", "generate", TINY, "--kernel-variant", "abacus", stdin="")
    assert done.returncode == 2
    assert "abacus" in done.stderr


def test_usage_errors_end_with_two(programs):
    assert programs.run("deepinfer-cli").returncode == 2
    assert programs.run("deepinfer-cli", "generate", TINY, "--no-such-flag").returncode == 2
    assert programs.run("deepinfer-cli", "--help").returncode == 0


FLAG = re.compile(r"--[a-z][a-z0-9-]*")
FLAGS_DOCUMENT = (ROOT / "docs/command-line.md").read_text()


def section(title):
    """What docs/command-line.md says under a heading of the second level."""
    return re.split(r"^## ", FLAGS_DOCUMENT.split(f"## {title}\n")[1], flags=re.M)[0]


def test_server_flags_are_documented_in_their_groups(programs):
    done = programs.run("deepinfer-server", "--help=all")
    assert done.returncode == 0, done.stderr
    groups = re.findall(r"^([A-Z]\w+):\n((?:  .+\n)+)", done.stdout, re.M)
    offered = {
        name: {FLAG.search(line)[0] for line in lines.splitlines()} for name, lines in groups
    }
    rows = re.findall(r"^\| ([A-Z]\w+) \| (.+) \|$", section("deepinfer-server"), re.M)
    documented = {name: set(FLAG.findall(flags)) for name, flags in rows}
    assert offered["Server"] >= {"--host", "--port"}
    assert documented == offered


@pytest.mark.parametrize("command", ("generate", "inspect", "recipe"))
def test_flags_of_the_offline_commands_are_documented(programs, command):
    done = programs.run("deepinfer-cli", command, "--help")
    assert done.returncode == 0, done.stderr
    offered = set(FLAG.findall(done.stdout)) - {"--help"}
    assert offered
    assert offered <= set(FLAG.findall(FLAGS_DOCUMENT.split("## deepinfer-cli inspect")[1]))
