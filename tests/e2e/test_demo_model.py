"""The bundled demo model gives the answers recorded with it (models/demo/golden_answers.jsonl)."""

import json

import openai
import pytest

from programs import ROOT

DEMO = ROOT / "models/demo"
CASES = [json.loads(line) for line in (DEMO / "golden_answers.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def demo(programs):
    server = programs.start_server(DEMO, "--served-model-name", "demo")
    with openai.OpenAI(
        base_url=f"{server.url}/v1", api_key="unused", max_retries=0, timeout=server.patience_s
    ) as made:
        yield made


def ask(demo, request):
    extra = {name: request[name] for name in request if name not in ("messages", "temperature")}
    return demo.chat.completions.create(
        model="demo",
        messages=request["messages"],
        temperature=request["temperature"],
        max_tokens=128,
        extra_body=extra,
    )


THINKS = [case for case in CASES if case["expected"].get("reasoning_content")]


@pytest.mark.parametrize("budget", [0, 1, 2, 1000])
@pytest.mark.parametrize("case", THINKS[:3], ids=[case["name"] for case in THINKS[:3]])
def test_reasoning_stays_within_its_budget(demo, case, budget):
    request = {**case["request"], "thinking_token_budget": budget}
    answer = ask(demo, request)
    message = answer.choices[0].message
    full = case["expected"]["reasoning_content"]
    assert full.startswith(message.reasoning_content)
    assert answer.usage.completion_tokens_details.reasoning_tokens <= budget
    if budget == 1000:
        assert message.reasoning_content == full
        assert message.content == case["expected"]["content"]
    else:
        assert answer.usage.completion_tokens_details.reasoning_tokens == budget
    assert "</think>" not in message.content


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_answers_as_recorded(demo, case):
    choice = ask(demo, case["request"]).choices[0]
    assert choice.finish_reason == case["expected"]["finish_reason"]
    for member in ("content", "reasoning_content"):
        if member in case["expected"]:
            assert (getattr(choice.message, member) or "") == (case["expected"][member] or "")
    calls = [
        {"name": call.function.name, "arguments": json.loads(call.function.arguments)}
        for call in choice.message.tool_calls or []
    ]
    wanted = case["expected"].get("tool_calls", [])
    assert calls == [{**call, "arguments": json.loads(call["arguments"])} for call in wanted]
