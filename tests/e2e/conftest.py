"""Runs the real programs for the tests of this folder."""

import sys
from pathlib import Path

import openai
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from programs import Programs, ROOT  # noqa: E402


@pytest.fixture(scope="session")
def programs(request, tmp_path_factory):
    bin_dir = request.config.getoption("--bin-dir").resolve()
    if not (bin_dir / "deepinfer-server").exists():
        pytest.fail(f"no programs in {bin_dir}: build first, or name the folder with --bin-dir")
    kind = request.config.getoption("--build-kind")
    started = Programs(bin_dir, kind, tmp_path_factory.mktemp("programs"))
    yield started
    started.stop_all()
    assert started.sanitizer_reports() == ""


@pytest.fixture(scope="session")
def server(programs):
    """A server with the small golden checkpoint, shared by the tests that leave it as it was."""
    return programs.start_server(ROOT / "tests/data/tiny-a", "--served-model-name", "tiny")


@pytest.fixture(scope="session")
def client(server):
    with openai.OpenAI(
        base_url=f"{server.url}/v1", api_key="unused", max_retries=0, timeout=server.patience_s
    ) as made:
        yield made


def pytest_ignore_collect(collection_path, config):
    """The quickstart builds and runs the release build whatever is under test."""
    kind = config.getoption("--build-kind")
    return True if collection_path.name == "test_quickstart.py" and kind != "release" else None
