"""Draws inputs of every kind of `deepinfer-cli recipe` from a seed.

Most requests are sensible, some have a member that is not: both sides must then refuse alike.
"""

import json
import random

MODELS = ("DeepSeek-V4.1-Flash", "DeepSeek-V4-Pro")
WORDS = (
    "plain text", " ", "\n", "\n\n", "漢字かな", "🫠👩‍👩‍👧", "é", "a<b", "<think>", "</think>",
    "<｜User｜>", "｜DSML｜", "<｜image｜>", "{\"a\": 1}", "json", "\t\"quoted\" \\ /", "12345 6.75",
    "\u0001", "don't", "  two  spaces", "ﬁ¼", "\r\n", "```json\n", "x" * 40, "\ufffd",
)  # fmt: skip
ODD = (None, True, -1, 0, 3, 1e9, 2.5, "", "odd", [], {}, [None], {"type": "odd"})
VALUES = ("x", "", 1, -2.5, 1e-7, 1e20, True, None, [1, {"b": []}], {"c": "é\n"}, "</x>")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "ultra", "max")
SCHEMAS = (
    {"type": "object", "properties": {}},
    {"type": "object"},
    {"type": "object", "properties": {"a": {"type": "string", "enum": ["x", "é"]}},
     "required": ["a"], "additionalProperties": False},
    {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0},
     "l": {"type": "array", "items": {"type": "number"}}}, "required": ["n", "l"]},
    {"type": "object", "properties": {"u": {"anyOf": [{"type": "null"}, {"type": "string"}]}}},
    {"type": "object", "properties": {"p": {"type": "string", "pattern": "^[a-z]+$"}}},
    {"type": "object", "properties": {"bad": {"type": "no such type"}}},
    {"type": "array", "items": {}},
    {},
)  # fmt: skip


