# SPDX-License-Identifier: GPL-2.0
"""Tests of reading what unittest and cargo print."""

import io
import tempfile
import unittest
from pathlib import Path

from rbdev import style
from rbdev.report import Report


def read(reader, text, status=0):
    report = Report(out=io.StringIO())
    with report.group("x") as group:
        reader(group, text.splitlines(), status)
    return [(test.name, test.result) for test in group.tests]


class Cargo(unittest.TestCase):
    TEXT = """
running 3 tests
test a::b ... ok
test a::c ... ignored, slow
test d - should panic ... ok
"""

    def test_results(self):
        found = read(style.cargo_results, self.TEXT)
        self.assertEqual(found, [("a::b", "pass"), ("a::c", "skip"), ("d", "pass")])

    def test_failure(self):
        text = "test a ... FAILED\n---- a stdout ----\nbecause\n\nfailures:\n"
        self.assertEqual(read(style.cargo_results, text, 101), [("a", "fail")])
        self.assertEqual(style.panic_of("a", text.splitlines()), ["because", ""])

    def test_nothing_run(self):
        self.assertEqual(read(style.cargo_results, "running 0 tests"), [("cargo runs tests", "fail")])

    def test_status_without_a_failure(self):
        self.assertIn(("cargo test ends well", "fail"), read(style.cargo_results, self.TEXT, 101))

    def test_same_name_in_two_programs(self):
        self.assertEqual(len({name for name, _ in read(style.cargo_results, self.TEXT * 2)}), 6)


class Unit(unittest.TestCase):
    def test_results(self):
        text = (
            "test_a (tests.test_x.Y.test_a) ... ok\n"
            "test_b (tests.test_x.Y.test_b) ... FAIL\n"
            "test_c (tests.test_x.Y.test_c) ... skipped 'no'\nRan 3 tests in 0.1s\n"
        )
        found = read(style.unit_results, text, 1)
        self.assertEqual(found, [("test_x.Y.test_a", "pass"), ("test_x.Y.test_b", "fail"), ("test_x.Y.test_c", "skip")])

    def test_nothing_run(self):
        self.assertEqual(read(style.unit_results, "Ran 0 tests in 0.0s\n")[0][1], "fail")

    def test_status_without_a_failure(self):
        text = "test_a (tests.test_x.Y.test_a) ... ok\nRan 1 test in 0.1s\n"
        self.assertEqual(read(style.unit_results, text, 1)[-1][1], "fail")


class Sources(unittest.TestCase):
    def test_driver_sources(self):
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder)
            names = ("a.rs", "b/c.rs", "selftests/d.rs", "tools/e.rs", "x_bindings.rs", ".git/f.rs")
            for name in names:
                (project / name).parent.mkdir(parents=True, exist_ok=True)
                (project / name).touch()
            found = [str(file.relative_to(project)) for file in style.driver_sources(project)]
            self.assertEqual(found, ["a.rs", "b/c.rs"])


if __name__ == "__main__":
    unittest.main()
