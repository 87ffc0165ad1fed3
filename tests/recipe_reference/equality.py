"""When two outputs of a kind agree. `difference` returns None, or a sentence.

Free are: ids of calls and times, how text is cut into deltas (but nothing may come later than
from the reference, nor be taken back), the words of a JSON Schema validator, and rounding.
"""

import json
import re

CALL_ID = re.compile(r"(call_\d\d+_(?:ET_)?)[0-9A-Za-z]{20}\d{4}")
TIMES = ("created", "created_at", "completed_at")
# The rest of these messages is the reference's validator speaking.
VALIDATOR = re.compile(
    r"Invalid schema for function '[^']*': (?!schema must be a JSON Schema of)"
    r"|Invalid json schema: |Invalid tool parameters schema : "
)
# Where the events of the three protocols hold text that goes on in the next event.
TEXTS = (
    ("choices", 0, "delta", "content"),
    ("choices", 0, "delta", "reasoning_content"),
    ("choices", 0, "delta", "tool_calls", 0, "function", "arguments"),
    ("delta", "text"),
    ("delta", "thinking"),
    ("delta", "partial_json"),
    ("delta", "signature"),
    ("delta",),
)


def near(a, b):
    if a is None or b is None:
        return a is b
    return abs(a - b) <= 1e-6 * max(1.0, abs(a))


def shown(value):
    return json.dumps(value, ensure_ascii=False)[:300]


def unlike(where, expected, got):
    return None if expected == got else f"{where}: {shown(got)}, expected {shown(expected)}"


def once(entries):
    """The reference repeats a token's entry for every piece of its text."""
    return [e for i, e in enumerate(entries) if i == 0 or e != entries[i - 1]]


def normalised(value, name=None):
    """Without what is no function of the input."""
    if isinstance(value, dict):
        if name == "logprobs":
            value = {k: once(v) if isinstance(v, list) else v for k, v in value.items()}
        return {k: 0 if k in TIMES and v else normalised(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [normalised(item) for item in (once(value) if name == "logprobs" else value)]
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, str):
        return CALL_ID.sub(lambda match: match[1] + "X" * 24, value)
    return value


# ----------------------------------------------------------------- requests


def refusal_difference(expected, got):
    for member in ("stage", "status"):
        if member in expected and expected[member] != got.get(member):
            return unlike(member, expected[member], got.get(member))
    if expected["stage"] == "parse":
        return None
    wanted, given = expected["body"]["error"], got["body"]["error"]
    fixed = VALIDATOR.match(wanted["message"])
    if fixed and given["message"].startswith(fixed[0]):
        given = given | {"message": wanted["message"]}
    return unlike("error", wanted, given)


def ordered(text):
    """A JSON text as a value that knows the order of members; other texts as they are."""
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: ("object", pairs))
    except ValueError:
        return text


def constraint_difference(expected, got):
    if expected and got and expected["kind"] == got["kind"] != "regex":
        if ordered(expected["schema"]) == ordered(got["schema"]):
            return None
    return unlike("output_constraint", expected, got)


def conversion_difference(expected, got):
    expected, got = dict(expected), dict(got)
    wanted, given = expected.pop("options", {}), got.pop("options", {})
    for name in ("temperature", "top_p"):
        if name in wanted and not near(wanted[name], given.get(name)):
            return unlike(name, wanted[name], given.get(name))
    fuzzy = ("temperature", "top_p", "output_constraint")
    return (
        unlike("output", expected, got)
        or unlike(
            "options",
            {k: v for k, v in wanted.items() if k not in fuzzy},
            {k: v for k, v in given.items() if k not in fuzzy},
        )
        or constraint_difference(wanted.get("output_constraint"), given.get("output_constraint"))
    )


# ----------------------------------------------------------------- streams