class Drawing:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, values):
        return self.random.choice(values)

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def maybe(self, percent, members):
        """`members` (values are drawn lazily), each with this chance."""
        return {name: draw() for name, draw in members.items() if self.chance(percent)}

    def text(self, most=5):
        return "".join(self.one(WORDS) for _ in range(self.random.randint(1, most)))

    def name(self):
        return self.one(("f", "get_weather", "a-b_c", "g2"))

    def arguments(self):
        if self.chance(15):
            return self.one(("", "{", "[1]", "\"s\"", "not json", "{\"a\":1,\"a\":2}"))
        keys = [self.one(("a", "b c", "é", "\"q\"", "n")) for _ in range(self.random.randrange(4))]
        spaced = {} if self.chance(50) else {"separators": (",", ":")}
        return json.dumps({key: self.one(VALUES) for key in keys}, ensure_ascii=False, **spaced)

    def spoiled(self, body):
        """Sometimes with one member, at any depth, that it should not have."""
        if not self.chance(12):
            return body
        place = body
        while isinstance(place, (dict, list)) and place:
            key = self.one(list(place)) if isinstance(place, dict) else self.random.randrange(len(place))
            if not isinstance(place[key], (dict, list)) or not place[key] or self.chance(40):
                place[key] = self.one(ODD)
                return body
            place = place[key]
        return body

    def sampling(self):
        return self.maybe(25, {
            "temperature": lambda: self.one((0, 0.3, 1, 2, 2.5)),
            "top_p": lambda: self.one((0.01, 0.5, 0.95, 1, 0, 1.1)),
            "stream": lambda: self.one((True, False)),
        })  # fmt: skip

    # ------------------------------------------------------------- chat

    def chat_tool(self):
        function = {"name": self.name()} | self.maybe(70, {
            "description": lambda: self.text(3),
            "parameters": lambda: self.one(SCHEMAS),
        })  # fmt: skip
        function |= self.maybe(20, {"strict": lambda: self.one((True, False))})
        return {"type": "function", "function": function}

    def tools(self, draw):
        named = {}
        for _ in range(self.random.randint(1, 3)):
            tool = draw()
            named[tool.get("name") or tool["function"]["name"]] = tool
        return list(named.values()) + ([draw()] if self.chance(5) else [])

    def chat_content(self):
        if self.chance(70):
            return self.text()
        parts = [{"type": "text", "text": self.text(3)} for _ in range(self.random.randint(1, 3))]
        if self.chance(20):
            url = self.one(("https://a.b/c.png", "data:image/png;base64,AAAA", "ftp://x"))
            parts.append({"type": "image_url", "image_url": {"url": url}})
        return parts

    def chat_turn(self, number):
        """A user message and what followed it."""
        turn = [{"role": "user", "content": self.chat_content()}]
        if self.chance(60):
            answer = {"role": "assistant", "content": self.text()}
            answer |= self.maybe(50, {"reasoning_content": self.text})
            turn.append(answer)
            if self.chance(40):
                ids = [f"call_{number}_{i}" for i in range(self.random.randint(1, 3))]
                answer["tool_calls"] = [
                    {"id": i, "type": "function",
                     "function": {"name": self.name(), "arguments": self.arguments()}}
                    for i in ids
                ]  # fmt: skip
                self.random.shuffle(ids)
                turn += [{"role": "tool", "tool_call_id": i, "content": self.text(3)} for i in ids]
        if self.chance(10):
            turn.append({"role": self.one(("system", "latest_reminder")), "content": self.text(2)})
        return turn

    def chat_format(self):
        schema = {"name": "n", "schema": self.one(SCHEMAS), "strict": self.one((True, False))}
        return self.one((
            {"type": "text"}, {"type": "json_object"},
            {"type": "json_schema", "json_schema": schema},
            {"type": "regex", "regex": "[a-z]+"},
        ))  # fmt: skip

    def chat(self):
        turns = [m for i in range(self.random.randint(1, 4)) for m in self.chat_turn(i)]
        if self.chance(40):
            turns.insert(0, {"role": "system", "content": self.text()})
        if self.chance(8):
            turns.append({"role": "assistant", "content": self.text(2), "prefix": True})
        body = {"model": self.one(MODELS), "messages": turns} | self.sampling()
        body |= self.maybe(40, {"tools": lambda: self.tools(self.chat_tool)})
        return body | self.maybe(18, {
            "thinking": lambda: {"type": self.one(("enabled", "disabled"))},
            "reasoning_effort": lambda: self.one(EFFORTS),
            "response_format": self.chat_format,
            "stop": lambda: self.one(("STOP", ["\n\n", "é"], [], ["a"] * 17)),
            "max_tokens": lambda: self.one((1, 4096, 400000, 0)),
            "tool_choice": lambda: self.one(
                ("auto", "none", "required", {"type": "function", "function": {"name": "f"}})),
            "logprobs": lambda: self.one((True, False)),
            "top_logprobs": lambda: self.one((0, 5, 21)),
            "n": lambda: self.one((1, 2)),
            "seed": lambda: self.one((0, 7, 2**63)),
            "stream_options": lambda: {"include_usage": self.one((True, False))},
            "presence_penalty": lambda: self.one((0, 1.5, 3)),
        })  # fmt: skip

    # ------------------------------------------------------------- messages

    def messages_tool(self):
        tool = {"name": self.name(), "input_schema": self.one(SCHEMAS)}
        return tool | self.maybe(40, {"description": lambda: self.text(3)})

    def messages_turn(self, number):
        user = {"role": "user", "content": self.text()}
        if self.chance(30):
            user["content"] = [{"type": "text", "text": self.text(3)} for _ in range(2)]
        if not self.chance(60):
            return [user]
        blocks = [{"type": "text", "text": self.text()}]
        if self.chance(50):
            blocks.insert(0, {"type": "thinking", "thinking": self.text(), "signature": "s"})
        turn = [user, {"role": "assistant", "content": blocks}]
        if self.chance(40):
            ids = [f"toolu_{number}_{i}" for i in range(self.random.randint(1, 2))]
            given = {"a": self.one(VALUES), "é": self.one(VALUES)}
            blocks += [{"type": "tool_use", "id": i, "name": self.name(), "input": given} for i in ids]
            results = [{"type": "tool_result", "tool_use_id": i, "content": self.text(2)} for i in ids]
            turn.append({"role": "user", "content": results + [{"type": "text", "text": "go on"}]})
        return turn

    def messages(self):
        turns = [m for i in range(self.random.randint(1, 3)) for m in self.messages_turn(i)]
        body = {"model": self.one(MODELS), "max_tokens": self.one((1, 1000, 500000)), "messages": turns}
        body |= self.sampling() | self.maybe(40, {
            "system": lambda: self.one((self.text(), [{"type": "text", "text": self.text()}])),
            "tools": lambda: self.tools(self.messages_tool),
        })  # fmt: skip
        return body | self.maybe(18, {
            "thinking": lambda: self.one(
                ({"type": "enabled", "budget_tokens": 1024}, {"type": "disabled"})),
            "stop_sequences": lambda: self.one((["STOP"], ["\n"], [])),
            "tool_choice": lambda: self.one(
                ({"type": "auto"}, {"type": "any"}, {"type": "none"}, {"type": "tool", "name": "f"})),
            "top_k": lambda: self.one((1, 50)),
            "metadata": lambda: {"user_id": "u"},
        })  # fmt: skip

    # ------------------------------------------------------------- responses

    def responses_tool(self):
        tool = {"type": "function", "name": self.name(), "parameters": self.one(SCHEMAS)}
        return tool | self.maybe(40, {
            "description": lambda: self.text(3),
            "strict": lambda: self.one((True, False)),
        })  # fmt: skip

    def responses_turn(self, number):
        turn = [{"type": "message", "role": "user", "content": self.text()}]
        if self.chance(30):
            turn[0]["content"] = [{"type": "input_text", "text": self.text()}]
        if self.chance(60):
            if self.chance(40):
                content = [{"type": "reasoning_text", "text": self.text()}]
                turn.append({"type": "reasoning", "id": "rs", "summary": [], "content": content})
            answer = [{"type": "output_text", "text": self.text(), "annotations": []}]
            turn.append({"type": "message", "role": "assistant", "content": answer})
            if self.chance(40):
                call = {"call_id": f"c{number}"}
                turn.append({"type": "function_call", "name": self.name(),
                             "arguments": self.arguments()} | call)  # fmt: skip
                turn.append({"type": "function_call_output", "output": self.text(2)} | call)
        return turn

    def responses(self):
        items = [i for n in range(self.random.randint(1, 3)) for i in self.responses_turn(n)]
        body = {"model": self.one(MODELS), "input": self.text() if self.chance(25) else items}
        body |= self.sampling() | self.maybe(40, {
            "instructions": self.text,
            "tools": lambda: self.tools(self.responses_tool),
        })  # fmt: skip
        schema = {"type": "json_schema", "name": "n", "schema": self.one(SCHEMAS)}
        return body | self.maybe(18, {
            "reasoning": lambda: {"effort": self.one(EFFORTS)},
            "text": lambda: {"format": self.one(({"type": "text"}, {"type": "json_object"}, schema))},
            "max_output_tokens": lambda: self.one((1, 5000, 500000)),
            "tool_choice": lambda: self.one(("auto", "none", "required", {"type": "function", "name": "f"})),
            "top_logprobs": lambda: self.one((0, 3)),
            "user": lambda: "u",
        })  # fmt: skip

    def request(self, protocol, spoil=True):
        body = getattr(self, protocol)()
        body = self.spoiled(body) if spoil else body
        given = {"body": body}
        if spoil and self.chance(3):
            text = json.dumps(body, ensure_ascii=False)
            at = self.random.randrange(len(text))
            given = {"body_text": text[:at] + self.one(("", "\u0001", ",", "1e999")) + text[at + 1 :]}
        options = self.maybe(10, {
            "default_thinking_mode": lambda: self.one((True, False)),
            "reasoning_content_behavior": lambda: self.one(("fill_empty", "reject")),
        })  # fmt: skip
        return given | ({"options": options} if options else {})

    # ------------------------------------------------------------- prompts

    def declared_tool(self):
        return {"name": self.name(), "description": self.one((None, "", self.text(2))),
                "parameters": self.one(SCHEMAS), "strict": self.one((None, True, False))}  # fmt: skip

    def conversation(self):
        messages = []
        for number in range(self.random.randint(1, 4)):
            messages.append({"role": "user", "content": self.text()})
            if self.chance(15):
                messages.append({"role": self.one(("latest_reminder", "system")), "content": self.text(2)})
            if self.chance(60):
                answer = {"role": "assistant", "content": self.text(3),
                          "reasoning_content": self.one((None, "", self.text()))}  # fmt: skip
                messages.append(answer)
                if self.chance(40):
                    ids = [f"c{number}{i}" for i in range(self.random.randint(1, 3))]
                    answer["tool_calls"] = [
                        {"id": i, "name": self.name(), "arguments": self.arguments()} for i in ids
                    ]
                    messages += [{"role": "tool", "content": self.text(2), "tool_call_id": i} for i in ids]
        if self.chance(40):
            messages.insert(0, {"role": "system", "content": self.text()})
        if self.chance(10):
            messages.append({"role": "assistant", "content": self.text(2), "reasoning_content": None,
                             "prefix": True})  # fmt: skip
        tools = [self.declared_tool() for _ in range(self.one((0, 0, 1, 2)))]
        return {"messages": messages, "thinking_mode": self.one((True, False)), "tools": tools,
                "tool_choice": self.one(("auto", "auto", "none", "required")),
                "reasoning_effort": self.one((None, None, "low", "high", "xhigh", "max")),
                "response_format": self.one(("text", "text", "json_object", "json_schema")),
                "response_schema": self.one(SCHEMAS)}  # fmt: skip

    # ------------------------------------------------------------- output

    def call_text(self, space):
        """A block of calls; `space` is what the encoding writes behind the mark."""
        mark = "｜DSML｜" + space
        block = "calls" if space else "tool_calls"
        out = f"\n\n<{mark}{block}>\n"
        for _ in range(self.random.randint(1, 2)):
            out += f'<{mark}invoke name="{self.name()}">\n'
            for key in self.random.sample(("a", "b", "é"), self.random.randrange(3)):
                text = self.chance(60)
                value = self.text(3) if text else json.dumps(self.one(VALUES), ensure_ascii=False)
                out += f'<{mark}parameter name="{key}" string="{str(text).lower()}">{value}</{mark}parameter>\n'
            out += f"</{mark}invoke>\n"
        return out + f"</{mark}{block}>"

    def output_text(self, space):
        out = self.text() + self.one(("", "\n", "\n\n")) + "</think>" if self.chance(60) else ""
        out += self.one(("", "\n\n")) + self.text()
        if self.chance(15):
            out = out + "STOP" + self.text(2)
        if self.chance(15):
            out += self.one(('{"a": [1, "}"]}', '```json\n{"k": "v"}\n```', "[1, 2"))
        if self.chance(45):
            out += self.call_text(space)
        return out[: self.random.randrange(len(out))] if self.chance(15) else out

    def chunks(self, space, tokenizer, with_logprobs):
        text = self.output_text(space)
        chunks = [{"kind": "ready", "prompt_tokens": 20, "prompt_cache_hit_tokens": self.one((0, 5))}]
        if self.chance(20):
            most = self.one((1, 4, 40))
            while text:
                n = self.random.randint(1, most)
                chunks.append({"kind": "text", "content": text[:n], "token_count": 1})
                text = text[n:]
        else:
            chunks += self.token_chunks(tokenizer.encode(text), with_logprobs)
        if self.chance(90):
            reason = self.one(("stop", "stop", "stop", "length", "content_filter"))
            chunks.append({"kind": "finish", "reason": reason})
        return chunks

    def token_chunks(self, ids, with_logprobs):
        chunks, most = [], self.one((1, 1, 3, 8))
        if self.chance(10) and ids:
            ids.insert(self.random.randrange(len(ids)), self.random.randrange(1000))
        while ids:
            n = self.random.randint(1, most)
            chunk = {"kind": "tokens", "ids": ids[:n]}
            if with_logprobs:
                own = [-self.random.randrange(64) / 8 for _ in ids[:n]]
                chunk["logprobs"] = [[p, [[i, p], [0, -9.5]]] for i, p in zip(ids, own)]
            chunks.append(chunk)
            ids = ids[n:]
        return chunks

    def stream(self, protocol, tokenizer):
        given = self.request(protocol, spoil=False) | {"protocol": protocol}
        body = given["body"]
        body["stream"] = True
        logprobs = protocol == "chat" and body.get("logprobs") is True
        format_ = body.get("response_format") or (body.get("text") or {}).get("format") or {}
        return given | {
            "response_id": "id-1", "model": "m",
            "json_output": format_.get("type") == "json_object",
            "chunks": self.chunks(" " if body["model"] == MODELS[0] else "", tokenizer, logprobs),
        }  # fmt: skip

    def input(self, kind, tokenizer):
        protocol, _, what = kind.partition("-")
        if what == "convert":
            return self.request(protocol)
        if what == "stream":
            return self.stream(protocol, tokenizer)
        if kind == "max-tokens":
            protocol = self.one(("chat", "messages", "responses"))
            return self.request(protocol, spoil=False) | {
                "protocol": protocol,
                "prompt_tokens": self.one((1, 100, 9000, 200000)),
                "context_limit": self.one((50, 8192, 131072, 1048576)),
            }
        if kind in ("render", "encode"):
            return {"encoding": self.one(("v4", "v4.1")), "conversation": self.conversation()}
        if kind == "tokenize":
            return {"text": self.text(12), "mode": self.one(("full", "plain"))}
        ids = tokenizer.encode(self.text(6)) + [self.random.randrange(127000) for _ in range(4)]
        self.random.shuffle(ids)
        markers = (128822, 128825)  # </think> and DSML, which a stream of reasoning takes for markup
        return {"ids": [i for i in ids if i not in markers]}
