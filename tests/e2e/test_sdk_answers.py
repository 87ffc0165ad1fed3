"""Every kind of answer, by every protocol, read in every way that the SDKs offer."""

import itertools
import json
from typing import Literal

import openai
import pydantic
import pytest
from programs import wait_until
from scenario import ANSWER, ENDLESS_VALUE, NOTE, REASONING
from sdk_protocols import MODES, PROTOCOLS, opened
from test_scripted_chat import engine, start


def closed(**properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


WEATHER = ("get_weather", closed(city={"type": "string"}, days={"type": "integer"}))
TIME = ("get_time", closed(zone={"type": "string"}))
WEATHER_CALL = ("get_weather", {"city": "Rome", "days": 3})
TIME_CALL = ("get_time", {"zone": "CET"})
PLACE = closed(city={"type": "string"})


class Place(pydantic.BaseModel):
    city: str


class City(pydantic.BaseModel):
    city: Literal["Rome", "Oslo"]


@pytest.fixture(scope="module")
def scripted(programs, tmp_path_factory):
    return start(programs, tmp_path_factory)


@pytest.fixture(scope="module")
def protocols(scripted):
    with opened(scripted) as made:
        yield made


@pytest.fixture(params=PROTOCOLS)
def protocol(request, protocols):
    return protocols[request.param]


@pytest.fixture(params=MODES)
def ask(request, protocol):
    return lambda marker, **kinds: getattr(protocol, request.param)(**protocol.request(marker, **kinds))


def test_text(ask):
    answer = ask("PLAIN")
    assert (answer.reasoning, answer.text, answer.calls, answer.end) == ("", ANSWER, [], "stop")
    assert answer.output_tokens > 1
    assert ask("UNICODE").text == "héllo 你好 🙂"


def test_reasoning(ask):
    answer = ask("REASON", thinking=True)
    assert (answer.reasoning, answer.text, answer.end) == (REASONING, ANSWER, "stop")


@pytest.mark.parametrize("flag, text", [([], ""), (["--repeat-open-reasoning"], REASONING)])
def test_r04_reasoning_that_never_ends(programs, tmp_path_factory, flag, text):
    server = start(programs, tmp_path_factory, *flag)
    with opened(server) as protocols:
        for protocol, mode in itertools.product(protocols.values(), MODES):
            read = getattr(protocol, mode)
            ended = read(**protocol.request("MUSES", thinking=True))
            assert (ended.reasoning, ended.text, ended.end) == (REASONING, text, "stop")
            cut = read(**protocol.request("MUSES", thinking=True, limit=2))
            assert (cut.text, cut.end, cut.output_tokens) == ("", "limit", 2)
            assert cut.reasoning and REASONING.startswith(cut.reasoning)
            closed = read(**protocol.request("REASON", thinking=True))
            assert (closed.reasoning, closed.text, closed.end) == (REASONING, ANSWER, "stop")
    assert server.stop() == 0


def test_a_call(ask):
    answer = ask("CALL", tools=[WEATHER])
    assert (answer.text, answer.parsed_calls(), answer.end) == ("Let me look.", [WEATHER_CALL], "calls")
    assert answer.reasoning == ""


def test_parallel_calls_behind_reasoning(ask):
    answer = ask("BOTH", thinking=True, tools=[WEATHER, TIME])
    assert (answer.reasoning, answer.text) == (REASONING, "Let me look.")
    assert answer.parsed_calls() == [WEATHER_CALL, TIME_CALL]
    assert answer.end == "calls"
    assert all(answer.call_ids) and len(set(answer.call_ids)) == 2


@pytest.mark.parametrize("mode", ["plain", "events"])
def test_only_one_call_where_asked(protocol, mode):
    # A model that may not write a second strict call never comes to it, so they are not strict.
    kinds = {"thinking": True, "tools": [WEATHER, TIME], "strict": False, "single": True}
    answer = getattr(protocol, mode)(**protocol.request("BOTH", **kinds))
    assert (answer.parsed_calls(), answer.end) == ([WEATHER_CALL], "calls")


@pytest.mark.parametrize("force", ["any", "get_weather"])
@pytest.mark.parametrize("marker, thinking", [("FORCED", False), ("THINKS_ONE", True)])
def test_forced_calls(ask, marker, thinking, force):
    answer = ask(marker, thinking=thinking, tools=[WEATHER, TIME], force=force)
    assert (answer.text, answer.parsed_calls(), answer.end) == ("", [WEATHER_CALL], "calls")
    assert answer.reasoning == (REASONING if thinking else "")


@pytest.mark.parametrize("marker, thinking", [("JSON", False), ("THINKS_OBJECT", True)])
def test_json(ask, marker, thinking):
    answer = ask(marker, thinking=thinking, schema=PLACE)
    assert (json.loads(answer.text), answer.end) == ({"city": "Rome"}, "stop")
    assert answer.reasoning == (REASONING if thinking else "")


def test_a_limit(ask):
    answer = ask("PLAIN", limit=2)
    assert (answer.end, answer.output_tokens) == ("limit", 2)
    assert answer.text and ANSWER.startswith(answer.text)


def test_arguments_stream_while_they_are_written(protocol, scripted):
    before = engine(scripted)["cancelled"]
    with protocol.open(**protocol.request("WRITES_ON", tools=[TIME], limit=4000)) as stream:
        pieces = protocol.pieces(stream)
        text = next(pieces)
        while ENDLESS_VALUE * 2 not in text:
            text += next(pieces)
    assert text.startswith('{"zone": "')
    # The call has no end: what came before it was sent while it was written.
    wait_until(lambda: engine(scripted)["cancelled"] > before, "the cancel", scripted.patience_s)


# ---------------------------------------------------------------- typed answers


@pytest.mark.parametrize("kind", [Place, City])
def test_the_sdks_parse_what_they_asked_for(protocols, kind):
    chat, responses, messages = (protocols[name] for name in ("chat", "responses", "messages"))
    request = chat.request("JSON")
    parsed = chat.client.chat.completions.parse(response_format=kind, **request)
    assert parsed.choices[0].message.parsed == kind(city="Rome")
    with chat.client.chat.completions.stream(response_format=kind, **request) as stream:
        assert stream.get_final_completion().choices[0].message.parsed == kind(city="Rome")
    request = responses.request("JSON")
    assert responses.client.responses.parse(text_format=kind, **request).output_parsed == kind(city="Rome")
    with responses.client.responses.stream(text_format=kind, **request) as stream:
        assert stream.get_final_response().output_parsed == kind(city="Rome")
    request = messages.request("JSON")
    parsed = messages.client.messages.parse(output_format=kind, **request)
    assert parsed.parsed_output == kind(city="Rome")
    with messages.client.messages.stream(output_format=kind, **request) as stream:
        assert stream.get_final_message().parsed_output == kind(city="Rome")


def test_arguments_are_parsed_by_the_sdk(protocols):
    chat = protocols["chat"]
    tool = openai.pydantic_function_tool(Place, name="get_place")
    request = {**chat.request("PLACED"), "tools": [tool]}
    (call,) = chat.client.chat.completions.parse(**request).choices[0].message.tool_calls
    assert call.function.parsed_arguments == Place(city="Rome")
    with chat.client.chat.completions.stream(**request) as stream:
        (call,) = stream.get_final_completion().choices[0].message.tool_calls
    assert call.function.parsed_arguments == Place(city="Rome")


def test_free_text_calls_of_responses(protocols):
    responses = protocols["responses"]
    request = {**responses.request("NOTE"), "tools": [{"type": "custom", "name": "take_note"}]}
    (plain,) = responses.client.responses.create(**request).output
    assert (plain.type, plain.name, plain.input) == ("custom_tool_call", "take_note", NOTE)
    text, done = "", []
    for event in responses.open(**request):
        if event.type == "response.custom_tool_call_input.delta":
            text += event.delta
        elif event.type == "response.custom_tool_call_input.done":
            done.append(event.input)
    assert text == NOTE and done == [NOTE]


# ---------------------------------------------------------------- log probabilities


def check_entries(entries, num_top):
    assert "".join(entry.token for entry in entries) == ANSWER
    for entry in entries:
        assert entry.logprob == -0.25
        assert bytes(entry.bytes).decode() == entry.token
        assert [top.logprob for top in entry.top_logprobs] == [-0.25 - i for i in range(num_top)]


@pytest.mark.parametrize("num_top", [0, 3])
def test_log_probabilities_of_chat(protocols, num_top):
    chat = protocols["chat"]
    request = {**chat.request("PLAIN"), "logprobs": True, "top_logprobs": num_top}
    check_entries(chat.client.chat.completions.create(**request).choices[0].logprobs.content, num_top)
    chunks = [chunk.choices[0] for chunk in chat.open(**request)]
    check_entries([entry for c in chunks if c.logprobs for entry in c.logprobs.content], num_top)
    with chat.client.chat.completions.stream(**request) as stream:
        check_entries(stream.get_final_completion().choices[0].logprobs.content, num_top)


@pytest.mark.parametrize("num_top", [0, 3])
def test_log_probabilities_of_responses(protocols, num_top):
    responses = protocols["responses"]
    asked = {"top_logprobs": 3} if num_top else {"include": ["message.output_text.logprobs"]}
    request = {**responses.request("PLAIN"), **asked}
    plain = responses.client.responses.create(**request)
    check_entries(plain.output[0].content[0].logprobs, num_top)
    entries, finals, last = [], [], None
    for event in responses.open(**request):
        if event.type == "response.output_text.delta":
            entries += event.logprobs
        elif event.type == "response.output_text.done":
            finals += event.logprobs
        last = event
    for told in (entries, finals):
        assert "".join(entry.token for entry in told) == ANSWER
        assert all(entry.logprob == -0.25 for entry in told)
        assert all(len(entry.top_logprobs or []) == num_top for entry in told)
    check_entries(last.response.output[0].content[0].logprobs, num_top)


# ---------------------------------------------------------------- refusals and errors


@pytest.fixture
def fail(protocol):
    """Asks for what cannot be answered and gives the SDK's exception."""

    def asked(mode, kind, marker="PLAIN", **members):
        with pytest.raises(getattr(protocol.errors, kind)) as raised:
            getattr(protocol, mode)(**{**protocol.request(marker), **members})
        assert raised.value.message
        return raised.value

    return asked


@pytest.mark.parametrize("mode", MODES)
def test_refused_requests_are_exceptions_with_their_status(fail, mode):
    assert fail(mode, "NotFoundError", model="nobody").status_code == 404
    refused = fail(mode, "BadRequestError", extra_body={"temperature": 9})
    assert refused.status_code == 400
    assert "temperature" in refused.message


@pytest.mark.parametrize("mode", MODES)
def test_a_full_engine_is_told_before_the_first_byte(fail, mode):
    full = fail(mode, "InternalServerError", "FULL")
    assert full.status_code == 503
    assert full.response.headers["Retry-After"]


def test_a_fault_of_the_engine_is_a_500(fail):
    assert fail("plain", "InternalServerError", "BREAKS").status_code == 500


@pytest.mark.parametrize("mode", ["events", "helper"])
def test_a_fault_in_a_stream_is_raised(fail, mode):
    assert "the engine broke" in str(fail(mode, "APIError", "BREAKS"))


@pytest.mark.parametrize("mode", MODES)
def test_schemas_that_cannot_be_kept_are_refused(protocol, mode):
    request = protocol.request("JSON", schema={"type": "object", "not": {}})
    with pytest.raises(protocol.errors.BadRequestError, match="not"):
        getattr(protocol, mode)(**request)


@pytest.mark.parametrize("mode", MODES)
def test_forcing_an_undeclared_tool_is_refused(protocol, mode):
    request = protocol.request("FORCED", tools=[WEATHER], force="get_nothing")
    with pytest.raises(protocol.errors.BadRequestError, match="get_nothing"):
        getattr(protocol, mode)(**request)
