"""The summary counts what happened, and fails when it should."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/summarise_tests.py"

GTEST = """<testsuites><testsuite name="A">
  <testcase name="One" classname="A" status="run" result="completed"/>
  <testcase name="Two" classname="A" status="run" result="skipped"><skipped message="no avx2"/></testcase>
  {extra}
</testsuite></testsuites>"""
PYTEST = """<testsuites><testsuite><testcase classname="t" name="ok"/>
  {extra}</testsuite></testsuites>"""


def ctest(status):
    return f'<testsuite><testcase name="a_test" status="{status}"/></testsuite>'


@pytest.fixture
def build(tmp_path):
    """A build folder named release with one program (1 passed, 1 skipped) and one Python test."""
    results = tmp_path / "release" / "results"
    (results / "gtest").mkdir(parents=True)
    (results / "ctest.xml").write_text(ctest("run"))
    (results / "gtest/a_test.xml").write_text(GTEST.format(extra=""))
    (results / "pytest-e2e.xml").write_text(PYTEST.format(extra=""))
    return tmp_path / "release"


def summarise(*builds):
    done = subprocess.run(
        [sys.executable, SCRIPT, *builds], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    return done.returncode, lines[:-1], lines[-1]


def test_counts_cases_inside_programs_and_names_the_skipped(build):
    code, lines, last = summarise(build)
    assert (code, last) == (0, "2 passed, 0 failed, 1 skipped")
    assert lines == ["skipped  release: A.Two: no avx2"]


def test_adds_presets_up(build):
    assert summarise(build, build)[2] == "4 passed, 0 failed, 2 skipped"


def test_a_failed_case_fails_once(build):
    failed = '<testcase name="Bad" classname="A" status="run"><failure message="x"/></testcase>'
    (build / "results/gtest/a_test.xml").write_text(GTEST.format(extra=failed))
    (build / "results/ctest.xml").write_text(ctest("fail"))
    code, lines, last = summarise(build)
    assert (code, last) == (1, "2 passed, 1 failed, 1 skipped")
    assert "FAILED   release: A.Bad" in lines


def test_a_crashed_program_fails_though_its_cases_passed(build):
    (build / "results/ctest.xml").write_text(ctest("fail"))
    code, lines, last = summarise(build)
    assert (code, last) == (1, "2 passed, 1 failed, 1 skipped")
    assert any("a_test: the program failed" in line for line in lines)


def test_a_program_without_cases_counts_as_one(build):
    (build / "results/gtest/a_test.xml").unlink()
    assert summarise(build)[2] == "2 passed, 0 failed, 0 skipped"


def test_a_failed_python_test_fails(build):
    failed = '<testcase classname="t" name="bad"><failure message="x"/></testcase>'
    (build / "results/pytest-e2e.xml").write_text(PYTEST.format(extra=failed))
    assert summarise(build)[::2] == (1, "2 passed, 1 failed, 1 skipped")


@pytest.mark.parametrize("name", ["ctest.xml", "pytest-e2e.xml"])
def test_results_that_are_not_there_fail(build, name):
    (build / "results" / name).unlink()
    code, lines, _ = summarise(build)
    assert code == 1
    assert any("did not run" in line for line in lines)


def test_nothing_at_all_fails(tmp_path):
    assert summarise(tmp_path / "none")[0] == 1
