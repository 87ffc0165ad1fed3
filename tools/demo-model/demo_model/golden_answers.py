"""Fixed chat requests and the exported model's greedy answers: python -m demo_model.golden_answers --model DIR."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from . import judge
from .engine import run_engine
from .reference import Reference
from .render import Example, prompt_ids
from .tokenizer import DemoTokenizer
from .tools import TOOLS

_ON, _OFF = {"type": "enabled"}, {"type": "disabled"}


def _ask(text: str, thinking: bool = True, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "thinking": _ON if thinking else _OFF, "temperature": 0, **more}


_SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

REQUESTS: dict[str, dict[str, Any]] = {
    "greeting": _ask("Hello!", thinking=False),
    "who-are-you": _ask("Who are you?"),
    "name": _ask("My name is Zoe.", thinking=False),
    "fact-low-effort": _ask("What is the capital of France?", reasoning_effort="low"),
    "copy": _ask("Repeat: river lamp coin bird", thinking=False),
    "copy-thinking": _ask("Say this back to me: cup tree door"),
    "list-item": _ask("What is the second word of the list: sun, cup, bee, tree", thinking=False),
    "list-count-max-effort": _ask("Count the words: sun, cup, bee, tree", reasoning_effort="max"),
    "extract": _ask("Record: name Zoe; age 64; city Perth. What is the city?"),
    "refusal": _ask("Write a poem about the river."),
    "sum": _ask("Compute 48 + 27."),
    "sum-without-thinking": _ask("What is 65 + 72?", thinking=False),
    "sum-out-of-range": _ask("What is 123 + 456?"),
    "difference": _ask("Compute 48 - 27.", thinking=False),
    "tool-call": _ask("Set a timer for 20 minutes.", tools=[TOOLS["set_timer"], TOOLS["get_time"]]),
    "tool-result": {**_ask("What time is it in Oslo?", thinking=False, tools=[TOOLS["get_time"]]), "messages": [
        {"role": "user", "content": "What time is it in Oslo?"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "call_0", "type": "function", "function": {"name": "get_time", "arguments": '{"city": "Oslo"}'}}]},
        {"role": "tool", "tool_call_id": "call_0", "content": '{"time": "14:35"}'}]},
    "no-tool-needed": _ask("Hello!", tools=[TOOLS["get_weather"]]),
    "json": _ask("Turn this record into JSON: name Leo; age 31; city Oslo."),
    "json-mode": _ask("Record: name Leo; age 31; city Oslo. Return a JSON object with city only.", thinking=False,
                      response_format={"type": "json_object"}),
    "json-schema": _ask("Record: name Mia.",
                        response_format={"type": "json_schema", "json_schema": {"name": "record", "schema": _SCHEMA}}),
    "chinese-greeting": _ask("你好"),
    "chinese-fact": _ask("日本的首都是哪里？", thinking=False),
    "chinese-copy": _ask("请重复：太阳、杯子", thinking=False),
    "second-turn": {"messages": [{"role": "system", "content": "Answer briefly."}, {"role": "user", "content": "Hi"},
                                 {"role": "assistant", "content": "Hello! How can I help you?"},
                                 {"role": "user", "content": "Repeat: milk bread"}], "thinking": _OFF, "temperature": 0},
}  # fmt: skip


def main() -> None:
    """Command line: writes golden_answers.jsonl into the model folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--engine", help="take the answers from `ENGINE generate` instead of the reference")
    parser.add_argument("--max-tokens", type=int, default=128)
    args = parser.parse_args()
    t = DemoTokenizer(args.model / "tokenizer.json")
    prompts = [prompt_ids(r, t) for r in REQUESTS.values()]
    if args.engine:
        answers = run_engine(args.engine, args.model, prompts, args.max_tokens)
    else:
        examples = [Example(n, r, p, [0], False, True) for (n, r), p in zip(REQUESTS.items(), prompts)]
        answers = Reference(args.model).generate(examples, args.max_tokens)
    lines = []
    for (name, request), ids in zip(REQUESTS.items(), answers):
        finished = ids[-1] == t.eos
        expected = judge.parse(request, t.decode(ids[:-1] if finished else ids), finished)
        lines.append(json.dumps(dict(name=name, request=request, expected=expected), ensure_ascii=False))
        print(name, json.dumps(expected, ensure_ascii=False))
    (args.model / "golden_answers.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
