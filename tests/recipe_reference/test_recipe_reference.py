"""2,000 inputs of a fixed seed: the program answers like the package `deepseek-recipe`."""

import copy
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from differential import KINDS, SEED, TOKENIZER, ask, differences, draw, share  # noqa: E402
from equality import difference, split_text  # noqa: E402
from reference import Reference  # noqa: E402

COUNT = 2000
SHOWN = 3


@pytest.fixture(scope="session")
def binary(request):
    path = request.config.getoption("--bin-dir").resolve() / "deepinfer-cli"
    assert path.exists(), f"{path} is missing: build first, or name its folder with --bin-dir"
    return path


@pytest.fixture(scope="session")
def reference():
    return Reference(TOKENIZER)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_equal_those_of_the_reference(kind, binary, reference, record_property):
    inputs = draw(kind, share(COUNT, kind), SEED, reference.tokenizer)
    record_property("inputs", len(inputs))
    found = differences(kind, inputs, reference, ask(binary, kind, inputs))
    lines = [f"{i}: {unlike}\n  {json.dumps(given)[:3000]}" for i, given, unlike in found[:SHOWN]]
    assert not found, f"{len(found)} of {len(inputs)} differ\n" + "\n".join(lines)


def test_kinds_share_the_whole_count():
    assert sum(share(COUNT, kind) for kind in KINDS) == COUNT


# ------------------------------------------------------------- the comparison can fail


def add_to_prompt(output):
    output["prompt"] += " "


def move_a_range(output):
    output["special_ranges"][-1][0] += 1


def swap_thinking(output):
    output["parsing"]["parse_tool_calls"] = not output["parsing"]["parse_tool_calls"]


def one_more_token(output):
    output["max_tokens"] += 1


def another_id(output):
    output["ids"][-1] += 1


def cut_text(output):
    output["text"] = output["text"][:-1]


def events_of(output):
    return [event for push in output["pushes"] + [output["end"]] for event in push]


def drop_a_piece_of_text(output):
    for push in output["pushes"]:
        for i, event in enumerate(push):
            if split_text(event) and split_text(event)[1].strip():
                del push[i]
                return
    raise AssertionError("no text in this stream")


def hold_everything_to_the_end(output):
    output["end"] = events_of(output)
    output["pushes"] = [[] for _ in output["pushes"]]


def drop_the_last_event(output):
    (output["end"] or [push for push in output["pushes"] if push][-1]).pop()


def change_the_response(output):
    output["response"]["model"] = "another"


PROMPT = (add_to_prompt, move_a_range)
STREAM = (
    drop_a_piece_of_text, hold_everything_to_the_end, drop_the_last_event, change_the_response,
)  # fmt: skip
MUTATIONS = {
    "max-tokens": (one_more_token,),
    "render": PROMPT,
    "encode": (another_id,),
    "tokenize": (another_id,),
    "detokenize": (cut_text,),
}


def mutations_of(kind):
    if kind.endswith("-convert"):
        return (*PROMPT, swap_thinking)
    return STREAM if kind.endswith("-stream") else MUTATIONS[kind]


def accepted_answer(kind, inputs, answers):
    """The first input with an answer that has something to change in it."""
    for given, got in zip(inputs, answers, strict=True):
        has_text = any(
            (piece := split_text(event)) and piece[1].strip()
            for event in events_of(got)
        ) if "pushes" in got else not kind.endswith("-stream")  # fmt: skip
        if got.get("ok") is not False and has_text and not given.get("json_output"):
            return given, got
    raise AssertionError("every input was refused")


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_answer_is_noticed(kind, binary, reference):
    inputs = draw(kind, 40, SEED, reference.tokenizer)
    given, got = accepted_answer(kind, inputs, ask(binary, kind, inputs))
    expected = reference.run(kind, given)
    assert difference(kind, given, expected, got) is None
    for change in mutations_of(kind):
        changed = copy.deepcopy(got)
        change(changed)
        assert difference(kind, given, expected, changed) is not None, change.__name__


def test_a_request_that_only_one_side_takes_is_noticed(binary, reference):
    inputs = draw("chat-convert", 40, SEED, reference.tokenizer)
    given, got = accepted_answer("chat-convert", inputs, ask(binary, "chat-convert", inputs))
    refusal = {"ok": False, "stage": "convert", "status": 400, "body": {"error": {}}}
    expected = reference.run("chat-convert", given)
    assert difference("chat-convert", given, expected, refusal) is not None
    assert difference("chat-convert", given, refusal, got) is not None
