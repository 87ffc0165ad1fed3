"""Structured output over the scripted engine, which checks every token of a script against the
request's constraint: what it plays is what a constrained model may write."""

import json

import openai
import pytest
from scenario import REASONING
from test_scripted_chat import NOT_THINKING, THINKING, WEATHER, ask, deltas, sdk, start

NAMED = {"type": "function", "function": {"name": "get_weather"}}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA}}


@pytest.fixture(scope="module")
def client(programs, tmp_path_factory):
    with sdk(start(programs, tmp_path_factory)) as made:
        yield made


def call_of(client, marker, extra, stream, **members):
    """(reasoning, content, [(name, arguments)], finish reason)"""
    if stream:
        reasoning, content, calls, (finish,) = deltas(
            ask(client, marker, extra, stream=True, **members)
        )
        return reasoning, content, [(c[1], json.loads(c[2])) for c in calls.values()], finish
    choice = ask(client, marker, extra, **members).choices[0]
    calls = [(c.function.name, json.loads(c.function.arguments)) for c in choice.message.tool_calls]
    reasoning = getattr(choice.message, "reasoning_content", None) or ""
    return reasoning, choice.message.content or "", calls, choice.finish_reason


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("choice", ["required", NAMED], ids=["required", "named"])
def test_t16_forced_calls_with_and_without_thinking(client, choice, stream):
    calls = [("get_weather", {"city": "Rome", "days": 3})]
    forced = {"tools": [WEATHER], "tool_choice": choice}
    assert call_of(client, "FORCED", NOT_THINKING, stream, **forced) == ("", "", calls, "tool_calls")
    assert call_of(client, "THINKS_ONE", THINKING, stream, **forced) == (
        REASONING,
        "",
        calls,
        "tool_calls",
    )


@pytest.mark.parametrize("marker", ["THINKS_ONE", "THINKS_TWO", "THINKS_THREE"])
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_r06_the_call_behind_the_reasoning(client, marker, choice):
    members = {"tools": [WEATHER], "tool_choice": choice, "reasoning_effort": "high"}
    _, content, calls, finish = call_of(client, marker, {}, False, **members)
    assert (content, calls, finish) == (
        "",
        [("get_weather", {"city": "Rome", "days": 3})],
        "tool_calls",
    )


@pytest.mark.parametrize("stream", [False, True])
def test_g09_json_is_content_with_and_without_thinking(client, stream):
    for marker, extra, thought in (
        ("JSON", NOT_THINKING, ""),
        ("THINKS_OBJECT", THINKING, REASONING),
    ):
        if stream:
            reasoning, content, _, _ = deltas(
                ask(client, marker, extra, response_format=FORMAT, stream=True)
            )
        else:
            message = ask(client, marker, extra, response_format=FORMAT).choices[0].message
            reasoning, content = getattr(message, "reasoning_content", None) or "", message.content
        assert (reasoning, json.loads(content)) == (thought, {"city": "Rome"})


def test_a_script_that_breaks_the_constraint_is_noticed(client):
    with pytest.raises(openai.InternalServerError):
        ask(client, "PLAIN", response_format=FORMAT)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("members", "word"),
    [
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"not": {}}}}}, "not"),
        ({"extra": {"guided_regex": "(?=a)b"}}, "guided_regex"),
        ({"extra": {"guided_grammar": "root ::= ("}}, "guided_grammar"),
        ({"extra": {"guided_json": {"type": "array", "uniqueItems": True}}}, "uniqueItems"),
        ({"extra": {"structured_outputs": {"choice": []}}}, "choice"),
        ({"extra": {"guided_regex": "a", "ignore_eos": True}}, "ignore_eos"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_g04_what_cannot_be_enforced_is_a_400_that_names_it(client, members, word, stream):
    extra = NOT_THINKING | members.get("extra", {})
    rest = {name: value for name, value in members.items() if name != "extra"}
    with pytest.raises(openai.BadRequestError, match=word):
        ask(client, "JSON", extra, stream=stream, **rest)
