"""Command line options and paths of the tests."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", type=Path, help="folder with golden checkpoints (tiny-a, tiny-b)")
    parser.addoption("--v41ref", type=Path, help="folder that contains the v41ref package")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Path:
    path = request.config.getoption("--golden")
    if path is None:
        pytest.skip("needs --golden DIR")
    return path


@pytest.fixture
def v41ref(request: pytest.FixtureRequest) -> Path:
    path = request.config.getoption("--v41ref")
    if path is None:
        pytest.skip("needs --v41ref DIR")
    sys.path.insert(0, str(path))
    return path
