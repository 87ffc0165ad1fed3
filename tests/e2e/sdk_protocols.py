"""One way to ask all three protocols through the SDKs of their makers, for tests that hold for each.

An answer is read in three ways: `plain`; `events`, the raw stream joined here; `helper`, what the
SDK's own accumulator makes of the stream."""

import contextlib
import json
from dataclasses import dataclass, field

import anthropic
import openai

MODES = ["plain", "events", "helper"]


@dataclass
class Answer:
    reasoning: str = ""
    text: str = ""
    calls: list = field(default_factory=list)  # (name, arguments as text)
    call_ids: list = field(default_factory=list)
    end: str = ""  # stop, calls or limit
    output_tokens: int = 0

    def parsed_calls(self):
        return [(name, json.loads(arguments)) for name, arguments in self.calls]


class Chat:
    """Chat Completions with the OpenAI SDK."""

    errors = openai
    _ENDS = {"stop": "stop", "tool_calls": "calls", "length": "limit"}

    def __init__(self, url, patience_s):
        self.client = openai.OpenAI(
            base_url=f"{url}/v1", api_key="unused", max_retries=0, timeout=patience_s
        )

    def request(
        self, marker, *, thinking=False, tools=(), strict=True, force=None, single=False, schema=None, limit=300
    ):
        made = {
            "model": "scripted",
            "messages": [{"role": "user", "content": f"Please answer: {marker}"}],
            "max_completion_tokens": limit,
            "extra_body": {"thinking": {"type": "enabled" if thinking else "disabled"}},
        }
        if tools:
            # The SDK's helper takes strict tools only.
            made["tools"] = [
                {"type": "function", "function": {"name": n, "parameters": s, "strict": strict}}
                for n, s in tools
            ]
        if force:
            named = {"type": "function", "function": {"name": force}}
            made["tool_choice"] = "required" if force == "any" else named
        if single:
            made["parallel_tool_calls"] = False
        if schema:
            described = {"name": "it", "schema": schema, "strict": True}
            made["response_format"] = {"type": "json_schema", "json_schema": described}
        return made

    def plain(self, **request):
        return self._of(self.client.chat.completions.create(**request))

    def open(self, **request):
        return self.client.chat.completions.create(stream=True, **request)

    def events(self, **request):
        answer, calls = Answer(), {}
        for chunk in self.open(stream_options={"include_usage": True}, **request):
            if chunk.usage:
                answer.output_tokens = chunk.usage.completion_tokens
            for choice in chunk.choices:
                answer.reasoning += getattr(choice.delta, "reasoning_content", None) or ""
                answer.text += choice.delta.content or ""
                for call in choice.delta.tool_calls or []:
                    if call.id:
                        answer.call_ids.append(call.id)
                    name, arguments = calls.get(call.index, ("", ""))
                    calls[call.index] = (
                        name + (call.function.name or ""),
                        arguments + (call.function.arguments or ""),
                    )
                if choice.finish_reason:
                    assert not answer.end
                    answer.end = self._ENDS[choice.finish_reason]
        assert list(calls) == list(range(len(calls)))
        answer.calls = list(calls.values())
        return answer

    def helper(self, **request):
        options = {"include_usage": True}
        with self.client.chat.completions.stream(stream_options=options, **request) as stream:
            try:
                return self._of(stream.get_final_completion())
            except openai.LengthFinishReasonError as cut:
                return self._of(cut.completion)

    def _of(self, completion):
        (choice,) = completion.choices
        assert choice.message.role == "assistant"
        assert choice.message.refusal is None
        calls = choice.message.tool_calls or []
        return Answer(
            getattr(choice.message, "reasoning_content", None) or "",
            choice.message.content or "",
            [(call.function.name, call.function.arguments) for call in calls],
            [call.id for call in calls],
            self._ENDS[choice.finish_reason],
            completion.usage.completion_tokens,
        )

    @staticmethod
    def pieces(stream):
        """Argument pieces as they come."""
        for chunk in stream:
            for call in chunk.choices[0].delta.tool_calls or []:
                if call.function.arguments:
                    yield call.function.arguments


