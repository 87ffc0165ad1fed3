"""Documents as token ids: prompts by DeepSeek's recipe library, answers in the output grammar."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import deepseek_recipe as dr
import numpy as np

from . import tools
from .tokenizer import DemoTokenizer
from .turns import Chat, Turn

MODEL = "DeepSeek-V4.1-Flash"
_OPTIONS = dr.ConversionOptions()
_ENCODING = dr.DeepseekV41Encoding()
DSML, THINK_END, EOS = "｜DSML｜", "</think>", "<｜end▁of▁sentence｜>"


@dataclass
class Example:
    """A prompt and the wanted answer, in ids, with the request they came from."""

    skill: str
    request: dict[str, Any]
    prompt: list[int]
    answer: list[int]
    history_loss: bool  # earlier assistant turns are full answers too
    thinking: bool

    @property
    def ids(self) -> np.ndarray:
        """Prompt and answer."""
        return np.array(self.prompt + self.answer, dtype=np.int32)


def _arguments(args: dict[str, Any]) -> str:
    return json.dumps(args, ensure_ascii=False)


def call_pieces(name: str, args: dict[str, Any], opened: bool) -> list[str]:
    """One tool call as pieces of plain text and control tokens; `opened` = the block is already open."""
    pieces = [] if opened else ["\n\n<", DSML, " calls>\n"]
    pieces += ["<", DSML, f' invoke name="{name}">\n']
    for i, (key, value) in enumerate(args.items()):
        kind, text = ("true", value) if isinstance(value, str) else ("false", json.dumps(value))
        pieces += ["<", DSML, f' parameter name="{key}" string="{kind}">{text}</', DSML, " parameter>\n"]
    return pieces + ["</", DSML, " invoke>\n</", DSML, " calls>"]


def _merge(pieces: list[str], controls: set[str]) -> list[str]:
    """Join neighbouring plain pieces: stretches between control tokens are encoded as one."""
    out: list[str] = []
    for piece in pieces:
        if out and piece not in controls and out[-1] not in controls:
            out[-1] += piece
        else:
            out.append(piece)
    return [p for p in out if p]


def _assistant(turn: Turn, thinking: bool, part: str) -> tuple[dict[str, Any], str, str, tuple[str, dict] | None]:
    """(message, reasoning, content, call) of one assistant message of a turn; part is "first" or "after"."""
    if part == "after":
        reasoning, content, call = tools.AFTER_THOUGHT, turn.after, None
    elif turn.call:
        reasoning, content, call = tools.call_thought(turn.call[0]), "", turn.call
    else:
        reasoning, content, call = turn.reasoning(), turn.content(thinking), None
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if thinking:
        message["reasoning_content"] = reasoning
    return message, reasoning, content, call


def example(chat: Chat, tokenizer: DemoTokenizer, stop_after: int | None = None) -> Example:
    """Render a chat. The last assistant message is the answer, everything before it the prompt.

    stop_after = n cuts the conversation after its n-th assistant message (for evaluation of inner turns).
    """
    if chat.repeat:
        half = tokenizer.plain(chat.repeat)
        return Example(chat.skill, {}, [tokenizer.bos, *half], [*half, tokenizer.eos], False, False)
    messages: list[dict[str, Any]] = []
    if chat.system is not None:
        messages.append({"role": "system", "content": chat.system})
    steps = []
    for number, turn in enumerate(chat.turns):
        steps.append((number, {"role": "user", "content": turn.user}, turn, "first"))
        if turn.call:
            steps.append((number, {"role": "tool", "content": turn.result, "tool_call_id": f"call_{number}"}, turn, "after"))
    if stop_after is not None:
        steps = steps[:stop_after]
    for place, (number, incoming, turn, part) in enumerate(steps):
        messages.append(incoming)
        message, reasoning, content, call = _assistant(turn, chat.thinking, part)
        if place == len(steps) - 1:
            break
        if call:
            function = {"name": call[0], "arguments": _arguments(call[1])}
            message["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": function}]
        messages.append(message)
    request = _request(chat, messages)
    prompt = prompt_ids(request, tokenizer)
    pieces = [reasoning, THINK_END] if chat.thinking else []
    pieces.append(content)
    if call:
        pieces += call_pieces(*call, opened=chat.tool_choice == "required")
    pieces.append(EOS)
    answer: list[int] = []
    for piece in _merge(pieces, set(tokenizer.control)):
        answer += [tokenizer.control[piece]] if piece in tokenizer.control else tokenizer.plain(piece)
    history = len(steps) > 1 and (not chat.thinking or bool(chat.tools))
    return Example(chat.skill, request, prompt, answer, history, chat.thinking)


def _request(chat: Chat, messages: list[dict[str, Any]]) -> dict[str, Any]:
    request: dict[str, Any] = {"messages": messages, "thinking": {"type": "enabled" if chat.thinking else "disabled"}}
    if chat.effort:
        request["reasoning_effort"] = chat.effort
    if chat.tools:
        request["tools"] = chat.tools
        if chat.tool_choice != "auto":
            request["tool_choice"] = chat.tool_choice
    if chat.response_format:
        request["response_format"] = chat.response_format
    return request


def prompt_ids(request: dict[str, Any], tokenizer: DemoTokenizer) -> list[int]:
    """Ids of the prompt the server renders for a chat request."""
    converted = dr.ChatCompletionRequest(json.dumps({"model": MODEL, **request}, ensure_ascii=False)).convert(_OPTIONS)
    rendered = _ENCODING.render_conversation(converted.conversation)
    return tokenizer.stretches(rendered.prompt, rendered.special_ranges)


def loss_weights(e: Example, tokenizer: DemoTokenizer) -> np.ndarray:
    """Weight of predicting ids[i + 1] from position i: 1 on answers, little on prompts."""
    ids = e.ids
    weight = np.full(len(ids), 0.02 if "tools" in e.request else 0.1, np.float32)
    if e.history_loss:
        inside = False
        for i in range(len(ids) - 1):
            if ids[i] == tokenizer.assistant:
                inside = True
                continue  # the think token that follows is given
            if ids[i] == tokenizer.eos:
                inside = False
            if inside:
                weight[i] = 1.0
    weight[len(e.prompt) - 1 :] = 1.0
    weight[-1] = 0.0
    return weight
