"""Structured output by the bundled demo model at temperature 1.5: whatever it draws is valid."""

import json
import re

import jsonschema
import openai
import pytest
from programs import ROOT

SEEDS = range(6)
THINKING = [{"thinking": {"type": "enabled"}}, {"thinking": {"type": "disabled"}}]
SCHEMAS = {
    "flat": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 12},
            "age": {"type": "integer", "minimum": 0, "maximum": 120},
            "city": {"enum": ["Oslo", "Rome"]},
        },
        "required": ["name", "age"],
        "additionalProperties": False,
    },
    "nested": {
        "type": "object",
        "properties": {
            "tags": {
                "type": "array",
                "items": {"type": "string", "pattern": "^[a-z]{1,8}$"},
                "minItems": 1,
                "maxItems": 3,
            },
            "place": {"anyOf": [{"$ref": "#/$defs/point"}, {"type": "null"}]},
        },
        "required": ["tags", "place"],
        "$defs": {
            "point": {
                "type": "object",
                "properties": {"x": {"type": "integer", "multipleOf": 5}, "ok": {"type": "boolean"}},
                "required": ["x", "ok"],
            }
        },
    },
    "list": {"type": "array", "items": {"type": "boolean"}, "maxItems": 4},
    "choice": {"oneOf": [{"enum": ["yes", "no"]}, {"type": "boolean"}]},
}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "book",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "maxLength": 20},
                    "nights": {"type": "integer", "minimum": 1, "maximum": 9},
                    "kind": {"enum": ["room", 2]},
                },
                "required": ["city", "nights"],
            },
        },
    },
    {"type": "function", "function": {"name": "now"}},
]


@pytest.fixture(scope="module")
def client(programs):
    server = programs.start_server(ROOT / "models/demo", "--served-model-name", "demo")
    with openai.OpenAI(
        base_url=f"{server.url}/v1", api_key="unused", max_retries=0, timeout=server.patience_s
    ) as made:
        yield made


def ask(client, extra, text="Record: name Leo; age 31; city Oslo. Return JSON.", **members):
    settings = {"temperature": 1.5, "max_tokens": 700} | members
    return client.chat.completions.create(
        model="demo", messages=[{"role": "user", "content": text}], extra_body=extra, **settings
    )


def joined(chunks):
    """(content, {index: [name, arguments]}, finish reason)"""
    content, calls, finish = "", {}, None
    for chunk in chunks:
        for choice in chunk.choices:
            content += choice.delta.content or ""
            for call in choice.delta.tool_calls or []:
                parts = calls.setdefault(call.index, ["", ""])
                parts[0] += call.function.name or ""
                parts[1] += call.function.arguments or ""
            finish = choice.finish_reason or finish
    return content, calls, finish


def answer(client, extra, stream, **members):
    if stream:
        return joined(ask(client, extra, stream=True, **members))
    choice = ask(client, extra, **members).choices[0]
    calls = {
        i: [call.function.name, call.function.arguments]
        for i, call in enumerate(choice.message.tool_calls or [])
    }
    return choice.message.content or "", calls, choice.finish_reason


