"""Tool calls and JSON output."""

from __future__ import annotations

import json
import random
from typing import Any, Callable

from .skills import REFUSAL, REFUSAL_THOUGHT, record, record_text, refusal
from .turns import Turn
from .words import CITIES, FOODS, NAMES, NOUNS, PHRASES, ROOMS

DONE = "Done."


def _schema(name: str, description: str, **properties: str) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {k: {"type": t} for k, t in properties.items()},
                "required": list(properties),
            },
        },
    }


TOOLS: dict[str, dict[str, Any]] = {
    "get_weather": _schema("get_weather", "Weather in a city", city="string"),
    "get_time": _schema("get_time", "Local time in a city", city="string"),
    "set_timer": _schema("set_timer", "Start a timer", minutes="integer"),
    "send_message": _schema("send_message", "Send a message to a person", to="string", text="string"),
    "switch_light": _schema("switch_light", "Turn a light on or off", room="string", on="boolean"),
    "add_item": _schema("add_item", "Put an item on the shopping list", item="string"),
}


def _weather(rng: random.Random) -> Turn:
    city, sky, degrees = rng.choice(CITIES), rng.choice(("sunny", "cloudy", "rainy", "snowy")), rng.randint(1, 35)
    form = rng.choice(("What is the weather in {}?", "How is the weather in {}?", "Tell me the weather in {}.", "{}的天气怎么样？"))
    result = json.dumps({"sky": sky, "degrees": degrees})
    return Turn(form.format(city), "", call=("get_weather", {"city": city}), result=result,
                after=f"It is {sky}, {degrees} degrees.", key="w" + form + city)  # fmt: skip


def _time(rng: random.Random) -> Turn:
    city, clock = rng.choice(CITIES), f"{rng.randint(1, 23)}:{rng.randint(10, 59)}"
    form = rng.choice(("What time is it in {}?", "Tell me the time in {}.", "Which time is it in {}?", "{}现在几点？"))
    return Turn(form.format(city), "", call=("get_time", {"city": city}), result=json.dumps({"time": clock}),
                after=f"It is {clock}.", key="t" + form + city)  # fmt: skip


def _timer(rng: random.Random) -> Turn:
    n = rng.randint(2, 99)
    form = rng.choice(("Set a timer for {} minutes.", "Start a timer of {} minutes.", "Wake me in {} minutes.", "{}分钟后提醒我。"))
    return Turn(form.format(n), "", call=("set_timer", {"minutes": n}), result='{"ok": true}',
                after=DONE, key=form + str(n))  # fmt: skip


def _message(rng: random.Random) -> Turn:
    name, text = rng.choice(NAMES), rng.choice(PHRASES)
    form = rng.choice(("Send a message to {0}: {1}", "Write to {0}: {1}", "Tell {0}: {1}"))
    return Turn(form.format(name, text), "", call=("send_message", {"to": name, "text": text}), result='{"ok": true}',
                after=DONE, key=form + name + text)  # fmt: skip


def _light(rng: random.Random) -> Turn:
    room, on = rng.choice(ROOMS), rng.random() < 0.5
    form = rng.choice(("Turn {1} the light in the {0}.", "Switch {1} the {0} light.", "Please turn {1} the light in the {0}."))
    word = "on" if on else "off"
    return Turn(form.format(room, word), "", call=("switch_light", {"room": room, "on": on}), result='{"ok": true}',
                after=DONE, key=form + room + word)  # fmt: skip


def _item(rng: random.Random) -> Turn:
    item = rng.choice(FOODS + NOUNS)
    form = rng.choice(("Add {} to my list.", "Put {} on the shopping list.", "I need to buy {}."))
    return Turn(form.format(item), "", call=("add_item", {"item": item}), result='{"ok": true}',
                after=DONE, key=form + item)  # fmt: skip


MAKERS: dict[str, Callable[[random.Random], Turn]] = {
    "get_weather": _weather, "get_time": _time, "set_timer": _timer, "send_message": _message,
    "switch_light": _light, "add_item": _item,
}  # fmt: skip


def call_thought(name: str) -> str:
    """Reasoning before a call."""
    return f"I call {name}."


AFTER_THOUGHT = "The result is here."


def _object(r: dict[str, str]) -> str:
    return json.dumps({k: int(v) if k == "age" else v for k, v in r.items()})


def _all_fields(rng: random.Random) -> Turn:
    """The whole record, one to three fields, in its own order."""
    r = record(rng, 1, 3)
    form = rng.choice(("Record: {}. Return it as a JSON object.", "Turn this record into JSON: {}.", "Write as JSON: {}."))
    user = form.format(record_text(r))
    return Turn(user, _object(r), thought="I write the record.", key=user)


def _one_field(rng: random.Random) -> Turn:
    """One wanted field of a longer record."""
    r = record(rng, 2, 4)
    field = rng.choice(list(r))
    form = rng.choice((
        "Record: {1}. Return a JSON object with {0} only.", "Give me the {0} as JSON. Record: {1}.",
        "Make JSON with the {0} from this record: {1}.",
    ))  # fmt: skip
    user = form.format(field, record_text(r))
    return Turn(user, _object({field: r[field]}), thought=f"I write the {field}.", key=user)


def json_object(rng: random.Random) -> tuple[Turn, dict[str, Any] | None]:
    """A record as JSON; JSON mode is on or the words alone ask for it."""
    turn = rng.choice((_all_fields, _one_field))(rng)
    return turn, {"type": "json_object"} if rng.random() < 0.6 else None


def json_refusal(rng: random.Random) -> tuple[Turn, dict[str, Any]]:
    """JSON mode stays JSON where the model declines."""
    user = f"{refusal(rng).user} Answer in JSON."
    return Turn(user, json.dumps({"error": REFUSAL}), thought=REFUSAL_THOUGHT, key=user), {"type": "json_object"}


def json_schema(rng: random.Random) -> tuple[Turn, dict[str, Any]]:
    """A record that has just the fields of the schema, in the same order."""
    r = record(rng, 1, 3)
    properties = {k: {"type": "integer" if k == "age" else "string"} for k in r}
    schema = {"type": "object", "properties": properties, "required": list(r)}
    form = rng.choice(("Record: {}.", "Read this record: {}.", "Turn this into JSON: {}."))
    user = form.format(record_text(r))
    fmt = {"type": "json_schema", "json_schema": {"name": "record", "schema": schema}}
    return Turn(user, _object(r), thought="I write the record.", key=user), fmt
