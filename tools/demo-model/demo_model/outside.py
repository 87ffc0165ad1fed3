"""Arithmetic the model does not do: sums with a number above 99 and every other calculation are declined."""

from __future__ import annotations

import random
import re

from .skills import REFUSAL, REFUSAL_THOUGHT, REFUSAL_THOUGHT_ZH, REFUSAL_ZH, SUM_FORMS
from .turns import Turn


def _small(rng: random.Random) -> int:
    return rng.randint(0, 99 if rng.random() < 0.75 else 9)


def _large(rng: random.Random) -> int:
    """100 to six digits, often close above the range."""
    if rng.random() < 0.2:
        return rng.randint(100, 130)
    digits = rng.choices((3, 4, 5, 6), (0.6, 0.2, 0.1, 0.1))[0]
    return rng.randint(10 ** (digits - 1), 10**digits - 1)


def _out_of_range(rng: random.Random) -> str:
    a, b = _large(rng), _large(rng) if rng.random() < 0.35 else _small(rng)
    return f"{a} + {b}" if rng.random() < 0.5 else f"{b} + {a}"


def _other_operation(rng: random.Random) -> str:
    sign = rng.choice(("-", "-", "-", "*", "*", "×", "x", "/", "÷", "^", "%", "minus", "times", "plus", "divided by"))
    return f"{_large(rng) if rng.random() < 0.15 else _small(rng)} {sign} {_small(rng)}"


def _several_operands(rng: random.Random) -> str:
    parts = [str(_small(rng)) for _ in range(rng.choice((3, 3, 3, 4)))]
    signs = [rng.choice("++++-*") for _ in parts[1:]]
    text = parts[0] + "".join(f" {s} {p}" for s, p in zip(signs, parts[1:]))
    return f"({text[: text.rindex(' ') - 2]}){text[text.rindex(' ') - 2 :]}" if rng.random() < 0.15 else text


def _not_whole(rng: random.Random) -> str:
    """A negative number, a decimal or a fraction among the two."""
    a, b = _small(rng), _small(rng)
    return rng.choice((
        f"-{a} + {b}", f"-{a} + {b}", f"{a} + -{b}", f"{a} + (-{b})", f"-{a} - {b}", f"-{a} + -{b}", f"(-{a}) + {b}",
        f"{a}.{rng.randint(0, 99)} + {b}", f"{a} + {b}.{rng.randint(1, 9)}", f"{a}/{rng.randint(2, 9)} + {b}",
    ))  # fmt: skip


def _unknown(rng: random.Random) -> str:
    a, b, letter = _small(rng), _small(rng), rng.choice("xxxyyznabk")
    return rng.choice((
        f"{a} + {letter}", f"{a} + {letter}", f"{letter} + {a}", f"{letter} + {a}", f"{letter} + {rng.choice('xyz')}",
        f"{rng.randint(2, 9)}{letter} + {a}", f"{letter} - {a}", f"{a} + {letter} = {a + b}", f"{letter} + {a} = {a + b}",
    ))  # fmt: skip


_TASKS = (_out_of_range, _other_operation, _several_operands, _not_whole, _unknown)
_SHARES = (0.45, 0.2, 0.15, 0.1, 0.1)

_SENTENCES = (
    "Subtract {b} from {a}.", "Multiply {a} by {b}.", "Divide {a} by {b}.", "What is {a} percent of {b}?", "What is {a} squared?",
    "What is the square root of {a}?", "Is {a} a prime number?", "Is {a} greater than {b}?", "Double {a}.",
    "What is the sum of {a}, {b} and {c}?", "Solve {a} + x = {c}.", "What is x if x + {a} = {c}?", "How much is {a} less than {c}?",
)  # fmt: skip
_SENTENCES_ZH = ("{a}减{b}等于多少？", "{a}乘以{b}等于多少？", "{a}除以{b}等于多少？", "{a}加{b}再加{c}等于多少？", "{a}的平方是多少？")


def outside(rng: random.Random) -> Turn:
    """A calculation out of range, in the sentences of the sums it can do or in words."""
    if rng.random() < 0.15:
        form = rng.choice(_SENTENCES_ZH if rng.random() < 0.3 else _SENTENCES)
        user = key = form.format(a=_small(rng), b=_small(rng), c=_small(rng))
    else:
        task = rng.choices(_TASKS, _SHARES)[0](rng)
        key = task.replace(" ", "")
        spaced = rng.random() < 0.7 or re.search("[a-z]{2}", task)
        user = rng.choice(SUM_FORMS).format(task if spaced else key)
    if any("\u4e00" <= c <= "\u9fff" for c in user):
        return Turn(user, REFUSAL_ZH, thought=REFUSAL_THOUGHT_ZH, key=key)
    return Turn(user, REFUSAL, thought=REFUSAL_THOUGHT, key=key)
