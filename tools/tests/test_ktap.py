# SPDX-License-Identifier: GPL-2.0
"""Tests of the KTAP parser: above all, that it sees each kind of failure."""

import unittest

from rbdev import ktap


def parse(text, status=0):
    parser = ktap.Parser("prog")
    found = []
    for line in text.splitlines():
        found += parser.feed(line)
    found += parser.finish(status)
    assert sorted(map(id, found)) == sorted(map(id, parser.tests)), "each test is returned once"
    return parser.tests


def summary(tests):
    return [(test.name, test.result) for test in tests]


class Simple(unittest.TestCase):
    def test_passes_and_failures(self):
        tests = parse("KTAP version 1\n1..2\nok 1 a\n# why\nnot ok 2 b\n", 1)
        self.assertEqual(summary(tests), [("a", "pass"), ("b", "fail")])
        self.assertEqual(tests[1].notes, ["why"])
        self.assertEqual(tests[1].program, "prog")

    def test_skip_has_a_reason(self):
        tests = parse("KTAP version 1\n1..1\nok 1 a # SKIP no device\n")
        self.assertEqual((tests[0].name, tests[0].result, tests[0].reason), ("a", "skip", "no device"))

    def test_todo_that_fails_is_no_failure_but_one_that_passes_is(self):
        tests = parse("TAP version 13\n1..2\nnot ok 1 a # TODO later\nok 2 b # TODO later\n")
        self.assertEqual(summary(tests), [("a", "skip"), ("b", "fail")])

    def test_dash_and_missing_name(self):
        tests = parse("KTAP version 1\n1..2\nok 1 - with a dash\nok 2\n")
        self.assertEqual(summary(tests), [("with a dash", "pass"), ("test 2", "pass")])

    def test_whole_document_skipped(self):
        self.assertEqual(summary(parse("KTAP version 1\n1..0 # SKIP not here\n")), [("the program", "skip")])

    def test_timeout_is_a_failure(self):
        self.assertEqual(summary(parse("KTAP version 1\n1..1\nok 1 a # TIMEOUT\n")), [("a", "fail")])


class Broken(unittest.TestCase):
    def failures(self, text, status=0):
        return [test.name for test in parse(text, status) if test.failed]

    def test_missing_result(self):
        self.assertEqual(self.failures("KTAP version 1\n1..3\nok 1 a\n"), ["test 2", "test 3"])

    def test_more_results_than_planned(self):
        self.assertEqual(self.failures("KTAP version 1\n1..1\nok 1 a\nok 2 b\n"), ["the plan"])

    def test_no_plan(self):
        self.assertEqual(self.failures("KTAP version 1\nok 1 a\n"), ["the plan"])

    def test_plan_at_the_end_is_a_plan(self):
        self.assertEqual(self.failures("KTAP version 1\nok 1 a\n1..1\n"), [])

    def test_two_plans(self):
        self.assertEqual(self.failures("KTAP version 1\n1..1\n1..1\nok 1 a\n"), ["the plan"])

    def test_number_out_of_order(self):
        self.assertEqual(self.failures("KTAP version 1\n1..2\nok 2 b\n"), ["b"])

    def test_name_twice(self):
        self.assertEqual(self.failures("KTAP version 1\n1..2\nok 1 a\nok 2 a\n"), ["a"])

    def test_nothing_printed(self):
        self.assertEqual(self.failures(""), ["the program has tests"])
        self.assertEqual(self.failures("KTAP version 1\n1..0\n"), ["the program has tests"])

    def test_bail_out(self):
        names = self.failures("KTAP version 1\n1..1\nBail out! no device\n", 1)
        self.assertEqual(names[0], "the program")

    def test_status_without_a_failed_test(self):
        self.assertEqual(self.failures("KTAP version 1\n1..1\nok 1 a\n", 1), ["the program ends well"])
        self.assertEqual(self.failures("KTAP version 1\n1..1\nnot ok 1 a\n", 1), ["a"])

    def test_program_that_never_ends(self):
        self.assertEqual(self.failures("KTAP version 1\n1..1\nok 1 a\n", None), ["the program ends"])


class Nested(unittest.TestCase):
    TEXT = """KTAP version 1
1..2
    KTAP version 1
    # Subtest: group
    1..2
    ok 1 x
    {second}
{result} 1 group
ok 2 alone
"""

    def test_parents_name_their_children(self):
        tests = parse(self.TEXT.format(second="ok 2 y", result="ok"))
        self.assertEqual(summary(tests), [("group.x", "pass"), ("group.y", "pass"), ("alone", "pass")])

    def test_failure_inside(self):
        tests = parse(self.TEXT.format(second="not ok 2 y", result="not ok"), 1)
        self.assertEqual([test.name for test in tests if test.failed], ["group.y"])

    def test_parent_that_disagrees(self):
        tests = parse(self.TEXT.format(second="ok 2 y", result="not ok"), 1)
        self.assertEqual([test.name for test in tests if test.failed], ["group"])

    def test_missing_inside(self):
        tests = parse(self.TEXT.format(second="# nothing", result="ok"))
        self.assertEqual([test.name for test in tests if test.failed], ["group.test 2"])


class Quote(unittest.TestCase):
    def test_lines(self):
        self.assertEqual(ktap.quote(ktap.Test("a", "pass"), 1), "ok 1 a")
        self.assertEqual(ktap.quote(ktap.Test("a", "skip", "why"), 2), "ok 2 a # SKIP why")
        self.assertEqual(ktap.quote(ktap.Test("a", "fail", "why"), 3), "not ok 3 a # why")


if __name__ == "__main__":
    unittest.main()
