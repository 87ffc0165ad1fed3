"""Asks the package `deepseek-recipe` what our program is asked: one function per kind of case.

Inputs and outputs have the shape that `deepinfer-cli recipe KIND` reads and writes.
"""

import json

import deepseek_recipe as dr

ENCODINGS = {"v4": dr.DeepseekV4Encoding, "v4.1": dr.DeepseekV41Encoding}
VERSIONS = {"v4": dr.ModelVersion.DeepseekV4Pro, "v4.1": dr.ModelVersion.DeepseekV41Flash}
VERSION_NAMES = {str(version): name for name, version in VERSIONS.items()}
REQUESTS = {
    "chat": dr.ChatCompletionRequest,
    "messages": dr.MessagesRequest,
    "responses": dr.ResponsesRequest,
}
RESPONSES = {
    "chat": dr.ChatCompletionResponse,
    "messages": dr.MessagesResponse,
    "responses": dr.ResponsesResponse,
}
STAGES = {
    "reasoning_start": dr.ThinkingInitialStage.ReasoningStart,
    "reasoning_continuation": dr.ThinkingInitialStage.ReasoningContinuation,
    "content_continuation": dr.ThinkingInitialStage.ContentContinuation,
}
STAGE_NAMES = {str(stage): name for name, stage in STAGES.items()}
REASONS = {
    "stop": dr.InferenceFinishReason.Stop,
    "length": dr.InferenceFinishReason.Length,
    "content_filter": dr.InferenceFinishReason.ContentFilter,
}
WEB_SEARCH = {"drop": dr.WebSearchBehavior.Drop, "reject": dr.WebSearchBehavior.Reject}
REASONING = {
    "fill_empty": dr.ReasoningContentBehavior.FillEmpty,
    "reject": dr.ReasoningContentBehavior.Reject,
}


def byte_ranges(text, ranges):
    """The package counts characters, the cases count bytes."""
    at = [0]
    for character in text:
        at.append(at[-1] + len(character.encode()))
    return [[at[begin], at[end]] for begin, end in ranges]


def image_out(image):
    value = {"url": "url", "data_url": "data_url"}[image.kind]
    out = {"kind": image.kind, "detail": image.detail, "path": image.path}
    return out | {value: getattr(image, value)}


def rendered_out(rendered):
    return {
        "prompt": rendered.prompt,
        "special_ranges": byte_ranges(rendered.prompt, rendered.special_ranges),
        "images": [image_out(image) for image in rendered.image_sources],
    }


class Refused(Exception):
    """The package refuses a request; `args[0]` is the output that says so."""


