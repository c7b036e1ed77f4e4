# SPDX-License-Identifier: GPL-2.0
"""Tests of the choice of steps and kernels, and of the KUnit suites."""

import argparse
import io
import unittest

from rbdev import check, ktap
from rbdev.errors import Failure
from rbdev.report import Report

RESULTS = """\
KTAP version 1
1..1
    KTAP version 1
    # Subtest: rust_binder_link
    1..2
    # first.speed: normal
    ok 1 first
    # second.speed: normal
    # second: ASSERTION FAILED at ffi/link.rs:9
    Expected a == b to be true, but is false
    not ok 2 second
    # speed: normal
# rust_binder_link: pass:1 fail:1 skip:0 total:2
# Totals: pass:1 fail:1 skip:0 total:2
not ok 1 rust_binder_link
"""


def options(steps="", tests="*"):
    return argparse.Namespace(steps=steps, tests=tests)


class Choice(unittest.TestCase):
    def test_stock_and_debug_are_booted_by_default(self):
        self.assertEqual(check.kernel_names(""), ["stock", "debug"])
        self.assertEqual(check.kernel_names("debug-cfi"), ["debug-cfi"])
        with self.assertRaisesRegex(Failure, "KERNEL=other"):
            check.kernel_names("stock,other")

    def test_a_kernel_chooses_its_steps(self):
        everything = check.chosen(options(), ["stock", "debug"])
        self.assertEqual(everything, list(check.STEPS))
        self.assertEqual(check.chosen(options(), ["debug"]), ["debug"])
        self.assertEqual(check.chosen(options(), ["stock"]), [step for step in check.STEPS if step != "debug"])

    def test_given_steps_are_run_in_their_order(self):
        self.assertEqual(check.chosen(options("debug,style"), ["stock", "debug"]), ["style", "debug"])
        self.assertEqual(check.chosen(options(tests="ioctl"), ["stock", "debug"]), ["tests", "debug"])

    def test_number_of_session_steps(self):
        self.assertEqual(check.steps_of_sessions("0"), 0)
        self.assertEqual(check.steps_of_sessions("500"), 500)
        with self.assertRaisesRegex(Failure, "SESSION_STEPS=-1"):
            check.steps_of_sessions("-1")

    def test_steps_without_a_kernel_are_refused(self):
        with self.assertRaisesRegex(Failure, "has nothing for the kernel"):
            check.chosen(options("debug"), ["stock"])
        with self.assertRaisesRegex(Failure, "no step"):
            check.chosen(options("stile"), ["stock"])


class KUnit(unittest.TestCase):
    def suites(self, tests):
        text = io.StringIO()
        report = Report(out=text)
        check.suites(report, "debug", {"kunit": tests})
        return report.finish()

    def test_results_are_read(self):
        parser = ktap.Parser("rust_binder_link")
        tests = [test for line in RESULTS.splitlines() for test in parser.feed(line)] + parser.finish(0)
        self.assertEqual([(test.name, test.result) for test in tests],
                         [("rust_binder_link.first", ktap.PASS), ("rust_binder_link.second", ktap.FAIL)])
        self.assertIn("second: ASSERTION FAILED at ffi/link.rs:9", tests[1].notes)

    def test_no_test_fails_the_run(self):
        self.assertEqual(self.suites([]), 1)
        # That suites are missed is no test of theirs.
        self.assertEqual(self.suites([ktap.Test("module_has_suites", ktap.PASS, program="suites")]), 1)
        skipped = ktap.Test("rust_binder_link.a", ktap.SKIP, program="rust_binder_link")
        self.assertEqual(self.suites([skipped]), 1)

    def test_one_test_is_enough(self):
        self.assertEqual(self.suites([ktap.Test("rust_binder_link.a", ktap.PASS, program="rust_binder_link")]), 0)


if __name__ == "__main__":
    unittest.main()
