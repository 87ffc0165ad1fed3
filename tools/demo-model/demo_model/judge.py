"""Decides from the generated text whether an answer is right."""

from __future__ import annotations

import json
from typing import Any

import deepseek_recipe as dr

from .render import MODEL, Example

MASKED_ID = "call"


def parse(request: dict[str, Any], text: str, finished: bool) -> dict[str, Any]:
    """The chat answer (content, reasoning_content, tool_calls, finish_reason) of generated text, EOS excluded."""
    converted = dr.ChatCompletionRequest(json.dumps({"model": MODEL, **request}, ensure_ascii=False)).convert(dr.ConversionOptions())
    generator = dr.ChatCompletionRequest.chunk_generator(converted, "id", MODEL)
    processor = dr.StreamProcessor(generator, converted.parsing_options)
    reason = dr.InferenceFinishReason.Stop if finished else dr.InferenceFinishReason.Length
    chunks = []
    for chunk in (dr.InferenceChunk.ready(), dr.InferenceChunk.text(text, 1), dr.InferenceChunk.finish(reason)):
        if not processor.finished:
            chunks += processor.push(chunk)
    chunks += processor.finish()
    response = dr.ChatCompletionResponse("id", MODEL, 0, 0, 0)
    for chunk in chunks:
        response.accumulate(chunk)
    choice = json.loads(response.to_json())["choices"][0]
    message = choice["message"]
    out = {"content": message.get("content"), "finish_reason": choice["finish_reason"]}
    if message.get("reasoning_content"):
        out["reasoning_content"] = message["reasoning_content"]
    if message.get("tool_calls"):
        out["tool_calls"] = [
            {"name": c["function"]["name"], "arguments": c["function"]["arguments"]} for c in message["tool_calls"]
        ]
    return out


def _is_json(text: str | None) -> bool:
    try:
        return isinstance(json.loads(text or ""), dict)
    except ValueError:
        return False


def _calls(answer: dict[str, Any]) -> list[Any]:
    try:
        return [(c["name"], json.loads(c["arguments"])) for c in answer.get("tool_calls", [])]
    except ValueError:
        return [None]


def verdict(e: Example, got: dict[str, Any], want: dict[str, Any]) -> dict[str, bool]:
    """Which properties of an answer hold. `right` is what the skill is about, `exact` everything."""
    exact = got == want
    out = {"exact": exact, "stops": got["finish_reason"] != "length"}
    if e.skill == "tools":
        out["right"] = _calls(got) == _calls(want) and (bool(want.get("tool_calls")) or got["content"] == want["content"])
        out["call_well_formed"] = None not in _calls(got)
    elif e.skill == "json":
        out["json_valid"] = _is_json(got["content"])
        out["right"] = out["json_valid"] and json.loads(got["content"]) == json.loads(want["content"])
    elif e.skill == "arithmetic":
        out["right"] = exact  # the reasoning is part of the skill
    else:
        out["right"] = (got["content"] or "").strip() == (want["content"] or "").strip()
    return out