class Reference:
    def __init__(self, tokenizer_path):
        self.tokenizer = dr.Tokenizer.from_file(str(tokenizer_path))

    def run(self, kind, given):
        try:
            if kind.endswith("-stream"):
                return self.stream(given)
            if kind.endswith("-convert"):
                return self.convert(given | {"protocol": kind.removesuffix("-convert")})
            return getattr(self, kind.replace("-", "_"))(given)
        except Refused as refusal:
            return refusal.args[0]

    # ------------------------------------------------------------- requests

    def options(self, given):
        given = dict(given.get("options") or {})
        for name in ("responses_web_search", "messages_web_search"):
            if name in given:
                given[name] = WEB_SEARCH[given[name]]
        if "reasoning_content_behavior" in given:
            given["reasoning_content_behavior"] = REASONING[given["reasoning_content_behavior"]]
        return dr.ConversionOptions(**given)

    def request(self, given):
        body = given["body_text"] if "body_text" in given else json.dumps(given["body"])
        try:
            return REQUESTS[given["protocol"]](body)
        except ValueError:
            raise Refused({"ok": False, "stage": "parse"}) from None

    def refusal(self, error):
        return {
            "ok": False,
            "stage": "convert",
            "status": error.status_code,
            "body": json.loads(error.body),
        }

    def converted(self, given):
        request = self.request(given)
        try:
            return request.convert(self.options(given))
        except dr.ConversionError as error:
            raise Refused(self.refusal(error)) from None

    def convert(self, given):
        converted = self.converted(given)
        options, parsing = converted.inference_options, converted.parsing_options
        constraint, stage = options.output_constraint, parsing.thinking_initial_stage
        version = VERSION_NAMES[str(converted.model_version)]
        plain = ("max_tokens", "temperature", "top_p", "logprobs", "top_logprobs", "seed")
        flags = ("parse_tool_calls", "starts_in_tool_calls", "parse_json_output", "stop_sequences")
        out = {"ok": True, "model_version": version, "stream": converted.stream}
        out["options"] = {name: getattr(options, name) for name in plain}
        out["options"]["output_constraint"] = constraint and {
            "kind": constraint.kind,
            "schema": constraint.schema,
        }
        out["parsing"] = {name: getattr(parsing, name) for name in flags}
        out["parsing"]["thinking_initial_stage"] = stage and STAGE_NAMES[str(stage)]
        return out | rendered_out(ENCODINGS[version]().render_conversation(converted.conversation))

    def max_tokens(self, given):
        converted = self.converted(given)
        try:
            limit = converted.resolve_max_tokens(given["prompt_tokens"], given["context_limit"])
        except dr.ConversionError as error:
            return self.refusal(error)
        return {"ok": True, "max_tokens": limit}

    # ------------------------------------------------------------- prompts

    def tool(self, given):
        return dr.ToolDefinition(
            given["name"],
            given["description"],
            given["parameters"],
            given["strict"],
            given.get("defer_loading", False),
        )

    def message(self, given):
        role, content = given["role"], given["content"]
        if role == "system":
            tools = given.get("tools")
            return dr.SystemMessage(content, None, tools and [self.tool(tool) for tool in tools])
        if role == "user":
            return dr.UserMessage(content)
        if role == "tool":
            return dr.ToolMessage(content, given["tool_call_id"])
        if role == "latest_reminder":
            return dr.LatestReminderMessage(content)
        calls = given.get("tool_calls")
        calls = calls and [dr.ToolCall(c["id"], c["name"], c["arguments"]) for c in calls]
        reasoning = given.get("reasoning_content")
        return dr.AssistantMessage(content, reasoning, calls, given.get("prefix", False))

    def conversation(self, given):
        wanted = {"response_format": given["response_format"]}
        if given["response_format"] == "json_schema":
            wanted = {"response_schema": given["response_schema"]}
        return dr.Conversation(
            [self.message(message) for message in given["messages"]],
            thinking_mode=given["thinking_mode"],
            tools=[self.tool(tool) for tool in given["tools"]],
            tool_choice=given["tool_choice"],
            reasoning_effort=given["reasoning_effort"],
            **wanted,
        )

    def render(self, given):
        encoding = ENCODINGS[given["encoding"]]()
        return rendered_out(encoding.render_conversation(self.conversation(given["conversation"])))

    def encode(self, given):
        encoding = ENCODINGS[given["encoding"]]().with_tokenizer(self.tokenizer)
        return {"ids": encoding.encode(self.conversation(given["conversation"]))}

    # ------------------------------------------------------------- tokens

    def tokenize(self, given):
        """Plain text is what a prompt holds between two control tokens."""
        if given["mode"] == "full":
            return {"ids": self.tokenizer.encode(given["text"])}
        message = dr.Conversation([dr.UserMessage(given["text"])], thinking_mode=False)
        ids = dr.DeepseekV4Encoding().with_tokenizer(self.tokenizer).encode(message)
        return {"ids": ids[2:-2]}

    def detokenize(self, given):
        """The text that a stream of these ids, all of them reasoning, sends."""
        message = dr.ConversationRequest(
            dr.Conversation([dr.UserMessage("x")]), dr.ModelVersion.DeepseekV41Flash
        )
        chunks = dr.ChatCompletionRequest.chunk_generator(message, "id", "model")
        stage = dr.ThinkingInitialStage.ReasoningContinuation
        parsing = dr.ParsingOptions(parse_tool_calls=False, thinking_initial_stage=stage)
        stream = dr.StreamProcessor(chunks, parsing, self.tokenizer)
        sent = list(stream.push(dr.InferenceChunk.ready()))
        for token in given["ids"]:
            sent += stream.push(dr.InferenceChunk.tokens([token], [(-1.0, [])]))
        sent += stream.push(dr.InferenceChunk.finish(dr.InferenceFinishReason.Stop))
        text, tokens = "", []
        for choice in (c for chunk in sent for c in json.loads(chunk.to_json())["choices"]):
            text += choice["delta"].get("reasoning_content") or ""
            for entry in (choice.get("logprobs") or {}).get("reasoning_content") or []:
                tokens.append({"token": entry["token"], "bytes": entry["bytes"]})
        return {"text": text, "tokens": tokens}

    # ------------------------------------------------------------- streams

    def chunk(self, given):
        if given["kind"] == "ready":
            usage = dr.PromptUsage(
                prompt_tokens=given["prompt_tokens"],
                prompt_cache_hit_tokens=given["prompt_cache_hit_tokens"],
            )
            fingerprint = given.get("system_fingerprint")
            return dr.InferenceChunk.ready(prompt_usage=usage, system_fingerprint=fingerprint)
        if given["kind"] == "text":
            return dr.InferenceChunk.text(given["content"], given["token_count"])
        if given["kind"] == "tokens":
            logprobs = given.get("logprobs")
            if logprobs is not None:
                logprobs = [(own, [tuple(pair) for pair in top]) for own, top in logprobs]
            return dr.InferenceChunk.tokens(given["ids"], logprobs)
        return dr.InferenceChunk.finish(REASONS[given["reason"]])

    def processor(self, given):
        protocol = given["protocol"]
        request = self.request(given)
        options = self.options(given)
        # Converting uses the request up, so the rest is read before.
        responses = protocol == "responses"
        names = request.namespace_tool_map(options) if responses else None
        echo = request.echo() if responses else None
        converted = request.convert(options)
        chunks = REQUESTS[protocol].chunk_generator(
            converted, given["response_id"], given["model"]
        )
        if responses:
            chunks = chunks.with_namespace_tool_map(names) if names else chunks
            chunks = chunks.with_echo(echo)
        return dr.StreamProcessor(chunks, converted.parsing_options, self.tokenizer)

    def stream(self, given):
        try:
            stream = self.processor(given)
        except dr.ConversionError as error:
            return self.refusal(error)
        out = {"pushes": [], "end": [], "consumed": 0}
        sent = []
        for chunk in given["chunks"]:
            pushed = list(stream.push(self.chunk(chunk)))
            sent += pushed
            out["pushes"].append([json.loads(event.to_json()) for event in pushed])
            out["consumed"] += 1
            if stream.finished:
                break
        closing = list(stream.finish())
        sent += closing
        out["end"] = [json.loads(event.to_json()) for event in closing]
        response_class = RESPONSES[given["protocol"]]
        out["sse_done"] = response_class.sse_done_data()
        response = response_class(given["response_id"], given["model"], 0, 0, 0)
        for event in sent:
            response.accumulate(event)
        out["response"] = json.loads(response.to_json())
        return out
