"""The table of field cases says what the tests are, and the check notices when it does not."""

import pytest
from field_cases import CASES, ROOT, TABLE, ids_of, named_tests, problems, updated


def test_the_table_is_up_to_date():
    found = problems((ROOT / TABLE).read_text(), ROOT)
    assert not found, "\n".join(["run tests/scripts/field_cases.py:", *found])


def test_there_are_all_cases():
    assert len(CASES) == len(set(CASES)) == 160


def test_ids_come_from_the_front_of_a_name():
    assert ids_of("S03_S04_UsageComesOnce") == ["S03", "S04"]
    assert ids_of("test_w03_one_token") == ["W03"]
    assert ids_of("AnswersPlain_S03_") == []


@pytest.fixture
def tree(tmp_path):
    """A test file with one named test of each language, and a table that fits."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/a_test.cc").write_text("TEST_F(FieldCaseServer,\n       V01_Works) {}\n")
    (tmp_path / "tests/test_b.py").write_text("def test_v02_v01_works(x):\n    pass\n")
    lines = [f"| {case} | words |  | not yet: later |" for case in CASES]
    lines[0] = "| V01 | words | `a_test.cc:V01_Works`<br>`test_b.py:test_v02_v01_works` | |"
    lines[1] = "| V02 | words | `test_b.py:test_v02_v01_works` | open: the rest |"
    return tmp_path, "\n".join(lines)


def test_a_fitting_table_passes(tree):
    assert problems(tree[1], tree[0]) == []
    assert len(named_tests(tree[0])) == 3


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("a_test.cc:V01_Works", "a_test.cc:V01_Gone", "V01: the table has"),
        ("| V03 | words |  | not yet: later |", "| V03 | words |  |  |", "V03: 0 tests"),
        ("| open: the rest |", "| not yet: later |", "V02: 1 tests"),
        ("| open: the rest |", "| some of it |", "begins with 'open: '"),
        ("| P03 | words |  | not yet: later |", "", "missing: ['P03']"),
    ],
)
def test_a_wrong_table_is_found(tree, old, new, word):
    (problem,) = problems(tree[1].replace(old, new), tree[0])
    assert word in problem


def test_a_test_of_no_case_is_found(tree):
    (tree[0] / "tests/c_test.cc").write_text("TEST(FieldCase, V99_Odd) {}\nTEST(FieldCase, Odd) {}\n")
    assert len(problems(tree[1], tree[0])) == 2


def test_updating_makes_it_fit(tree):
    stale = tree[1].replace("a_test.cc:V01_Works", "a_test.cc:V01_Gone")
    assert problems(updated(stale, tree[0]), tree[0]) == []
