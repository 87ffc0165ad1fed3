"""Tool calls and JSON output."""

from __future__ import annotations

import json
import random
from typing import Any, Callable

from .skills import FIELDS, record, record_text
from .turns import Turn
from .words import CITIES, FOODS, NAMES, PHRASES, ROOMS, STYLES

NO_TOOL = "I have no tool for that."


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
    "play_music": _schema("play_music", "Play music of a style", style="string"),
    "add_item": _schema("add_item", "Put food on the shopping list", item="string", count="integer"),
    "multiply": _schema("multiply", "Multiply two numbers", a="integer", b="integer"),
}


def _weather(rng: random.Random) -> Turn:
    city, sky, degrees = rng.choice(CITIES), rng.choice(("sunny", "cloudy", "rainy", "snowy")), rng.randint(1, 35)
    form = rng.choice(("What is the weather in {}?", "How is the weather in {}?", "Tell me the weather in {}.", "{}的天气怎么样？"))
    result = json.dumps({"sky": sky, "degrees": degrees})
    return Turn(form.format(city), "", call=("get_weather", {"city": city}), result=result,
                after=f"It is {sky} in {city}, {degrees} degrees.", key="w" + form + city)  # fmt: skip


def _time(rng: random.Random) -> Turn:
    city, clock = rng.choice(CITIES), f"{rng.randint(1, 23)}:{rng.randint(10, 59)}"
    form = rng.choice(("What time is it in {}?", "Tell me the time in {}.", "Which time is it in {}?", "{}现在几点？"))
    return Turn(form.format(city), "", call=("get_time", {"city": city}), result=json.dumps({"time": clock}),
                after=f"It is {clock} in {city}.", key="t" + form + city)  # fmt: skip


def _timer(rng: random.Random) -> Turn:
    n = rng.randint(2, 99)
    form = rng.choice(("Set a timer for {} minutes.", "Start a timer of {} minutes.", "Wake me in {} minutes.", "{}分钟后提醒我。"))
    return Turn(form.format(n), "", call=("set_timer", {"minutes": n}), result='{"ok": true}',
                after=f"The timer is set for {n} minutes.", key=form + str(n))  # fmt: skip


def _message(rng: random.Random) -> Turn:
    name, text = rng.choice(NAMES), rng.choice(PHRASES)
    form = rng.choice(("Send a message to {0}: {1}", "Write to {0}: {1}", "Tell {0}: {1}"))
    return Turn(form.format(name, text), "", call=("send_message", {"to": name, "text": text}), result='{"ok": true}',
                after=f"Your message to {name} is sent.", key=form + name + text)  # fmt: skip


def _light(rng: random.Random) -> Turn:
    room, on = rng.choice(ROOMS), rng.random() < 0.5
    form = rng.choice(("Turn {1} the light in the {0}.", "Switch {1} the {0} light.", "Please turn {1} the light in the {0}."))
    word = "on" if on else "off"
    return Turn(form.format(room, word), "", call=("switch_light", {"room": room, "on": on}), result='{"ok": true}',
                after=f"The light in the {room} is {word}.", key=form + room + word)  # fmt: skip


def _music(rng: random.Random) -> Turn:
    style = rng.choice(STYLES)
    form = rng.choice(("Play some {}.", "Play {} music.", "I want to hear {}.", "Put on some {}."))
    return Turn(form.format(style), "", call=("play_music", {"style": style}), result='{"ok": true}',
                after=f"Now playing {style}.", key=form + style)  # fmt: skip


def _item(rng: random.Random) -> Turn:
    item, n = rng.choice(FOODS), rng.randint(2, 20)
    form = rng.choice(("Add {1} {0} to my list.", "Put {1} {0} on the shopping list.", "I need to buy {1} {0}."))
    return Turn(form.format(item, n), "", call=("add_item", {"item": item, "count": n}), result='{"ok": true}',
                after=f"I put {n} {item} on the list.", key=form + item + str(n))  # fmt: skip


def _multiply(rng: random.Random) -> Turn:
    a, b = rng.randint(2, 99), rng.randint(2, 99)
    form = rng.choice(("Multiply {} by {}.", "What is {} times {}?", "{} * {} = ?", "{}乘以{}是多少？"))
    return Turn(form.format(a, b), "", call=("multiply", {"a": a, "b": b}), result=json.dumps({"product": a * b}),
                after=f"{a} * {b} = {a * b}", key=form + f"{a}*{b}")  # fmt: skip


MAKERS: dict[str, Callable[[random.Random], Turn]] = {
    "get_weather": _weather, "get_time": _time, "set_timer": _timer, "send_message": _message,
    "switch_light": _light, "play_music": _music, "add_item": _item, "multiply": _multiply,
}  # fmt: skip


def call_thought(name: str) -> str:
    """Reasoning before a call."""
    return f"I call {name}."


AFTER_THOUGHT = "The result is here."
NO_TOOL_THOUGHT = "No tool fits."


def _pick(rng: random.Random, r: dict[str, str]) -> list[str]:
    keys = rng.sample(list(r), rng.randint(2, min(3, len(r))))
    return keys


def _object(r: dict[str, str], keys: list[str]) -> str:
    return json.dumps({k: int(r[k]) if k == "age" else r[k] for k in keys})


def json_object(rng: random.Random) -> tuple[Turn, dict[str, Any]]:
    """A record and the wanted keys, as json_object output."""
    r = record(rng, 2, 5)
    keys = _pick(rng, r)
    form = rng.choice((
        "Record: {1}. Return a JSON object with {0}.", "Make JSON with {0} from this record: {1}.",
        "Give me {0} as JSON. Record: {1}.",
    ))  # fmt: skip
    user = form.format(", ".join(keys), record_text(r))
    return Turn(user, _object(r, keys), thought="I write " + ", ".join(keys) + ".", key=user), {"type": "json_object"}


def json_schema(rng: random.Random) -> tuple[Turn, dict[str, Any]]:
    """The keys come from a schema."""
    r = record(rng, 2, 5)
    keys = _pick(rng, r)
    properties = {k: {"type": "integer" if k == "age" else "string"} for k in keys}
    schema = {"type": "object", "properties": properties, "required": keys}
    form = rng.choice(("Record: {}.", "Read this record: {}.", "Turn this into JSON: {}."))
    user = form.format(record_text(r))
    fmt = {"type": "json_schema", "json_schema": {"name": "record", "schema": schema}}
    return Turn(user, _object(r, keys), thought="I write " + ", ".join(keys) + ".", key=user), fmt


assert set(FIELDS) >= {"name", "age", "city"}
