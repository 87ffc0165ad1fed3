"""Cases of docs/field-cases.md that need whole programs: the real engine on a small checkpoint, or
a process that starts, fails or is killed."""

import concurrent.futures
import json
import math
import shutil
import signal
import socket
import urllib.error
import urllib.request

import pytest
from programs import ROOT, free_port
from scenario import SCENARIO

CONTEXT = 64
TINY = ROOT / "tests/data/tiny-a"
TOKENIZER = ROOT / "tests/data/tokenizer-v4.1"
GREEDY = {"temperature": 0, "ignore_eos": True, "thinking": {"type": "disabled"}}
# Path, member of the input, member of the limit, what turns thinking off.
ENDPOINTS = {
    "/v1/chat/completions": ("messages", "max_tokens", {"thinking": {"type": "disabled"}}),
    "/v1/messages": ("messages", "max_tokens", {"thinking": {"type": "disabled"}}),
    "/v1/responses": ("input", "max_output_tokens", {"reasoning": {"effort": "none"}}),
    "/v1/completions": ("prompt", "max_tokens", {}),
}


def post(server, path, body):
    """(status, JSON body)."""
    request = urllib.request.Request(
        server.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=server.patience_s) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def user(text):
    return [{"role": "user", "content": text}]


def chat(server, text, **members):
    body = {"model": "tiny", "messages": user(text), **GREEDY, **members}
    return post(server, "/v1/chat/completions", body)


@pytest.fixture(scope="module")
def small(programs):
    """The small checkpoint with a very short context."""
    return programs.start_server(
        TINY, *("--served-model-name", "tiny"), *("--max-model-len", CONTEXT)
    )


def scripted_flags(tmp_path):
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps(SCENARIO))
    return ("--tokenizer", TOKENIZER, "--scenario", scenario, "--served-model-name", "scripted")


@pytest.mark.parametrize("limit", [{}, {"max_tokens": 1}])
def test_w03_one_token_of_room_is_used_and_none_is_a_refusal(small, limit):
    body = {"model": "tiny", "temperature": 0, "ignore_eos": True, **limit}
    status, fits = post(small, "/v1/completions", {**body, "prompt": [5] * (CONTEXT - 1)})
    assert status == 200
    assert fits["choices"][0]["finish_reason"] == "length"
    assert fits["usage"]["completion_tokens"] == 1
    for length in (CONTEXT, CONTEXT + 1):
        status, refused = post(small, "/v1/completions", {**body, "prompt": [5] * length})
        assert status == 400
        assert refused["error"]["code"] == "context_length_exceeded"


@pytest.mark.parametrize("limit", [{}, {"max_tokens": 1}])
def test_w03_the_same_holds_for_a_chat(small, limit):
    def tokens_of(text):
        return post(small, "/tokenize", {"messages": user(text), **GREEDY})[1]["count"]

    texts = {tokens_of("a " * words): "a " * words for words in range(CONTEXT)}
    status, answer = chat(small, texts[CONTEXT - 1], **limit)
    assert status == 200
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["total_tokens"] == CONTEXT
    status, refused = chat(small, texts[CONTEXT], **limit)
    assert status == 400
    assert refused["error"]["code"] == "context_length_exceeded"


def test_w05_an_endless_answer_stops_at_the_end_of_the_context(small):
    status, answer = chat(small, "hello")
    assert status == 200
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["total_tokens"] == CONTEXT
    raw = {"model": "tiny", "prompt": "hello", "ignore_eos": True, "max_tokens": CONTEXT - 8}
    status, answer = post(small, "/v1/completions", raw)
    assert (status, answer["choices"][0]["finish_reason"]) == (200, "length")
    assert small.get("/health")[0] == 200


