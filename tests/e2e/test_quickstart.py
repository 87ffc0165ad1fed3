"""scripts/quickstart.sh, the first thing a newcomer runs."""

import socket
import subprocess

from programs import ROOT, free_port


def quickstart(*flags):
    return subprocess.run(
        [ROOT / "scripts/quickstart.sh", "--no-wait", *map(str, flags)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )


def test_quickstart_chats_and_leaves_nothing_running():
    port = free_port()
    done = quickstart("--port", port)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "one question, answered token by token" in done.stdout
    assert f"http://127.0.0.1:{port}/v1" in done.stdout
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", port))


def test_quickstart_refuses_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = quickstart("--port", port)
    assert done.returncode == 1
    assert f"port {port} is taken" in done.stderr
