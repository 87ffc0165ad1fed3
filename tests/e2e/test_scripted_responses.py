"""Responses and raw completions over a scripted engine, driven by the OpenAI SDK."""

import openai
import pytest
from scenario import ANSWER, REASONING
from test_scripted_chat import sdk, start

QUIET = {"effort": "none"}
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    },
}


@pytest.fixture(scope="module")
def scripted(programs, tmp_path_factory):
    return start(programs, tmp_path_factory)


@pytest.fixture(scope="module")
def client(scripted):
    with sdk(scripted) as made:
        yield made


def respond(client, marker, **members):
    return client.responses.create(model="scripted", input=f"Please answer: {marker}", **members)


def complete(client, **members):
    return client.completions.create(
        **{"model": "scripted", "prompt": "PLAIN", "max_tokens": 50, **members}
    )


# ---------------------------------------------------------------- responses


def test_plain_text(client):
    answer = respond(client, "PLAIN", reasoning=QUIET)
    assert answer.output_text == ANSWER
    assert answer.status == "completed"
    assert answer.output[0].type == "message"
    assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens
    assert answer.usage.input_tokens_details.cached_tokens == 0


def test_reasoning_is_an_item_of_its_own(client):
    answer = respond(client, "REASON")
    assert [item.type for item in answer.output] == ["reasoning", "message"]
    assert answer.output[0].content[0].text == REASONING
    assert answer.output_text == ANSWER
    assert answer.usage.output_tokens_details.reasoning_tokens > 1


def test_events_join_to_the_response_of_the_last_one(client):
    text, done, last = "", [], None
    for event in respond(client, "BOTH", stream=True, tools=[WEATHER]):
        if event.type == "response.output_text.delta":
            text += event.delta
        elif event.type == "response.output_item.done":
            done.append(event.item)
        last = event
    assert last.type == "response.completed"
    assert [item.type for item in last.response.output] == [
        "reasoning",
        "message",
        "function_call",
        "function_call",
    ]
    assert last.response.output == done
    assert last.response.output_text == text == "Let me look."


def test_stream_helper_follows_the_events(client):
    with client.responses.stream(
        model="scripted", input="Please answer: REASON", reasoning={"effort": "low"}
    ) as stream:
        for _ in stream:
            pass
        final = stream.get_final_response()
    assert final.output_text == ANSWER


def test_calls_go_back_with_their_outputs(client):
    asked = [{"role": "user", "content": "Please answer: CALL"}]
    first = client.responses.create(
        model="scripted", input=asked, tools=[WEATHER], reasoning=QUIET
    )
    call = first.output[-1]
    assert (call.type, call.name) == ("function_call", "get_weather")
    assert call.arguments == '{"city": "Rome", "days": 3}'
    again = client.responses.create(
        model="scripted",
        input=asked
        + [item.model_dump() for item in first.output]
        + [
            {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"},
            {"role": "user", "content": "Please answer: PLAIN"},
        ],
        tools=[WEATHER],
        reasoning=QUIET,
    )
    assert again.output_text == ANSWER


def test_a_limit_makes_it_incomplete(client):
    answer = respond(client, "ENDLESS", reasoning=QUIET, max_output_tokens=3)
    assert answer.status == "incomplete"
    assert answer.incomplete_details.reason == "max_output_tokens"
    assert answer.usage.output_tokens == 3


def test_refusals_name_the_member(client):
    with pytest.raises(openai.BadRequestError) as refused:
        respond(client, "PLAIN", previous_response_id="resp_1")
    assert refused.value.param == "previous_response_id"
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model="other", input="x")


def test_a_fault_in_a_stream_is_raised(client):
    with pytest.raises(openai.APIError, match="the engine broke"):
        for _ in respond(client, "BREAKS", reasoning=QUIET, stream=True):
            pass


# ---------------------------------------------------------------- completions


def test_completion_of_a_text(client):
    answer = complete(client)
    assert answer.object == "text_completion"
    assert answer.choices[0].text == ANSWER
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.completion_tokens > 1


def test_completion_stream(client):
    chunks = list(complete(client, stream=True, stream_options={"include_usage": True}))
    assert "".join(c.choices[0].text for c in chunks if c.choices) == ANSWER
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens > 1


def test_completion_with_echo(client):
    assert complete(client, echo=True).choices[0].text == "PLAIN" + ANSWER
    chunks = list(complete(client, echo=True, stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks) == "PLAIN" + ANSWER


def test_completion_of_token_ids(client, scripted):
    ids = complete(client, extra_body={"return_token_ids": True}).choices[0].prompt_token_ids
    assert complete(client, prompt=ids, echo=True).choices[0].text == "PLAIN" + ANSWER


def test_completion_of_several_prompts(client):
    answer = complete(client, prompt=["PLAIN", "UNICODE"], n=2)
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    texts = [choice.text for choice in answer.choices]
    assert texts == [ANSWER, ANSWER, "héllo 你好 🙂", "héllo 你好 🙂"]


def test_completion_logprobs(client):
    logprobs = complete(client, logprobs=2).choices[0].logprobs
    assert "".join(logprobs.tokens) == ANSWER
    assert len(logprobs.token_logprobs) == len(logprobs.tokens) == len(logprobs.text_offset)
    assert logprobs.text_offset[0] == 0
    assert all(token in top for token, top in zip(logprobs.tokens, logprobs.top_logprobs))


@pytest.mark.parametrize(
    "members, param",
    [
        ({"suffix": "x"}, "suffix"),
        ({"echo": True, "logprobs": 1}, "logprobs"),
        ({"best_of": 3}, "best_of"),
        ({"max_tokens": 0}, "max_tokens"),
    ],
)
def test_completion_refusals_name_the_member(client, members, param):
    with pytest.raises(openai.BadRequestError) as refused:
        complete(client, **members)
    assert refused.value.param == param
