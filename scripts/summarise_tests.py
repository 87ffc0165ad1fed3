#!/usr/bin/env python3
"""Adds up test results and prints every failed and skipped one by name.

    scripts/summarise_tests.py BUILD_DIR…

BUILD_DIR/results holds what scripts/test.sh leaves: ctest.xml (JUnit of ctest, one case per
program), gtest/*.xml (the cases inside each program) and pytest*.xml. The last line is
`N passed, N failed, N skipped`. Exit 1 if something failed or nothing passed.
"""

import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Totals:
    passed: int = 0
    failed: list = field(default_factory=list)
    skipped: list = field(default_factory=list)


def add_cases(totals, where, xml):
    """Counts the <testcase> elements of a gtest or pytest file; returns how many failed."""
    before = len(totals.failed)
    for case in ET.parse(xml).getroot().iter("testcase"):
        name = f"{where}: {case.get('classname')}.{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            totals.failed.append(name)
        elif skipped is not None or case.get("status") == "notrun":
            reason = (skipped.get("message") or "") if skipped is not None else "disabled"
            totals.skipped.append(f"{name}: {reason.strip() or 'no reason given'}")
        else:
            totals.passed += 1
    return len(totals.failed) - before


def add_ctest(totals, preset, results):
    """A program's own file says more than ctest; ctest knows of crashes and time-outs."""
    for case in ET.parse(results / "ctest.xml").getroot().iter("testcase"):
        program = case.get("name")
        where = f"{preset}: {program}"
        inner = results / "gtest" / f"{program}.xml"
        failed_inside = add_cases(totals, preset, inner) if inner.exists() else 0
        status = case.get("status")
        if status == "run" or case.find("skipped") is not None:
            if not inner.exists():
                if status == "run":
                    totals.passed += 1
                else:
                    totals.skipped.append(f"{where}: {case.find('skipped').get('message')}")
        elif failed_inside == 0:
            totals.failed.append(f"{where}: the program failed, crashed or ran out of time")


def main():
    totals = Totals()
    for name in sys.argv[1:]:
        preset, results = Path(name).name, Path(name) / "results"
        if not (results / "ctest.xml").exists():
            totals.failed.append(f"{preset}: the C++ tests did not run")
        else:
            add_ctest(totals, preset, results)
        python_results = sorted(results.glob("pytest*.xml"))
        if not python_results:
            totals.failed.append(f"{preset}: the Python tests did not run")
        for xml in python_results:
            add_cases(totals, preset, xml)
    for entry in totals.skipped:
        print(f"skipped  {entry}")
    for entry in totals.failed:
        print(f"FAILED   {entry}")
    print(f"{totals.passed} passed, {len(totals.failed)} failed, {len(totals.skipped)} skipped")
    sys.exit(1 if totals.failed or totals.passed == 0 else 0)


if __name__ == "__main__":
    main()