def test_w05_a_stream_stops_there_too(small):
    body = {"model": "tiny", "messages": user("hello"), "stream": True, **GREEDY}
    request = urllib.request.Request(
        small.url + "/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=small.patience_s) as response:
        lines = [line[6:].strip() for line in response if line.startswith(b"data: ")]
    assert lines[-1] == b"[DONE]"
    ends = [c["finish_reason"] for line in lines[:-1] for c in json.loads(line)["choices"]]
    assert [end for end in ends if end] == ["length"]


def test_l01_log_probabilities_of_a_masked_vocabulary_are_finite(server):
    members = {"max_tokens": 4, "logprobs": True, "top_logprobs": 20}
    for mask in ({"top_k": 1}, {"logit_bias": {str(token): -100 for token in range(400)}}):
        status, answer = chat(server, "hello", **members, **mask)
        assert status == 200
        entries = answer["choices"][0]["logprobs"]["content"]
        assert entries
        for entry in [*entries, *(top for entry in entries for top in entry["top_logprobs"])]:
            assert math.isfinite(entry["logprob"])
            assert isinstance(entry["token"], str)
            assert isinstance(entry["bytes"], list)


def test_l02_greedy_answers_do_not_depend_on_their_neighbours(server):
    def ask(_=None):
        status, answer = chat(server, "the quick brown fox", max_tokens=24)
        assert status == 200
        return answer["choices"][0]["message"]["content"]

    def disturb(number):
        text = f"neighbour {number} " * (1 + number % 40)
        return chat(server, text, max_tokens=3 + number % 20, temperature=number % 2)[0]

    alone = ask()
    assert {ask() for _ in range(9)} == {alone}
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        neighbours = [pool.submit(disturb, number) for number in range(60)]
        answers = list(pool.map(ask, range(40)))
        assert {neighbour.result() for neighbour in neighbours} == {200}
    assert set(answers) == {alone}


def test_v15_the_flag_bounds_every_endpoint(programs, tmp_path):
    server = programs.start_server(
        TINY, *scripted_flags(tmp_path), "--default-max-tokens", 7, program="scripted-server"
    )
    for path, (member, limit, off) in ENDPOINTS.items():
        content = "ENDLESS" if member != "messages" else user("ENDLESS")
        body = {"model": "scripted", member: content, **off}
        usage = post(server, path, body)[1]["usage"]
        assert usage.get("completion_tokens", usage.get("output_tokens")) == 7, path
        usage = post(server, path, {**body, limit: 9})[1]["usage"]
        assert usage.get("completion_tokens", usage.get("output_tokens")) == 9, path
    assert server.stop() == 0


def test_h08_a_taken_port_is_told_before_the_model_is_loaded(programs, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        # It would load for an hour.
        ended = programs.run(
            "scripted-server",
            *(TINY, *scripted_flags(tmp_path)),
            *("--load-ms", 3600000, "--port", port),
        )
    assert ended.returncode not in (0, -signal.SIGKILL)
    assert f"127.0.0.1:{port}" in ended.stdout + ended.stderr


def test_h08_a_killed_server_can_be_started_again_at_once(programs, tmp_path):
    port = free_port()
    flags = scripted_flags(tmp_path)
    first = programs.start_server(TINY, *flags, program="scripted-server", port=port)
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
    for client in clients:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(12) == b"HTTP/1.1 200"
    first.signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    second = programs.start_server(TINY, *flags, program="scripted-server", port=port)
    assert second.get("/health")[0] == 200
    for client in clients:
        client.close()
    assert second.stop() == 0


def test_s14_a_killed_server_leaves_no_stream_that_looks_complete(programs, tmp_path):
    server = programs.start_server(TINY, *scripted_flags(tmp_path), program="scripted-server")
    body = json.dumps({"model": "scripted", "messages": user("ENDLESS"), "stream": True}).encode()
    received = b""
    with socket.create_connection(("127.0.0.1", server.port), server.patience_s) as client:
        client.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        )
        while received.count(b"data: ") < 3:
            received += client.recv(4096)
        server.signal(signal.SIGKILL)
        try:
            while more := client.recv(4096):
                received += more
        except ConnectionResetError:
            pass
    assert server.wait() == -signal.SIGKILL
    assert b"[DONE]" not in received
    assert not received.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize("level, told", [("trace", True), ("debug", False)])
def test_t03_hidden_markup_is_in_the_log_on_request(programs, tmp_path, level, told):
    server = programs.start_server(
        TINY, *scripted_flags(tmp_path), "--log-level", level, program="scripted-server"
    )
    body = {"model": "scripted", "messages": user("MALFORMED"), "thinking": {"type": "disabled"}}
    status, answer = post(server, "/v1/chat/completions", body)
    assert (status, answer["choices"][0]["message"]["content"]) == (200, "hi")
    assert server.stop() == 0
    assert ("as the model wrote it: " in server.log()) == told
    assert ("DSML｜ calls>" in server.log()) == told


@pytest.mark.parametrize("marker", ["<think>", "</think>", "｜DSML｜"])
def test_r14_a_tokenizer_without_a_marker_fails_the_start_by_its_name(programs, tmp_path, marker):
    broken = tmp_path / "tokenizer"
    shutil.copytree(TOKENIZER, broken)
    file = broken / "tokenizer.json"
    content = json.loads(file.read_text())
    kept = [token for token in content["added_tokens"] if token["content"] != marker]
    assert len(kept) + 1 == len(content["added_tokens"])
    file.write_text(json.dumps({**content, "added_tokens": kept}))
    flags = scripted_flags(tmp_path)
    ended = programs.run(
        "scripted-server", TINY, "--tokenizer", broken, *flags[2:], "--port", free_port()
    )
    assert ended.returncode > 0
    assert marker in ended.stdout + ended.stderr


def test_a03_only_this_machine_is_served_unless_told_otherwise(programs, tmp_path):
    flags = scripted_flags(tmp_path)
    quiet = programs.start_server(TINY, *flags, program="scripted-server")
    assert f"listening on 127.0.0.1:{quiet.port}" in quiet.log()
    assert "can use this server" not in quiet.log()
    wide = programs.start_server(TINY, *flags, "--host", "0.0.0.0", program="scripted-server")
    assert "can use this server" in wide.log()
    assert [server.stop() for server in (quiet, wide)] == [0, 0]


def test_p03_one_port_serves_everything(small):
    for path in ("/health", "/livez", "/readyz", "/metrics", "/v1/models"):
        assert small.get(path)[0] == 200, path
