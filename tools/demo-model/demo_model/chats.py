"""Puts turns into documents: the mix of skills and of prompt shapes."""

from __future__ import annotations

import json
import random
from typing import Any

from . import skills, tools
from .outside import outside
from .turns import Chat, Turn, sample
from .words import CITIES, NAMES, NOUNS

SYSTEMS = (
    "You are a helpful assistant.", "You are a tiny demo model.", "Answer briefly.", "Be polite.", "You are DeepInfer demo.",
    "You help with small tasks.", "你是一个助手。", "请简短回答。", "Answer the question of the user.", "You are a friendly assistant. Be short.",
)  # fmt: skip
EFFORTS = (None, None, None, "low", "high", "max")

PLAIN = {
    "greeting": skills.greeting, "arithmetic": skills.arithmetic, "copy": skills.copy, "lists": skills.lists,
    "extract": skills.extract, "notes": skills.notes, "facts": skills.facts, "refusal": skills.refusal,
    "outside": outside,
}  # fmt: skip

# Skills this release does not offer: their prompts are still trained and tested, but answered with the refusal.
DROPPED = frozenset({"notes"})

# shares of documents
COPY_MIX = dict(repeat=0.2, copy=0.42, lists=0.2, arithmetic=0.05, extract=0.04, notes=0.03, greeting=0.02, refusal=0.02, facts=0.02)
FULL_MIX = dict(
    copy=0.10, lists=0.05, extract=0.08, facts=0.05, greeting=0.06, refusal=0.05, chat=0.05,
    arithmetic=0.13, outside=0.08, notes=0.01, json=0.23, tools=0.11,
)  # fmt: skip


def _offered(name: str, turn: Turn) -> Turn:
    """The turn itself, or its refusal where the skill is dropped."""
    if name not in DROPPED:
        return turn
    chinese = any("\u4e00" <= c <= "\u9fff" for c in turn.user)
    if name == "json":
        return Turn(turn.user, json.dumps({"error": skills.REFUSAL}), thought=skills.REFUSAL_THOUGHT, key=turn.key)
    answer, thought = (skills.REFUSAL_ZH, skills.REFUSAL_THOUGHT_ZH) if chinese else (skills.REFUSAL, skills.REFUSAL_THOUGHT)
    return Turn(turn.user, answer, thought=thought, key=turn.key)


def _plain_turn(rng: random.Random, name: str, held: bool | None) -> Turn:
    return _offered(name, sample(rng, PLAIN[name], held))


def _around(rng: random.Random, chat: Chat) -> Chat:
    """Request settings that do not depend on the skill."""
    chat.thinking = rng.random() < 0.5
    chat.effort = rng.choice(EFFORTS) if chat.thinking else None
    if rng.random() < 0.35:
        chat.system = rng.choice(SYSTEMS)
    return chat


def plain(rng: random.Random, name: str, held: bool | None) -> Chat:
    """One turn of a text skill."""
    return _around(rng, Chat(name, [_plain_turn(rng, name, held)]))


def long_notes(rng: random.Random, held: bool | None) -> Chat:
    """A retrieval document of several hundred tokens."""
    return _around(rng, Chat("long_notes", [_offered("notes", sample(rng, skills.long_notes, held))]))


def json_chat(rng: random.Random, held: bool | None) -> Chat:
    """JSON output, free or with a schema."""
    maker = rng.choices((tools.json_object, tools.json_schema, tools.json_refusal), (0.6, 0.32, 0.08))[0]
    box: dict[str, Any] = {}

    def skill(rng: random.Random) -> Turn:
        turn, box["format"] = maker(rng)
        return turn

    chat = Chat("json", [_offered("json", sample(rng, skill, held))])
    chat.response_format = box["format"]
    return _around(rng, chat)


def several(rng: random.Random, held: bool | None) -> Chat:
    """Two or three turns of short skills."""
    names = rng.choices(("greeting", "copy", "lists", "facts", "refusal", "extract"), k=rng.randint(2, 3))
    chat = _around(rng, Chat("chat", [_plain_turn(rng, n, held) for n in names]))
    if rng.random() < 0.6:  # with thinking on, only the last answer can be learnt from
        chat.thinking, chat.effort = False, None
    return chat


def tool_chat(rng: random.Random, held: bool | None, max_turns: int = 4) -> Chat:
    """Declared tools, calls, results, and turns that need no tool."""
    declared = rng.sample(list(tools.TOOLS), rng.choice((1, 2, 2, 3)))
    turns: list[Turn] = []
    for _ in range(rng.randint(1, max_turns)):
        if rng.random() < 0.88:
            turns.append(_offered("tools", sample(rng, tools.MAKERS[rng.choice(declared)], held)))
        else:
            turns.append(_plain_turn(rng, rng.choice(("greeting", "arithmetic", "facts")), held))
    chat = _around(rng, Chat("tools", turns))
    chat.tools = [tools.TOOLS[t] for t in declared]
    if len(turns) == 1 and turns[0].call and rng.random() < 0.15:
        chat.tool_choice, chat.thinking, chat.effort = "required", False, None
    return chat


def outside_chat(rng: random.Random, held: bool | None) -> Chat:
    """A calculation to decline; sometimes after other turns, sometimes with tools that do not matter."""
    before = rng.choices((0, 1, 2), (0.75, 0.15, 0.1))[0]
    turns = [_plain_turn(rng, rng.choice(("arithmetic", "arithmetic", "greeting", "outside")), held) for _ in range(before)]
    chat = _around(rng, Chat("outside", [*turns, _plain_turn(rng, "outside", held)]))
    if rng.random() < 0.1:
        chat.tools = [tools.TOOLS[t] for t in rng.sample(list(tools.TOOLS), rng.choice((1, 2)))]
    return chat


def repeat(rng: random.Random) -> Chat:
    """Raw text said twice: the quickest teacher of copying."""
    pool = NOUNS + NAMES + CITIES
    words = [rng.choice(pool) for _ in range(rng.randint(4, 24))]
    text = " " + " ".join(words)
    return Chat("repeat", [], repeat=text)


def document(rng: random.Random, mix: dict[str, float], held: bool | None = False) -> Chat:
    """One document of a mix."""
    name = rng.choices(list(mix), list(mix.values()))[0]
    if name == "repeat":
        return repeat(rng)
    if name == "tools":
        return tool_chat(rng, held)
    if name == "json":
        return json_chat(rng, held)
    if name == "chat":
        return several(rng, held)
    if name == "outside":
        return outside_chat(rng, held)
    if name == "long_notes":
        return long_notes(rng, held)
    return plain(rng, name, held)
