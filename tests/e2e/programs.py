"""Starts the programs under test and watches them."""

import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A sanitizer build on a loaded machine is many times slower; this is a bound, not a measurement.
PATIENCE_S = {"dev": 120, "release": 60, "asan": 240, "tsan": 480}
POLL_S = 0.02


def wait_until(condition, what, patience_s):
    """Returns the first true value of `condition()`."""
    deadline = time.monotonic() + patience_s
    while True:
        if value := condition():
            return value
        assert time.monotonic() < deadline, f"waited {patience_s} s in vain for {what}"
        time.sleep(POLL_S)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ServerProcess:
    """A running server. Ready once made."""

    def __init__(self, command, env, log_path, port, patience_s):
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.patience_s = patience_s
        self._log_path = log_path
        with open(log_path, "wb") as log:
            self.process = subprocess.Popen(
                command, env=env, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        wait_until(self._ready, f"{self.url}/readyz", patience_s)

    def _ready(self):
        assert self.process.poll() is None, f"ended with {self.process.returncode}:\n{self.log()}"
        return self.get("/readyz")[0] == 200

    def log(self):
        return self._log_path.read_text(errors="replace")

    def get(self, path):
        """(status, body); (0, "") while nothing listens."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=self.patience_s) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def metric(self, name):
        """Sum of a family's samples over its labels; None if there is no such family."""
        samples = re.findall(
            rf"^[a-z]+:{re.escape(name)}(?:\{{[^}}]*\}})? ([-+0-9.e]+)$", self.get("/metrics")[1], re.M
        )
        return sum(map(float, samples)) if samples else None

    def wait_for_metric(self, name, condition):
        def holds():
            value = self.metric(name)
            assert value is not None, f"/metrics has no {name}"
            return condition(value)

        wait_until(holds, f"the right {name}", self.patience_s)

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        return self.process.wait(self.patience_s)

    def stop(self):
        """Asks it to end and returns its exit status."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.wait()


class Programs:
    """The folder of programs under test, and what was started from it."""

    def __init__(self, bin_dir, kind, scratch):
        self.bin_dir = bin_dir
        self.kind = kind
        self.patience_s = PATIENCE_S[kind]
        self._scratch = scratch
        self._servers = []

    @property
    def sanitized(self):
        return self.kind in ("asan", "tsan")

    def _env(self):
        """The environment with the sanitizers' reports sent to files of ours."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("DEEPINFER_")}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            inherited = [env[name]] if name in env else []
            env[name] = ":".join([*inherited, f"log_path={self._scratch}/sanitizer"])
        return env

    def sanitizer_reports(self):
        return "\n".join(
            path.read_text(errors="replace") for path in sorted(self._scratch.glob("sanitizer.*"))
        )

    def start_server(self, model_dir, *flags, program="deepinfer-server", port=None):
        port = port or free_port()
        command = [self.bin_dir / program, *([model_dir] if model_dir else []), "--port", port, *flags]
        server = ServerProcess(
            [str(part) for part in command],
            self._env(),
            self._scratch / f"{program}-{port}.log",
            port,
            self.patience_s,
        )
        self._servers.append(server)
        return server

    def run(self, program, *arguments, stdin=""):
        """Runs a program to its end and returns the completed process, output as text."""
        return subprocess.run(
            [str(self.bin_dir / program), *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env=self._env(),
            timeout=self.patience_s * 2,
        )

    def stop_all(self):
        for server in self._servers:
            server.stop()