@pytest.mark.parametrize("extra", THINKING, ids=["thinking", "direct"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_every_answer_fits_its_schema(client, name, extra):
    schema = SCHEMAS[name]
    formatted = {"type": "json_schema", "json_schema": {"name": "it", "schema": schema}}
    complete = 0
    for seed in SEEDS:
        content, _, finish = answer(
            client, extra, seed % 2 == 1, response_format=formatted, seed=seed
        )
        if finish == "length":
            continue  # cut within the reasoning, or the text
        jsonschema.Draft202012Validator(schema).validate(json.loads(content))
        complete += 1
    assert complete > 0


@pytest.mark.parametrize("extra", THINKING, ids=["thinking", "direct"])
@pytest.mark.parametrize(
    "choice", ["required", {"type": "function", "function": {"name": "book"}}], ids=["any", "named"]
)
def test_every_forced_call_has_its_declared_types(client, choice, extra):
    complete = 0
    for seed in SEEDS:
        _, calls, finish = answer(
            client,
            extra,
            seed % 2 == 1,
            tools=TOOLS,
            tool_choice=choice,
            parallel_tool_calls=False,
            seed=seed,
        )
        if finish == "length":
            continue
        complete += 1
        assert finish == "tool_calls"
        ((called, arguments),) = calls.values()
        schema = {tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in TOOLS}
        assert called in (schema if choice == "required" else {"book"})
        jsonschema.Draft202012Validator(schema[called]).validate(json.loads(arguments))
        assert called == "book" or json.loads(arguments) == {}
    assert complete > 0


def test_strict_tools_leave_text_free(client):
    strict = {
        "type": "function",
        "function": {
            "name": "book",
            "strict": True,
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    }
    for seed in SEEDS:
        content, calls, finish = answer(client, THINKING[1], False, tools=[strict], seed=seed)
        assert finish in ("stop", "length", "tool_calls")
        for name, arguments in calls.values() if finish == "tool_calls" else ():
            assert name == "book" and set(json.loads(arguments)) == {"city"}


@pytest.mark.parametrize(
    ("extra", "pattern"),
    [
        ({"guided_regex": "[A-Z]{2}-[0-9]{3}"}, "[A-Z]{2}-[0-9]{3}"),
        ({"guided_choice": ["left", "right"]}, "left|right"),
        ({"guided_grammar": 'root ::= "a" ("b" | "c"){3}'}, "a[bc]{3}"),
        ({"structured_outputs": {"regex": "x{1,5}y"}}, "x{1,5}y"),
    ],
    ids=["regex", "choice", "grammar", "structured"],
)
def test_guided_output_matches(client, extra, pattern):
    for seed in SEEDS:
        chat, _, finish = answer(client, extra | THINKING[1], seed % 2 == 1, seed=seed)
        assert finish == "stop" and re.fullmatch(pattern, chat)
        text = client.completions.create(
            model="demo", prompt="Say: ", max_tokens=50, temperature=1.5, seed=seed, extra_body=extra
        ).choices[0]
        assert text.finish_reason == "stop" and re.fullmatch(pattern, text.text)


def test_greedy_and_filters_obey_too(client):
    extra = THINKING[1] | {"guided_regex": "[0-9]{8}", "top_k": 1, "min_p": 0.5}
    for settings in ({"temperature": 0}, {"temperature": 1.5, "top_p": 0.1}):
        content, _, finish = answer(client, extra, False, **settings)
        assert finish == "stop" and re.fullmatch("[0-9]{8}", content)


def test_several_choices_and_min_tokens(client):
    extra = THINKING[1] | {"guided_choice": ["a", "bb"], "min_tokens": 30}
    response = ask(client, extra, n=4)
    assert all(choice.message.content in ("a", "bb") for choice in response.choices)


def test_l01_log_probabilities_under_a_grammar_are_json(client):
    extra = THINKING[1] | {"guided_regex": "[0-9]{4}", "top_k": 1}
    response = ask(client, extra, logprobs=True, top_logprobs=20)
    entries = response.choices[0].logprobs.content
    assert len(entries) >= 1
    for entry in entries:
        assert entry.token and entry.bytes and entry.logprob <= 0
        assert all(-1e9 < top.logprob <= 0 for top in entry.top_logprobs)
    json.loads(response.model_dump_json())


def test_the_limit_cuts_with_length(client):
    _, _, finish = answer(client, THINKING[1] | {"guided_regex": "[0-9]{200}"}, False, max_tokens=5)
    assert finish == "length"


def test_responses_and_their_formats(client):
    formatted = {"type": "json_schema", "name": "it", "schema": SCHEMAS["flat"], "strict": False}
    made = client.responses.create(
        model="demo",
        input="Record: name Leo; age 31. Return json.",
        text={"format": formatted},
        reasoning={"effort": "none"},
        temperature=1.5,
        max_output_tokens=700,
    )
    if made.status == "completed":
        jsonschema.validate(json.loads(made.output_text), SCHEMAS["flat"])
    tool = {"type": "function", "name": "book", "parameters": TOOLS[0]["function"]["parameters"]}
    made = client.responses.create(
        model="demo",
        input="Book a room in Oslo.",
        tools=[tool],
        tool_choice="required",
        reasoning={"effort": "none"},
        max_output_tokens=700,
    )
    calls = [item for item in made.output if item.type == "function_call"]
    assert made.status == "incomplete" or calls
    for call in calls if made.status == "completed" else ():
        jsonschema.validate(json.loads(call.arguments), tool["parameters"])


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "book"}])
@pytest.mark.parametrize("thinking", ["disabled", "adaptive"])
def test_messages_and_their_forced_tools(client, choice, thinking):
    import anthropic

    sdk = anthropic.Anthropic(
        base_url=str(client.base_url).removesuffix("/v1/"), api_key="unused", max_retries=0
    )
    schema = TOOLS[0]["function"]["parameters"]
    message = sdk.messages.create(
        model="demo",
        max_tokens=700,
        messages=[{"role": "user", "content": "Book a room in Oslo for 3 nights."}],
        tools=[{"name": "book", "input_schema": schema}],
        tool_choice=choice,
        thinking={"type": thinking},
    )
    calls = [block for block in message.content if block.type == "tool_use"]
    assert message.stop_reason == "max_tokens" or calls
    if message.stop_reason == "tool_use":
        for call in calls:
            jsonschema.validate(call.input, schema)
