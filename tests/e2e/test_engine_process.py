"""The engine is a process of its own: what its death, its silence and its front's end lead to."""

import json
import os
import signal
import socket
import threading
import urllib.error
import urllib.request
from pathlib import Path

from programs import ROOT, wait_until

TINY = ROOT / "tests/data/tiny-a"
LONG = {"model": "tiny", "prompt": [5, 6, 7], "max_tokens": 400, "ignore_eos": True}


def children_of(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def start(programs, *flags):
    server = programs.start_server(TINY, "--served-model-name", "tiny", *flags)
    (engine,) = children_of(server.process.pid)
    return server, engine


def post(server, body):
    request = urllib.request.Request(
        f"{server.url}/v1/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=server.patience_s) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


class Stream:
    """A streamed completion that is read to its end on a thread."""

    def __init__(self, server):
        body = json.dumps(LONG | {"stream": True}).encode()
        self.socket = socket.create_connection(("127.0.0.1", server.port), server.patience_s)
        self.socket.sendall(
            b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        )
        self.received = b""
        while b"data: " not in self.received:
            self.received += self.socket.recv(4096)

    def rest(self):
        while more := self.socket.recv(4096):
            self.received += more
            if self.received.endswith(b"0\r\n\r\n"):
                break
        self.socket.close()
        lines = [line for line in self.received.split(b"\n") if line.startswith(b"data: ")]
        return [line[len(b"data: ") :].strip() for line in lines]


def serves_again(server):
    return server.get("/readyz")[0] == 200 and post(server, LONG | {"max_tokens": 2})[0] == 200


def test_f01_s14_a_killed_engine_ends_its_requests_and_is_started_again(programs):
    server, engine = start(programs)
    streams = [Stream(server) for _ in range(4)]
    plain = {}
    waiting = threading.Thread(target=lambda: plain.update(answer=post(server, LONG)))
    waiting.start()
    server.wait_for_metric("num_requests_running", lambda value: value == 5)
    os.kill(engine, signal.SIGKILL)
    for stream in streams:
        events = stream.rest()
        assert json.loads(events[-1])["error"]["code"] == "engine_failed"
        assert not stream.received.endswith(b"0\r\n\r\n")
    waiting.join()
    status, body = plain["answer"]
    assert status == 503
    assert body["error"]["code"] == "engine_failed"
    wait_until(lambda: serves_again(server), "the engine serves again", server.patience_s)
    assert children_of(server.process.pid) != [engine]
    assert server.metric("num_requests_running") == 0
    assert server.stop() == 0


def test_f01_health_tells_that_the_engine_is_gone(programs):
    server, engine = start(programs, "--max-engine-restarts", "100")
    seen = []

    def told():
        if not seen:
            for child in children_of(server.process.pid):
                os.kill(child, signal.SIGKILL)
        status, body = server.get("/readyz")
        if status == 503:
            seen.append(json.loads(body))
            assert server.get("/livez")[0] == 200
        return bool(seen) and status == 200

    wait_until(told, "unready, then ready again", server.patience_s)
    assert seen[0]["status"] == "failed"
    assert "engine process" in seen[0]["reason"]
    assert server.stop() == 0


def test_f03_a_silent_engine_is_stuck_then_replaced(programs):
    server, engine = start(programs, "--hang-timeout", "2")
    stream = Stream(server)
    os.kill(engine, signal.SIGSTOP)
    # It shows from the moment of detection until another engine is ready.
    status, body = wait_until(
        lambda: (answer := server.get("/livez"))[0] == 503 and answer, "stuck", server.patience_s
    )
    assert json.loads(body)["status"] == "stuck"
    assert "no sign of life" in json.loads(body)["reason"]
    events = stream.rest()
    assert json.loads(events[-1])["error"]["code"] == "engine_hung"
    wait_until(lambda: serves_again(server), "the engine serves again", server.patience_s)
    assert not alive(engine)
    assert server.stop() == 0


def test_f01_without_restarts_the_server_ends(programs):
    server, engine = start(programs, "--max-engine-restarts", "0")
    os.kill(engine, signal.SIGKILL)
    assert server.wait() == 1
    assert "ended by signal 9" in server.log()


def test_f03_a_hang_without_restarts_ends_the_server_with_6(programs):
    server, engine = start(programs, "--max-engine-restarts", "0", "--hang-timeout", "2")
    os.kill(engine, signal.SIGSTOP)
    assert server.wait() == 6
    assert not alive(engine)


def test_no_engine_outlives_its_server(programs):
    server, engine = start(programs)
    stream = Stream(server)
    server.signal(signal.SIGKILL)
    assert server.wait() == -signal.SIGKILL
    wait_until(lambda: not alive(engine), "the engine ends", server.patience_s)
    stream.socket.close()


def test_requests_finish_before_the_server_stops(programs):
    server, engine = start(programs)
    stream = Stream(server)
    server.signal(signal.SIGTERM)
    events = stream.rest()
    assert events[-1] == b"[DONE]"
    assert json.loads(events[-2])["choices"][0]["finish_reason"] == "length"
    assert server.wait() == 0
    assert not alive(engine)


def test_the_engine_may_run_in_the_server(programs):
    server = programs.start_server(TINY, "--served-model-name", "tiny", "--in-process")
    assert children_of(server.process.pid) == []
    assert post(server, LONG | {"max_tokens": 3})[0] == 200
    assert server.stop() == 0