class Responses:
    """Responses with the OpenAI SDK."""

    errors = openai

    def __init__(self, url, patience_s):
        self.client = Chat(url, patience_s).client

    def request(
        self, marker, *, thinking=False, tools=(), strict=True, force=None, single=False, schema=None, limit=300
    ):
        made = {
            "model": "scripted",
            "input": f"Please answer: {marker}",
            "max_output_tokens": limit,
            "reasoning": {"effort": "high" if thinking else "none"},
        }
        if tools:
            made["tools"] = [
                {"type": "function", "name": n, "parameters": s, "strict": strict} for n, s in tools
            ]
        if force:
            made["tool_choice"] = "required" if force == "any" else {"type": "function", "name": force}
        if single:
            made["parallel_tool_calls"] = False
        if schema:
            made["text"] = {"format": {"type": "json_schema", "name": "it", "schema": schema}}
        return made

    def plain(self, **request):
        return self._of(self.client.responses.create(**request))

    def open(self, **request):
        return self.client.responses.create(stream=True, **request)

    def events(self, **request):
        answer, calls, numbers = Answer(), {}, []
        for event in self.open(**request):
            numbers.append(event.sequence_number)
            if event.type == "response.reasoning_text.delta":
                answer.reasoning += event.delta
            elif event.type == "response.output_text.delta":
                answer.text += event.delta
            elif event.type == "response.output_item.added" and event.item.type == "function_call":
                answer.call_ids.append(event.item.call_id)
                calls[event.item.id] = (event.item.name, "")
            elif event.type == "response.function_call_arguments.delta":
                name, arguments = calls[event.item_id]
                calls[event.item_id] = (name, arguments + event.delta)
            elif event.type in ("response.completed", "response.incomplete"):
                answer.end = self._end(event.response)
                answer.output_tokens = event.response.usage.output_tokens
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        answer.calls = list(calls.values())
        return answer

    def helper(self, **request):
        # Its `get_final_response` asks for `response.completed`, which a cut response never is.
        with self.client.responses.stream(**request) as stream:
            (final,) = [e.response for e in stream if e.type in ("response.completed", "response.incomplete")]
        return self._of(final)

    def _of(self, response):
        items = response.output
        parts = [part for item in items if item.type == "message" for part in item.content]
        assert all(part.type == "output_text" for part in parts)  # and none is a refusal
        calls = [item for item in items if item.type == "function_call"]
        return Answer(
            "".join(part.text for item in items if item.type == "reasoning" for part in item.content),
            response.output_text,
            [(call.name, call.arguments) for call in calls],
            [call.call_id for call in calls],
            self._end(response),
            response.usage.output_tokens,
        )

    @staticmethod
    def _end(response):
        assert response.error is None
        if response.status == "incomplete":
            assert response.incomplete_details.reason == "max_output_tokens"
            return "limit"
        assert response.status == "completed"
        return "calls" if any(item.type == "function_call" for item in response.output) else "stop"

    @staticmethod
    def pieces(stream):
        for event in stream:
            if event.type == "response.function_call_arguments.delta" and event.delta:
                yield event.delta


class Messages:
    """Messages with the Anthropic SDK."""

    errors = anthropic
    _ENDS = {"end_turn": "stop", "tool_use": "calls", "max_tokens": "limit"}

    def __init__(self, url, patience_s):
        self.client = anthropic.Anthropic(
            base_url=url, api_key="unused", max_retries=0, timeout=patience_s
        )

    def request(
        self, marker, *, thinking=False, tools=(), strict=True, force=None, single=False, schema=None, limit=300
    ):
        made = {
            "model": "scripted",
            "messages": [{"role": "user", "content": f"Please answer: {marker}"}],
            "max_tokens": limit,
            "thinking": {"type": "enabled", "budget_tokens": 1024} if thinking else {"type": "disabled"},
        }
        if tools:
            made["tools"] = [{"name": n, "input_schema": s, "strict": strict} for n, s in tools]
        if force or single:
            made["tool_choice"] = {
                "type": "auto" if not force else "any" if force == "any" else "tool",
                **({"name": force} if force not in (None, "any") else {}),
                **({"disable_parallel_tool_use": True} if single else {}),
            }
        if schema:
            made["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return made

    def plain(self, **request):
        return self._of(self.client.messages.create(**request))

    def open(self, **request):
        return self.client.messages.create(stream=True, **request)

    def events(self, **request):
        answer, calls, kinds = Answer(), {}, {}
        for event in self.open(**request):
            if event.type == "content_block_start":
                kinds[event.index] = event.content_block.type
                if event.content_block.type == "tool_use":
                    assert event.content_block.input == {}
                    answer.call_ids.append(event.content_block.id)
                    calls[event.index] = (event.content_block.name, "")
            elif event.type == "content_block_delta":
                delta = event.delta
                if delta.type == "thinking_delta":
                    answer.reasoning += delta.thinking
                elif delta.type == "text_delta":
                    answer.text += delta.text
                elif delta.type == "input_json_delta":
                    name, arguments = calls[event.index]
                    calls[event.index] = (name, arguments + delta.partial_json)
            elif event.type == "message_delta":
                answer.end = self._ENDS[event.delta.stop_reason]
                answer.output_tokens = event.usage.output_tokens
        assert list(kinds) == list(range(len(kinds)))
        answer.calls = list(calls.values())
        return answer

    def helper(self, **request):
        with self.client.messages.stream(**request) as stream:
            return self._of(stream.get_final_message())

    def _of(self, message):
        def of(kind):
            return [block for block in message.content if block.type == kind]

        assert len(message.content) == len(of("thinking") + of("text") + of("tool_use"))
        return Answer(
            "".join(block.thinking for block in of("thinking")),
            "".join(block.text for block in of("text")),
            [(block.name, json.dumps(block.input)) for block in of("tool_use")],
            [block.id for block in of("tool_use")],
            self._ENDS[message.stop_reason],
            message.usage.output_tokens,
        )

    @staticmethod
    def pieces(stream):
        for event in stream:
            if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                if event.delta.partial_json:
                    yield event.delta.partial_json


PROTOCOLS = {"chat": Chat, "responses": Responses, "messages": Messages}


@contextlib.contextmanager
def opened(server):
    """The protocols by name, with their clients."""
    made = {name: kind(server.url, server.patience_s) for name, kind in PROTOCOLS.items()}
    try:
        yield made
    finally:
        for protocol in made.values():
            protocol.client.close()
