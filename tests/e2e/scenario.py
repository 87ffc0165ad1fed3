"""What the scripted engine answers, by the marker word of the prompt (tests/support/scripted_scenario.h)."""

REASONING = "First I look, then I think."
ANSWER = "It is forty-two."
CALL = (
    '<｜DSML｜ calls>\n<｜DSML｜ invoke name="get_weather">\n'
    '<｜DSML｜ parameter name="city" string="true">Rome</｜DSML｜ parameter>\n'
    '<｜DSML｜ parameter name="days" string="false">3</｜DSML｜ parameter>\n'
    "</｜DSML｜ invoke>\n</｜DSML｜ calls>"
)
TWO_CALLS = CALL.replace(
    "</｜DSML｜ calls>",
    '<｜DSML｜ invoke name="get_time">\n'
    '<｜DSML｜ parameter name="zone" string="true">CET</｜DSML｜ parameter>\n'
    "</｜DSML｜ invoke>\n</｜DSML｜ calls>",
)
# What follows the prompt of a forced call, which opens the block.
REST_OF_CALL = CALL.removeprefix("<｜DSML｜ calls>\n")
ENDLESS_PIECE = " more"
ENDLESS_VALUE = " later"
NOTE = 'one "line"\nand another'


def call_of(name, parameter, value):
    return (
        f'<｜DSML｜ calls>\n<｜DSML｜ invoke name="{name}">\n'
        f'<｜DSML｜ parameter name="{parameter}" string="true">{value}</｜DSML｜ parameter>\n'
        "</｜DSML｜ invoke>\n</｜DSML｜ calls>"
    )



SCENARIO = {
    "REASON": [{"text": f"{REASONING}</think>{ANSWER}", "per_token": True}],
    "CALL": [{"text": f"Let me look.\n\n{CALL}", "per_token": True}],
    "BOTH": [{"text": f"{REASONING}</think>Let me look.\n\n{TWO_CALLS}", "per_token": True}],
    "FORCED": [{"text": REST_OF_CALL, "per_token": True}],
    "THINKS_ONE": [{"text": f"{REASONING}</think>{CALL}", "per_token": True}],
    "THINKS_TWO": [{"text": f"{REASONING}</think>\n{CALL}", "per_token": True}],
    "THINKS_THREE": [{"text": f"{REASONING}</think>\n\n{CALL}", "per_token": True}],
    "MUSES": [{"text": REASONING, "per_token": True}],
    "JSON": [{"text": '{"city": "Rome"}', "per_token": True}],
    "THINKS_OBJECT": [{"text": REASONING + '</think>{"city": "Rome"}', "per_token": True}],
    "PLAIN": [{"text": ANSWER, "per_token": True}],
    "UNICODE": [{"text": "héllo 你好 🙂", "per_token": True}],
    "PLACED": [{"text": call_of("get_place", "city", "Rome"), "per_token": True}],
    "NOTE": [{"text": call_of("take_note", "input", NOTE), "per_token": True}],
    "WRITES_ON": [
        {"text": call_of("get_time", "zone", "").partition("</")[0]},
        {"text": ENDLESS_VALUE, "delay_ms": 5, "repeat": True},
    ],
    "MALFORMED": [{"text": "hi\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name="}],
    "ENDLESS": [{"text": ENDLESS_PIECE, "delay_ms": 5, "repeat": True}],
    "BREAKS": [{"text": "so far "}, {"fail": "the engine broke"}],
    "FULL": [{"refuse": "server_overloaded"}],
}
