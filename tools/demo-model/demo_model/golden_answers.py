"""Fixed chat requests and the exported model's greedy answers: python -m demo_model.golden_answers --model DIR."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from . import judge
from .reference import Reference
from .render import Example, prompt_ids
from .tools import TOOLS

_ON, _OFF = {"type": "enabled"}, {"type": "disabled"}


def _ask(text: str, thinking: bool = True, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "thinking": _ON if thinking else _OFF, "temperature": 0, **more}


def _weather_result() -> dict[str, Any]:
    call = {"id": "call_0", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
    messages = [
        {"role": "user", "content": "What is the weather in Oslo?"},
        {"role": "assistant", "content": "", "reasoning_content": "I call get_weather.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_0", "content": '{"sky": "rainy", "degrees": 7}'},
    ]
    return {"messages": messages, "thinking": _ON, "temperature": 0, "tools": [TOOLS["get_weather"], TOOLS["set_timer"]]}


_SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}

REQUESTS: dict[str, dict[str, Any]] = {
    "greeting": _ask("Hello!", thinking=False),
    "who-are-you": _ask("Who are you?"),
    "addition-thinking": _ask("Compute 48 + 27."),
    "subtraction-plain": _ask("What is 53 - 18?", thinking=False),
    "low-effort": _ask("What is the capital of France?", reasoning_effort="low"),
    "copy": _ask("Repeat: river lamp coin bird", thinking=False),
    "list-count": _ask("Count the words: sun, cup, bee, tree", reasoning_effort="max"),
    "extract": _ask("Record: name Zoe; age 64; city Perth. What is the city?"),
    "tool-call": _ask("Set a timer for 20 minutes.", tools=[TOOLS["set_timer"], TOOLS["get_time"]]),
    "tool-result": _weather_result(),
    "tool-plain": _ask("Play some jazz.", thinking=False, tools=[TOOLS["play_music"]]),
    "json-object": _ask("Record: name Leo; age 31; city Rome. Return a JSON object with city, name.", thinking=False,
                        response_format={"type": "json_object"}),
    "json-schema": _ask("Record: color red; name Mia; age 25.",
                        response_format={"type": "json_schema", "json_schema": {"name": "record", "schema": _SCHEMA}}),
    "refusal": _ask("Write a poem about the river."),
    "chinese-greeting": _ask("你好"),
    "chinese-sum": _ask("36 + 7等于多少？"),
    "system-prompt": {"messages": [{"role": "system", "content": "Answer briefly."}, {"role": "user", "content": "Hi"},
                                   {"role": "assistant", "content": "Hello! How can I help you?"},
                                   {"role": "user", "content": "What is 12 + 30?"}], "thinking": _OFF, "temperature": 0},
}  # fmt: skip


def main() -> None:
    """Command line: writes golden_answers.jsonl into the model folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    args = parser.parse_args()
    reference = Reference(args.model)
    t = reference.tokenizer
    examples = [Example(name, r, prompt_ids(r, t), [0], False, True) for name, r in REQUESTS.items()]
    lines = []
    for (name, request), ids in zip(REQUESTS.items(), reference.generate(examples, 200)):
        finished = ids[-1] == t.eos
        expected = judge.parse(request, t.decode(ids[:-1] if finished else ids), finished)
        lines.append(json.dumps(dict(name=name, request=request, expected=expected), ensure_ascii=False))
        print(name, json.dumps(expected, ensure_ascii=False))
    (args.model / "golden_answers.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
