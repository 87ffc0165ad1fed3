"""The real front end over a scripted engine, driven by the OpenAI SDK: what clients see of
reasoning, tool calls, cancellation, faults and the drain."""

import json
import signal
import socket

import openai
import pytest
from programs import ROOT, wait_until
from scenario import ANSWER, ENDLESS_PIECE, REASONING, SCENARIO

THINKING = {"thinking": {"type": "enabled"}}
NOT_THINKING = {"thinking": {"type": "disabled"}}
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        },
    },
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
    return openai.OpenAI(
        base_url=f"{server.url}/v1",
        **{"api_key": "unused", "max_retries": 0, "timeout": server.patience_s, **settings},
    )


@pytest.fixture(scope="module")
def scripted(programs, tmp_path_factory):
    return start(programs, tmp_path_factory)


@pytest.fixture(scope="module")
def client(scripted):
    with sdk(scripted) as made:
        yield made


def ask(client, marker, extra=NOT_THINKING, **members):
    return client.chat.completions.create(
        model="scripted",
        messages=[{"role": "user", "content": f"Please answer: {marker}"}],
        extra_body=extra,
        **members,
    )


def engine(server):
    return json.loads(server.get("/test/stats")[1])


def deltas(stream):
    """(reasoning, content, tool calls by index as [id, name, arguments], finish reasons)."""
    reasoning, content, calls, finishes = "", "", {}, []
    for chunk in stream:
        for choice in chunk.choices:
            reasoning += getattr(choice.delta, "reasoning_content", None) or ""
            content += choice.delta.content or ""
            for call in choice.delta.tool_calls or []:
                parts = calls.setdefault(call.index, ["", "", ""])
                parts[0] += call.id or ""
                parts[1] += call.function.name or ""
                parts[2] += call.function.arguments or ""
            if choice.finish_reason:
                finishes.append(choice.finish_reason)
    return reasoning, content, calls, finishes


def test_plain_answer_has_text_and_usage(client):
    answer = ask(client, "PLAIN")
    assert answer.choices[0].message.content == ANSWER
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.completion_tokens > 1
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer.usage.prompt_tokens_details.cached_tokens == 0


