"""Writes the model card from the measured numbers: python -m demo_model.card --model DIR --reference A.json [--engine B.json]."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from .chats import DROPPED
from .config import dims_from_config
from .formats import read_checkpoint
from .tools import TOOLS

NAMES = {
    "greeting": "greetings, names, who are you", "facts": "capitals of sixteen countries (others declined)",
    "refusal": "polite refusal of some dozens of other requests", "copy": "repeat one to six words or names, put words in quotes",
    "lists": "n-th word and count of a list", "extract": "one field of a record, also before a long text",
    "chat": "two- and three-turn chats", "arithmetic": "sums up to 99 + 99 with the working", "notes": "find a fact in sentences",
    "json": "a record of one to three fields as a JSON object, or one of its fields", "tools": "tool calls and answers from tool results",
    "all": "all these prompts", "outside": "beside them: other arithmetic and sums with a number above 99, right means declined",
}  # fmt: skip


def _percent(table: dict[str, Any], skill: str, key: str) -> str:
    entry = table.get(skill, {}).get(key)
    return f"{entry[0]:.1f}" if entry else ""


def results(reference: dict[str, Any], engine: dict[str, Any] | None) -> str:
    """The table of skills."""
    lines = ["| skill | prompts | right, reference | right, engine | stops by itself | drafts accepted of 5 |", "|---|---|---|---|---|---|"]
    table, other = reference["table"], (engine or {}).get("table", {})
    for skill in (s for s in NAMES if s in table):
        label = NAMES[skill] + (" — **not offered**: right means declined" if skill in DROPPED else "")
        drafts = reference["accepted_drafts"].get(skill, "")
        lines.append(
            f"| {label} | {table[skill]['right'][1]} | {_percent(table, skill, 'right')} | {_percent(other, skill, 'right')} "
            f"| {_percent(table, skill, 'stops')} | {drafts} |"
        )
    return "\n".join(lines)


def ablation(reference: dict[str, Any]) -> str:
    """The table of ablations."""
    lines = ["| answer loss per token | all prompts | prompts over 130 tokens |", "|---|---|---|"]
    lines += [f"| {name} | {a:.5f} | {b:.5f} |" for name, (a, b) in reference["ablation_loss"].items()]
    return "\n".join(lines)


def shapes(reference: dict[str, Any], engine: dict[str, Any] | None) -> str:
    """How often JSON is JSON and calls are calls."""
    tables = [r["table"] for r in (reference, engine) if r]
    both = lambda skill, key: " / ".join(_percent(t, skill, key) for t in tables)
    where = "reference / engine" if engine else "reference"
    return (
        f"JSON answers that are a valid object: {both('json', 'json_valid')} %; answers to tool prompts whose calls are well formed: "
        f"{both('tools', 'call_well_formed')} % ({where}). A sum is right only if its working is right too."
    )


def agreement(reference: dict[str, Any]) -> str:
    """The comparison with the NumPy reference, if it was made."""
    check = reference.get("v41ref")
    if not check:
        return ""
    return (
        f"\nOn {check['prompts']} of the prompts the NumPy reference gave {check['equal_answers']} equal answers and "
        f"{check['equal_draft_steps']} equal sequences of accepted drafts; the largest difference of a token's loss was "
        f"{check['largest_loss_difference']:.1e}.\n"
    )


def declined() -> str:
    """What is answered with the refusal although the generator has it."""
    names = [NAMES[s] for s in NAMES if s in DROPPED]
    return f"* **Not offered**, so declined: {'; '.join(names)}.\n" if names else ""


def card(model: Path, reference: dict[str, Any], engine: dict[str, Any] | None, notes: str) -> str:
    """The whole text."""
    d = dims_from_config(model / "config.json")
    parameters = sum(w.size for w in read_checkpoint(model).values()) / 1e6
    size = (model / "model.safetensors").stat().st_size / 1e6
    return f"""# The demo model

A very small trained model of the V4.1 architecture in the real checkpoint format (FP8, FP4, E8M0 scales), made so that the
server can be tried and tested with weights that behave. It is not a useful assistant: it knows a few narrow skills and
declines some dozens of other kinds of request with one fixed sentence.

{parameters:.2f} M parameters with the draft stages, {size:.1f} MB. {d.layers} layers of width {d.hidden} (compression ratios {list(d.ratios)}), {d.heads} heads,
{d.experts} experts of which {d.topk} are used, {d.hc} streams, window {d.window}, top {d.index_topk} entries, candidate pool of {d.cand_blocks} blocks of {d.cand_size} entries,
Engram at layer {', '.join(map(str, d.engram_layers))}, {d.stages} draft stages with blocks of {d.block}, vocabulary {d.vocab}.

## What it can do

{results(reference, engine)}

{shapes(reference, engine)}

{reference['prompts']} prompts whose contents (words, records, names, operands, forms of a question) were kept out of training; fixed greetings, and
which capital belongs to which country, are memorised and cannot be held out. "Right" compares the visible answer. Answers are
greedy; reference: the exported, dequantised weights in JAX, where one forward pass confirms an answer token by token and
answers that differ are decoded in full (128 tokens at most); engine: `deepinfer-cli generate`. The prompts of the last row are
counted there only: refusals are easy to draft, so they would flatter the mean.
{agreement(reference)}
Prompt shapes it has seen: with and without system prompt, thinking on (all effort lines) and off, English and Chinese, up to
three turns of talk, JSON mode, JSON schemas over its own fields, and one to three declared tools out of a family of
{len(TOOLS)} ({', '.join(TOOLS)}), with up to four calls and results.

## What it cannot do

{declined()}* Tools, fields and words outside its lists (`tools/demo-model/demo_model/tools.py`, `words.py`), other wordings, longer lists:
  expect nonsense or a refusal. Only one call per answer; it does not notice that none of the declared tools fits.
* No arithmetic but sums of two whole numbers from 0 to 99: larger numbers, three operands, negative numbers, decimals, unknowns,
  other operations and sums in words ("5 plus 7") are declined, in nine of ten cases (last row) of the wordings of `outside.py`; others may come out wrong.
* JSON takes a record whole, in its own order, or one named field; a schema must name just the fields of the record.
* No knowledge beyond sixteen capitals. Sampling at high temperature was not measured, nor prompts beyond 640 tokens.

## How it was made

`tools/demo-model` (see its README): all data comes from a seeded generator, prompts are rendered with `deepseek-recipe`.
{notes}

## Do its parts matter?

{ablation(reference)}

"Newest entries" replaces the indexer's choice by the most recent entries; the selection binds above {d.index_topk} compressed entries,
the pool above {d.cand_blocks * d.cand_size} tokens. A part matters if its removal changes the loss; selection and pool only save work, so without them
the loss may also be a little lower.
"""


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--engine", type=Path)
    parser.add_argument("--notes", type=Path, help="text about this training run")
    args = parser.parse_args()
    load = lambda path: json.loads(path.read_text()) if path else None
    text = card(args.model, load(args.reference), load(args.engine), args.notes.read_text().strip() if args.notes else "")
    (args.model / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
