"""The real front end over a scripted engine, driven by the Anthropic SDK: what its clients see of
text, thinking, tools, counting, faults and cancellation."""

import json

import anthropic
import pytest
from programs import ROOT, wait_until
from scenario import ANSWER, ENDLESS_PIECE, REASONING, SCENARIO

OFF = {"type": "disabled"}
ON = {"type": "enabled", "budget_tokens": 1024}
WEATHER = {
    "name": "get_weather",
    "description": "Weather of a city",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    },
}
TIME = {
    "type": "custom",
    "name": "get_time",
    "input_schema": {"type": "object", "properties": {"zone": {"type": "string"}}},
}


def start(programs, tmp_path_factory, *flags):
    scenario = tmp_path_factory.mktemp("scenario") / "scenario.json"
    scenario.write_text(json.dumps(SCENARIO))
    return programs.start_server(
        ROOT / "tests/data/tiny-a",
        *("--tokenizer", ROOT / "tests/data/tokenizer-v4.1"),
        *("--scenario", scenario),
        *("--served-model-name", "scripted"),
        *flags,
        program="scripted-server",
    )


def sdk(server, **settings):
    return anthropic.Anthropic(
        base_url=server.url,
        **{"api_key": "unused", "max_retries": 0, "timeout": server.patience_s, **settings},
    )


@pytest.fixture(scope="module")
def scripted(programs, tmp_path_factory):
    return start(programs, tmp_path_factory)


@pytest.fixture(scope="module")
def client(scripted):
    with sdk(scripted) as made:
        yield made


def request(marker, **members):
    return {
        "model": "scripted",
        "max_tokens": 300,
        "messages": [{"role": "user", "content": f"Please answer: {marker}"}],
        "thinking": OFF,
        **members,
    }


def ask(client, marker, **members):
    return client.messages.create(**request(marker, **members))


def engine(server):
    return json.loads(server.get("/test/stats")[1])


def test_plain_answer_has_text_and_usage(client):
    message = ask(client, "PLAIN")
    (block,) = message.content
    assert (block.type, block.text) == ("text", ANSWER)
    assert message.stop_reason == "end_turn"
    assert message.stop_sequence is None
    assert message.usage.input_tokens > 1
    assert message.usage.output_tokens > 1
    assert message.usage.cache_read_input_tokens == 0
    assert message._request_id and message.id == f"msg_{message._request_id}"


def test_streamed_text_joins_to_the_plain_answer(client):
    with client.messages.stream(**request("UNICODE")) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    plain = ask(client, "UNICODE")
    assert text == final.content[0].text == plain.content[0].text == "héllo 你好 🙂"
    assert final.usage.output_tokens == plain.usage.output_tokens
    assert final.stop_reason == "end_turn"


def test_events_come_in_the_protocols_order(client):
    # The SDK keeps pings to itself.
    types = [event.type for event in ask(client, "PLAIN", stream=True) if event.type != "ping"]
    assert types == [
        "message_start",
        "content_block_start",
        *["content_block_delta"] * types.count("content_block_delta"),
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_thinking_is_a_block_of_its_own_with_a_signature(client):
    thinking, text = ask(client, "REASON", thinking=ON).content
    assert (thinking.type, thinking.thinking) == ("thinking", REASONING)
    assert thinking.signature
    assert (text.type, text.text) == ("text", ANSWER)


def test_thinking_streams_before_the_answer(client):
    with client.messages.stream(**request("REASON", thinking=ON)) as stream:
        kinds = [event.type for event in stream if event.type in ("thinking", "signature", "text")]
        final = stream.get_final_message()
    assert kinds == sorted(kinds, key=["thinking", "signature", "text"].index)
    assert [block.type for block in final.content] == ["thinking", "text"]
    assert final.content[0].thinking == REASONING
    assert final.content[0].signature


def test_parallel_calls_are_blocks_with_their_input(client):
    message = ask(client, "BOTH", thinking=ON, tools=[WEATHER, TIME])
    assert message.stop_reason == "tool_use"
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
    weather, time = message.content[2:]
    assert (weather.name, weather.input) == ("get_weather", {"city": "Rome", "days": 3})
    assert (time.name, time.input) == ("get_time", {"zone": "CET"})
    assert weather.id != time.id


def test_streamed_calls_equal_the_plain_ones(client):
    tools = [WEATHER, TIME]
    with client.messages.stream(**request("BOTH", thinking=ON, tools=tools)) as stream:
        final = stream.get_final_message()
    plain = ask(client, "BOTH", thinking=ON, tools=tools)
    assert [b.type for b in final.content] == [b.type for b in plain.content]
    assert [b.input for b in final.content[2:]] == [b.input for b in plain.content[2:]]
    assert final.stop_reason == "tool_use"


def test_the_answer_and_its_results_can_be_sent_back(client):
    tools = [WEATHER, TIME]
    first = ask(client, "BOTH", thinking=ON, tools=tools)
    weather, time = first.content[2:]
    answer = client.messages.create(
        model="scripted",
        max_tokens=300,
        thinking=OFF,
        tools=tools,
        system=[{"type": "text", "text": "Be short.", "cache_control": {"type": "ephemeral"}}],
        messages=[
            {"role": "user", "content": "How is it?"},
            {"role": "assistant", "content": first.content},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": time.id, "content": "noon"},
                    {
                        "type": "tool_result",
                        "tool_use_id": weather.id,
                        "content": [{"type": "text", "text": "rain"}],
                        "is_error": False,
                    },
                    {"type": "text", "text": "So? PLAIN"},
                ],
            },
        ],
    )
    assert answer.content[0].text == ANSWER


