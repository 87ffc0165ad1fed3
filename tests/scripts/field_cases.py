#!/usr/bin/env python3
"""docs/field-cases.md and the tests that name its cases: what stands in the table, what is there.

    tests/scripts/field_cases.py     brings the table's column of tests up to date
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path("docs/field-cases.md")

# Cases by group.
GROUPS = {
    "V": 18, "H": 8, "S": 20, "R": 14, "T": 22, "W": 5, "L": 2, "G": 10, "C": 6, "O": 5,
    "K": 6, "X": 3, "E": 4, "F": 11, "M": 6, "A": 4, "D": 3, "Y": 10, "P": 3,
}  # fmt: skip
CASES = [f"{group}{n:02}" for group, count in GROUPS.items() for n in range(1, count + 1)]

CPP_TEST = re.compile(
    r"\bTEST(?:_F|_P)?\(\s*(?:FieldCase\w*,\s*(?=\w)|\w+,\s*(?=[A-Z]\d\d_))(\w+)\)"
)
PYTHON_TEST = re.compile(r"^def (test_(?:[a-z]\d\d_)+\w+)\(", re.M)
ROW = re.compile(r"^\| ([A-Z]\d\d) \| (.*?) \| (.*?) \| (.*?) ?\|$", re.M)


@dataclass
class Row:
    case: str
    words: str
    tests: list[str]
    note: str

    def line(self):
        tests = "<br>".join(f"`{test}`" for test in self.tests)
        return f"| {self.case} | {self.words} | {tests} | {self.note} |"


def rows(text):
    return [
        Row(case, words, re.findall(r"`(.+?)`", tests), note.strip())
        for case, words, tests, note in ROW.findall(text)
    ]


def ids_of(name):
    """Cases that a test's name begins with: `S03_S04_UsageComesOnce` → S03, S04."""
    name = name.removeprefix("test_")
    name = name if name[0].isupper() else name.upper()
    ids = []
    while match := re.match(r"([A-Z]\d\d)_", name):
        ids.append(match[1])
        name = name[match.end() :]
    return ids


def named_tests(root):
    """(case, file:name) of every test that names cases; the file is relative to tests/."""
    found = []
    for file in sorted((root / "tests").rglob("*")):
        pattern = {".cc": CPP_TEST, ".py": PYTHON_TEST}.get(file.suffix)
        if pattern is None or file.parent.name == "scripts":
            continue
        for name in pattern.findall(file.read_text()):
            reference = f"{file.relative_to(root / 'tests')}:{name}"
            found += [(case, reference) for case in ids_of(name) or ["none"]]
    return found


def updated(text, root):
    """The table with the tests as they are."""
    tests = named_tests(root)
    for row in rows(text):
        old = re.search(rf"^\| {row.case} \| .*$", text, re.M)[0]
        row.tests = [reference for case, reference in tests if case == row.case]
        text = text.replace(old, row.line())
    return text


def problems(text, root):
    """What is wrong with the table `text`, a line each."""
    table = rows(text)
    wrong = []
    if [row.case for row in table] != CASES:
        missing = sorted(set(CASES) - {row.case for row in table})
        wrong.append(f"the table is not the {len(CASES)} cases in order; missing: {missing}")
    tests = named_tests(root)
    for case, reference in tests:
        if case not in CASES:
            wrong.append(f"{reference}: names no case")
    for row in table:
        actual = [reference for case, reference in tests if case == row.case]
        if row.tests != actual:
            wrong.append(f"{row.case}: the table has {row.tests}, the tests are {actual}")
        excused = row.note.startswith(("not yet: ", "does not apply: "))
        if bool(actual) == excused:
            wrong.append(f"{row.case}: {len(actual)} tests, and the note says '{row.note}'")
        if not excused and row.note and not row.note.startswith("open: "):
            wrong.append(f"{row.case}: a note beside tests begins with 'open: '")
    return wrong


def main():
    path = ROOT / TABLE
    path.write_text(updated(path.read_text(), ROOT))
    found = problems(path.read_text(), ROOT)
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
