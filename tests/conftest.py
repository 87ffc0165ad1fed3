"""Options of every Python test; scripts/test.sh sets them."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True


def pytest_addoption(parser):
    parser.addoption(
        "--bin-dir",
        type=Path,
        default=ROOT / "build" / "release" / "bin",
        help="folder of the programs under test",
    )
    parser.addoption(
        "--build-kind",
        choices=("dev", "release", "asan", "tsan"),
        default="release",
        help="how they were built: a sanitizer build takes a smaller grid and more patience",
    )