def member(value, path):
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def split_text(event):
    """(channel, text, log probabilities) of an event that only adds text, else None."""
    choice = member(event, ("choices", 0)) or {}
    call = member(choice, ("delta", "tool_calls", 0)) or {}
    if choice.get("finish_reason") or "role" in choice.get("delta", {}) or "id" in call:
        return None
    for path in TEXTS:
        text = member(event, path)
        if not isinstance(text, str):
            continue
        frame = json.loads(json.dumps(event))
        logprobs = frame.pop("logprobs", None)
        if choice:
            logprobs = frame["choices"][0].pop("logprobs", None)
        member(frame, path[:-1])[path[-1]] = ""
        return json.dumps([path, frame], sort_keys=True), text, logprobs
    return None


def joined(events):
    """Neighbouring pieces of one channel as one."""
    parts = []
    for event in events:
        event = {k: v for k, v in event.items() if k != "sequence_number"}
        piece = split_text(event)
        if piece is None:
            parts.append([None, event, []])
            continue
        channel, text, logprobs = piece
        if not parts or parts[-1][0] != channel:
            parts.append([channel, "", []])
        parts[-1][1] += text
        if logprobs:
            lists = logprobs if isinstance(logprobs, dict) else {"": logprobs}
            parts[-1][2] += [[k, entry] for k, v in lists.items() for entry in v or []]
    return [[channel, value, once(entries)] for channel, value, entries in parts]


def without_padding(value):
    """In JSON mode spaces stand for what is around the value, as many as pieces came."""
    if isinstance(value, dict):
        return {k: without_padding(v) for k, v in value.items()}
    if isinstance(value, list):
        return [without_padding(v) for v in value]
    return value.strip(" ") if isinstance(value, str) else value


def texts_after_each_push(output):
    """For every push all text sent so far, by channel."""
    sent, states = {}, []
    for push in output["pushes"] + [output["end"]]:
        for event in push:
            piece = split_text({k: v for k, v in event.items() if k != "sequence_number"})
            if piece:
                sent[piece[0]] = sent.get(piece[0], "") + piece[1]
        states.append(dict(sent))
    return states


def timing_difference(expected, got):
    wanted, given = texts_after_each_push(expected), texts_after_each_push(got)
    for i, (then, now) in enumerate(zip(wanted, given)):
        for channel, whole in wanted[-1].items():
            text = now.get(channel, "")
            if not whole.startswith(text) or len(text) < len(then.get(channel, "")):
                return unlike(f"sent after push {i}", then.get(channel, ""), text)
    return None


def stream_difference(expected, got, json_output):
    expected, got = normalised(expected), normalised(got)
    if "pushes" not in expected:
        return None if "pushes" not in got else "a request was taken that the reference refuses"
    if "pushes" not in got:
        return f"a request was refused: {shown(got)}"
    for name in ("consumed", "sse_done"):
        if expected[name] != got[name]:
            return unlike(name, expected[name], got[name])
    flat = [e for push in got["pushes"] + [got["end"]] for e in push]
    if any(e.get("sequence_number", i) != i for i, e in enumerate(flat)):
        return "sequence_number does not count up from 0"
    wanted = joined([e for push in expected["pushes"] + [expected["end"]] for e in push])
    given = joined(flat)
    responses = expected["response"], got["response"]
    if json_output:
        keep = lambda part: part[0] is None or part[1] or part[2]  # noqa: E731
        wanted = [p for p in without_padding(wanted) if keep(p)]
        given = [p for p in without_padding(given) if keep(p)]
        responses = without_padding(responses[0]), without_padding(responses[1])
    for i in range(max(len(wanted), len(given))):
        pair = [parts[i] if i < len(parts) else None for parts in (wanted, given)]
        if pair[0] != pair[1]:
            return unlike(f"event {i}", *pair)
    return (None if json_output else timing_difference(expected, got)) or unlike(
        "response", *responses
    )


def difference(kind, given, expected, got):
    try:
        if kind.endswith("-stream"):
            return stream_difference(expected, got, given.get("json_output", False))
        if expected.get("ok") is False:
            return refusal_difference(expected, got)
        if kind.endswith("-convert"):
            return conversion_difference(expected, got)
        return unlike("output", expected, {name: got.get(name) for name in expected})
    except (KeyError, TypeError, AttributeError) as error:
        return f"an output of another shape: {error!r}: {shown(got)}"