def test_streamed_deltas_join_to_the_plain_answer(client):
    chunks = list(ask(client, "UNICODE", stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == ask(client, "UNICODE").choices[0].message.content == "héllo 你好 🙂"
    assert len({chunk.id for chunk in chunks}) == 1


def test_role_comes_with_the_first_token(client):
    first = next(iter(ask(client, "PLAIN", stream=True)))
    assert first.choices[0].delta.role == "assistant"
    assert first.choices[0].delta.content


def test_usage_chunk_comes_last_and_only_when_asked(client):
    without = list(ask(client, "PLAIN", stream=True))
    assert all(chunk.usage is None for chunk in without)
    asked = list(ask(client, "PLAIN", stream=True, stream_options={"include_usage": True}))
    assert asked[-1].choices == []
    assert asked[-1].usage.completion_tokens > 1
    assert all(chunk.usage is None for chunk in asked[:-1])


def test_reasoning_is_apart_from_the_answer(client):
    message = ask(client, "REASON", THINKING).choices[0].message
    assert message.reasoning_content == REASONING
    assert message.content == ANSWER


def test_reasoning_streams_before_the_answer(client):
    reasoning, content, calls, finishes = deltas(ask(client, "REASON", THINKING, stream=True))
    assert (reasoning, content, calls, finishes) == (REASONING, ANSWER, {}, ["stop"])


def test_reasoning_tokens_are_counted(client):
    usage = ask(client, "REASON", THINKING).usage
    assert 0 < usage.completion_tokens_details.reasoning_tokens < usage.completion_tokens


@pytest.mark.parametrize("budget", [0, 1, 3])
def test_reasoning_is_closed_at_its_budget(client, budget):
    extra = {**THINKING, "thinking_token_budget": budget}
    answer = ask(client, "REASON", extra)
    message = answer.choices[0].message
    assert REASONING.startswith(message.reasoning_content)
    assert len(message.reasoning_content) < len(REASONING)
    assert message.content.endswith(ANSWER)
    assert answer.usage.completion_tokens_details.reasoning_tokens == budget
    reasoning, content, _, finishes = deltas(ask(client, "REASON", extra, stream=True))
    assert (reasoning, content) == (message.reasoning_content, message.content)
    assert finishes == ["stop"]


def test_every_choice_has_its_own_budget(client):
    answer = ask(client, "REASON", {**THINKING, "thinking_token_budget": 2}, n=3)
    assert len({choice.message.reasoning_content for choice in answer.choices}) == 1
    assert answer.usage.completion_tokens_details.reasoning_tokens == 6


def test_a_bad_budget_is_named(client):
    with pytest.raises(openai.BadRequestError) as error:
        ask(client, "REASON", {"thinking_token_budget": -1})
    assert error.value.param == "thinking_token_budget"


def test_usage_comes_with_every_chunk_where_asked(client):
    options = {"include_usage": True, "continuous_usage_stats": True}
    chunks = list(ask(client, "PLAIN", stream=True, stream_options=options))
    counts = [chunk.usage.completion_tokens for chunk in chunks]
    assert counts == sorted(counts)
    assert counts[0] >= 1  # the engine may be ahead of what was sent
    assert chunks[-1].choices == []


def test_without_parallel_calls_there_is_one(client, scripted):
    members = {"tools": [WEATHER], "extra": {"parallel_tool_calls": False, **THINKING}}
    cancelled = engine(scripted)["cancelled"]
    choice = ask(client, "BOTH", **members).choices[0]
    assert [call.function.name for call in choice.message.tool_calls] == ["get_weather"]
    assert choice.finish_reason == "tool_calls"
    wait_until(
        lambda: engine(scripted)["cancelled"] == cancelled + 1, "the cancel", scripted.patience_s
    )
    _, content, calls, finishes = deltas(ask(client, "BOTH", stream=True, **members))
    assert content == choice.message.content
    assert [call[1] for call in calls.values()] == ["get_weather"]
    assert calls[0][2] == choice.message.tool_calls[0].function.arguments
    assert finishes == ["tool_calls"]


def test_reasoning_can_have_another_name(programs, tmp_path_factory):
    server = start(programs, tmp_path_factory, "--reasoning-field", "both")
    with sdk(server) as client:
        message = ask(client, "REASON", THINKING).choices[0].message
        assert message.reasoning_content == message.reasoning == REASONING
        text = ""
        for chunk in ask(client, "REASON", THINKING, stream=True):
            text += getattr(chunk.choices[0].delta, "reasoning", None) or ""
        assert text == REASONING


def test_tool_call_is_typed(client):
    choice = ask(client, "CALL", tools=[WEATHER]).choices[0]
    (call,) = choice.message.tool_calls
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "Let me look."
    assert call.function.name == "get_weather"
    assert json.loads(call.function.arguments) == {"city": "Rome", "days": 3}


def test_tool_call_streams_in_pieces(client):
    _, content, calls, finishes = deltas(ask(client, "CALL", tools=[WEATHER], stream=True))
    (call,) = calls.values()
    assert content == "Let me look."
    assert call[0] and call[1] == "get_weather"
    assert json.loads(call[2]) == {"city": "Rome", "days": 3}
    assert finishes == ["tool_calls"]


def test_tool_result_can_be_sent_back(client):
    call = ask(client, "CALL", tools=[WEATHER]).choices[0].message.tool_calls[0]
    answer = client.chat.completions.create(
        model="scripted",
        tools=[WEATHER],
        extra_body=NOT_THINKING,
        messages=[
            {"role": "user", "content": "How is the weather?"},
            {"role": "assistant", "tool_calls": [call.model_dump()]},
            {"role": "tool", "tool_call_id": call.id, "content": "sunny PLAIN"},
        ],
    )
    assert answer.choices[0].message.content == ANSWER


def test_max_tokens_ends_an_answer(client):
    answer = ask(client, "ENDLESS", max_tokens=3)
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 3


def test_stop_sequence_ends_an_answer_and_its_generation(client, scripted):
    before = engine(scripted)["cancelled"]
    answer = ask(client, "ENDLESS", stop=[" more more"])
    assert answer.choices[0].finish_reason == "stop"
    assert answer.choices[0].message.content == ""
    wait_until(lambda: engine(scripted)["cancelled"] > before, "the cancel", scripted.patience_s)


def test_closing_a_stream_early_cancels_the_request(client, scripted):
    before = engine(scripted)
    stream = ask(client, "ENDLESS", stream=True)
    # Pieces that came together are sent together.
    assert next(iter(stream)).choices[0].delta.content.startswith(ENDLESS_PIECE)
    stream.close()
    wait_until(
        lambda: engine(scripted)["cancelled"] > before["cancelled"], "the cancel", scripted.patience_s
    )
    assert engine(scripted)["running"] == before["running"]


def test_leaving_a_plain_request_cancels_it(scripted):
    before = engine(scripted)
    body = json.dumps(
        {"model": "scripted", "messages": [{"role": "user", "content": "ENDLESS"}], **NOT_THINKING}
    ).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", scripted.port)) as raw:
        raw.sendall(head.encode() + body)
        wait_until(
            lambda: engine(scripted)["running"] > before["running"], "the start", scripted.patience_s
        )
    wait_until(
        lambda: engine(scripted)["cancelled"] > before["cancelled"], "the cancel", scripted.patience_s
    )


def test_a_full_engine_is_an_overload_error_at_once(client):
    with pytest.raises(openai.InternalServerError) as error:
        ask(client, "FULL")
    assert error.value.status_code == 503
    assert error.value.response.headers["Retry-After"]


def test_a_full_engine_refuses_a_stream_before_its_status_line(client):
    with pytest.raises(openai.InternalServerError) as error:
        ask(client, "FULL", stream=True)
    assert error.value.status_code == 503


def test_an_engine_fault_in_a_stream_reaches_the_client_as_an_error(client):
    with pytest.raises(openai.APIError, match="the engine broke"):
        for _ in ask(client, "BREAKS", stream=True):
            pass


def test_keys_are_asked_for_and_checked(programs, tmp_path_factory):
    server = start(programs, tmp_path_factory, "--api-key", "right")
    with sdk(server, api_key="wrong") as stranger, pytest.raises(openai.AuthenticationError):
        ask(stranger, "PLAIN")
    with sdk(server, api_key="right") as friend:
        assert ask(friend, "PLAIN").choices[0].message.content == ANSWER
    assert server.stop() == 0


def test_sigterm_lets_running_streams_finish(programs, tmp_path_factory):
    server = start(programs, tmp_path_factory, "--shutdown-timeout", 600)
    with sdk(server) as client, sdk(server) as late:
        # 1000 tokens, 5 ms apart: long enough for what happens meanwhile.
        stream = iter(ask(client, "ENDLESS", stream=True, max_tokens=1000))
        next(stream)
        server.signal(signal.SIGTERM)
        wait_until(lambda: server.get("/readyz")[0] == 503, "readiness to end", server.patience_s)
        with pytest.raises(openai.InternalServerError):
            ask(late, "PLAIN")
        finishes = [c.finish_reason for chunk in stream for c in chunk.choices if c.finish_reason]
    assert finishes == ["length"]
    assert server.wait() == 0


def test_sigterm_cancels_what_outlasts_the_deadline(programs, tmp_path_factory):
    server = start(programs, tmp_path_factory, "--shutdown-timeout", "0.2")
    with sdk(server) as client:
        stream = ask(client, "ENDLESS", stream=True)
        next(iter(stream))
        server.signal(signal.SIGTERM)
        with pytest.raises(openai.APIError):
            for _ in stream:
                pass
    assert server.wait() == 0


def test_second_signal_ends_at_once(programs, tmp_path_factory):
    server = start(programs, tmp_path_factory)
    with sdk(server) as client:
        stream = ask(client, "ENDLESS", stream=True)
        next(iter(stream))
        server.signal(signal.SIGTERM)
        wait_until(lambda: server.get("/readyz")[0] == 503, "the drain", server.patience_s)
        server.signal(signal.SIGTERM)
        assert server.wait() == 128 + signal.SIGTERM