def test_tool_choice_none_and_auto_are_served(client):
    for choice in ({"type": "auto", "disable_parallel_tool_use": True}, {"type": "none"}):
        message = ask(client, "PLAIN", tools=[WEATHER], tool_choice=choice)
        assert message.content[0].text == ANSWER


def test_tokens_are_counted_without_generating(client, scripted):
    before = engine(scripted)["submitted"]
    members = request("PLAIN", tools=[WEATHER], system="Be short.")
    del members["max_tokens"]
    counted = client.messages.count_tokens(**members)
    assert engine(scripted)["submitted"] == before
    message = ask(client, "PLAIN", tools=[WEATHER], system="Be short.")
    assert counted.input_tokens == message.usage.input_tokens


def test_limits_and_stop_sequences_end_an_answer(client):
    cut = ask(client, "ENDLESS", max_tokens=3)
    assert (cut.stop_reason, cut.usage.output_tokens) == ("max_tokens", 3)
    stopped = ask(client, "ENDLESS", stop_sequences=[" more more"])
    assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", " more more")
    assert stopped.content == []


@pytest.mark.parametrize(
    ("members", "kind", "status"),
    [
        ({"extra_body": {"temperature": 9}}, anthropic.BadRequestError, 400),
        ({"messages": []}, anthropic.BadRequestError, 400),
        ({"model": "nobody"}, anthropic.NotFoundError, 404),
        ({"max_tokens": 2**31}, anthropic.BadRequestError, 400),
    ],
)
def test_bad_requests_raise_the_sdks_errors(client, members, kind, status):
    with pytest.raises(kind) as error:
        ask(client, "PLAIN", **members)
    assert error.value.status_code == status
    assert error.value.body["type"] == "error"
    assert error.value.body["request_id"] == error.value.request_id


def test_a_full_engine_is_an_overload(client):
    for stream in (False, True):
        with pytest.raises(anthropic.InternalServerError) as error:
            ask(client, "FULL", stream=stream)
        assert error.value.status_code == 503
        assert error.value.body["error"]["type"] == "overloaded_error"
        assert error.value.response.headers["Retry-After"]


def test_an_engine_fault_in_a_stream_reaches_the_client(client):
    with pytest.raises(anthropic.APIStatusError, match="the engine broke"):
        for _ in ask(client, "BREAKS", stream=True):
            pass


def test_closing_a_stream_early_cancels_the_request(client, scripted):
    before = engine(scripted)
    with client.messages.stream(**request("ENDLESS", max_tokens=4000)) as stream:
        assert next(iter(stream.text_stream)).startswith(ENDLESS_PIECE)
    wait_until(
        lambda: engine(scripted)["cancelled"] > before["cancelled"], "the cancel", scripted.patience_s
    )
    assert engine(scripted)["running"] == before["running"]


def test_keys_are_asked_for_and_checked(programs, tmp_path_factory):
    server = start(programs, tmp_path_factory, "--api-key", "right")
    with sdk(server, api_key="wrong") as stranger, pytest.raises(anthropic.AuthenticationError):
        ask(stranger, "PLAIN")
    with sdk(server, api_key="right") as friend:
        assert ask(friend, "PLAIN").content[0].text == ANSWER
    with sdk(server, api_key=None, auth_token="right") as bearer:
        assert ask(bearer, "PLAIN").content[0].text == ANSWER
    assert server.stop() == 0


def test_a_body_over_the_limit_has_its_own_error(programs, tmp_path_factory):
    server = start(programs, tmp_path_factory, "--max-request-bytes", "2000")
    with sdk(server) as client, pytest.raises(anthropic.APIStatusError) as error:
        ask(client, "PLAIN", system="x" * 4000)
    assert error.value.status_code == 413
    assert error.value.body["error"]["type"] == "request_too_large"
    assert server.stop() == 0


def test_the_real_engine_answers_too(server):
    with sdk(server) as client:
        members = {**request("hi", max_tokens=5), "model": "tiny"}
        plain = client.messages.create(**members, extra_body={"temperature": 0})
        with client.messages.stream(**members, extra_body={"temperature": 0}) as stream:
            final = stream.get_final_message()
    assert plain.usage.output_tokens == final.usage.output_tokens <= 5
    assert [b.model_dump() for b in plain.content] == [b.model_dump() for b in final.content]
