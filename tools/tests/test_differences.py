# SPDX-License-Identifier: GPL-2.0
"""Tests of the comparison with the C driver."""

import tempfile
import tomllib
import unittest
from pathlib import Path

from rbdev import differences, ktap, tree
from rbdev.errors import Failure

TEXT = "# comment\n\nprog test_a : the C driver is odd\n"


def test(name, result, program="prog"):
    return ktap.Test(name, result, program=program)


class Sessions(unittest.TestCase):
    def test_every_entry_leads_to_the_documentation(self):
        listed = tomllib.loads((tree.PROJECT / "selftests/differences.d/sessions.toml").read_text(encoding="utf-8"))
        labels = (tree.PROJECT / "Documentation/differences.rst").read_text(encoding="utf-8").splitlines()
        for entry in listed["difference"]:
            self.assertIn(entry["see"], labels, f"label of the entry {entry['name']!r}")


class Judge(unittest.TestCase):
    def setUp(self):
        self.list = differences.Differences(differences.parse(TEXT, "list"))

    def test_listed_failure_is_expected(self):
        verdict = self.list.judge(test("test_a", ktap.FAIL))
        self.assertEqual(verdict.result, ktap.PASS)
        self.assertIn("the C driver is odd", verdict.reason)

    def test_failure_not_listed(self):
        verdict = self.list.judge(test("test_b", ktap.FAIL))
        self.assertTrue(verdict.failed)
        self.assertIn("no list says so", verdict.reason)

    def test_same_test_of_another_program_is_not_listed(self):
        self.assertTrue(self.list.judge(test("test_a", ktap.FAIL, "other")).failed)

    def test_listed_test_that_passes(self):
        verdict = self.list.judge(test("test_a", ktap.PASS))
        self.assertTrue(verdict.failed)
        self.assertIn("list:3", verdict.reason)

    def test_other_results_stay(self):
        self.assertEqual(self.list.judge(test("test_b", ktap.PASS)).result, ktap.PASS)
        self.assertEqual(self.list.judge(test("test_a", ktap.SKIP)).result, ktap.SKIP)

    def test_listed_test_that_is_gone(self):
        gone = self.list.unseen([test("test_b", ktap.PASS)])
        self.assertEqual([(t.name, t.failed) for t in gone], [("test_a", True)])
        self.assertEqual(self.list.unseen([test("x", ktap.PASS, "other")]), [])
        self.assertEqual(self.list.unseen([test("test_a", ktap.FAIL)]), [])


class Load(unittest.TestCase):
    def test_line_without_a_reason(self):
        with self.assertRaises(Failure):
            differences.parse("prog test_a\n", "list")

    def test_files_are_joined_and_lines_unique(self):
        with tempfile.TemporaryDirectory() as folder:
            selftests = Path(folder, "selftests")
            (selftests / "differences.d").mkdir(parents=True)
            self.assertEqual(len(differences.load(selftests)), 0)
            (selftests / "differences.txt").write_text(TEXT)
            other = selftests / "differences.d" / "more.txt"
            other.write_text("prog test_b : another reason: with a colon\n")
            self.assertEqual(len(differences.load(selftests)), 2)
            other.write_text(TEXT)
            with self.assertRaises(Failure):
                differences.load(selftests)


if __name__ == "__main__":
    unittest.main()
