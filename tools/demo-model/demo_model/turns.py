"""What one exchange is, before it is rendered."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, field
from typing import Any, Callable


@dataclass
class Turn:
    """A user turn and the answer to it.

    With thinking on, the answer is `reasoning` and then `answer`. With thinking off, `work` (if any) precedes
    `answer` in the visible text, so that both modes compute in the same way.
    """

    user: str
    answer: str
    work: str = ""
    thought: str = ""  # short reasoning where there is nothing to work out
    key: str = ""  # identifies the content, for the held-out split; empty = not held out
    call: tuple[str, dict[str, Any]] | None = None  # a tool call instead of (or after) text
    result: str = ""  # what the tool returns
    after: str = ""  # answer after the result

    def reasoning(self) -> str:
        """The thinking text."""
        return self.work or self.thought

    def content(self, thinking: bool) -> str:
        """The visible text."""
        return self.answer if thinking or not self.work else f"{self.work} {self.answer}"


@dataclass
class Chat:
    """A document: turns, and everything of the request around them."""

    skill: str
    turns: list[Turn]
    thinking: bool = True
    effort: str | None = None
    system: str | None = None
    tools: list[dict[str, Any]] = field(default_factory=list)
    tool_choice: str = "auto"
    response_format: dict[str, Any] | None = None
    repeat: str = ""  # raw text instead of a chat (first phase only)


Skill = Callable[[random.Random], Turn]


def held_out(key: str) -> bool:
    """One content in ten is never trained on."""
    return bool(key) and zlib.crc32(key.encode()) % 10 == 0


def sample(rng: random.Random, skill: Skill, held: bool | None) -> Turn:
    """A turn of the wanted side of the split (None: either; keyless contents are on both sides)."""
    while True:
        turn = skill(rng)
        if held is None or not turn.key or held_out(turn.key) == held:
            return turn
