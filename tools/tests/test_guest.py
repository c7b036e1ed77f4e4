# SPDX-License-Identifier: GPL-2.0
"""Tests of what becomes of the guest's output: every kind of failure fails the run."""

import io
import shutil
import subprocess
import unittest
from types import SimpleNamespace
from unittest import mock

from rbdev import guest
from rbdev.errors import Failure
from rbdev.report import Report

GOOD = "@@ begin ours prog\nKTAP version 1\n1..1\nok 1 a\n@@ end ours prog 0\n"


def outcome(output="", status=0, klog=("[ 1.0] Linux",)):
    return SimpleNamespace(status=status, output=output.splitlines(), klog=list(klog), seconds=1.0)


def boot(*outcomes):
    """Boots with prepared outcomes; returns the exit status and what was printed."""
    text = io.StringIO()
    report = Report(out=text)
    left = list(outcomes)

    def run(_kernel, _files, _script, on_line, **_):
        now = left.pop(0)
        for line in now.output:
            on_line(line)
        return now

    with mock.patch("rbdev.vm.run", run):
        guest.boot(report, None, "x", {}, "", title=lambda mark, program: f"{program} on {mark}")
    return report.finish(), text.getvalue()


class Boot(unittest.TestCase):
    def test_good_run(self):
        status, text = boot(outcome(GOOD))
        self.assertEqual(status, 0)
        self.assertTrue(text.endswith("\n3 passed, 0 failed, 0 skipped\n"))
        self.assertIn("    # Subtest: prog on ours\n    ok 1 a\n    1..1\nok 1 prog on ours\n", text)

    def test_failed_test_fails_the_run_and_is_explained(self):
        status, text = boot(outcome(GOOD.replace("ok 1 a", "# because\nnot ok 1 a")))
        self.assertEqual(status, 1)
        self.assertIn("# because", text)
        self.assertTrue(text.endswith("\n2 passed, 1 failed, 0 skipped\n"))

    def test_no_test_program_at_all(self):
        status, text = boot(outcome(""))
        self.assertEqual(status, 1)
        self.assertIn("ran no test program", text)

    def test_notes_are_shown_at_once(self):
        _, text = boot(outcome(GOOD.replace("ok 1 a", "@@ note half of it\nok 1 a")))
        self.assertIn("    # half of it\n    ok 1 a\n", text)

    def test_program_without_tests(self):
        self.assertEqual(boot(outcome("@@ begin ours prog\n@@ end ours prog 0\n"))[0], 1)

    def test_program_killed_by_its_time_limit(self):
        status, text = boot(outcome(GOOD.replace("end ours prog 0", "end ours prog 137")))
        self.assertEqual(status, 1)
        self.assertIn("did not end in time", text)

    def test_guest_that_dies_within_a_program(self):
        status, text = boot(outcome(GOOD.splitlines()[0] + "\nKTAP version 1\n1..2\nok 1 a\n", None))
        self.assertEqual(status, 1)
        self.assertIn("not ok 2 test 2", text)
        self.assertIn("the end of its kernel log", text)

    def test_status_of_the_script(self):
        self.assertEqual(boot(outcome(GOOD, 1))[0], 1)

    def test_finding_in_the_kernel_log(self):
        status, text = boot(outcome(GOOD, klog=["[ 1.0] WARNING: CPU: 0 PID: 1 at x"]))
        self.assertEqual(status, 1)
        self.assertIn("the kernel log says", text)

    def test_no_kernel_log(self):
        self.assertEqual(boot(outcome(GOOD, klog=[]))[0], 1)


class Reports(unittest.TestCase):
    def test_nothing_run_is_a_failure(self):
        text = io.StringIO()
        self.assertEqual(Report(out=text).finish(), 1)
        self.assertTrue(text.getvalue().endswith("\n0 passed, 1 failed, 0 skipped\n"))

    def test_group_without_tests_is_a_failure(self):
        report = Report(out=io.StringIO())
        with report.group("empty"):
            pass
        self.assertEqual(report.finish(), 1)

    def test_step_that_cannot_be_done_is_a_failure(self):
        report = Report(out=io.StringIO())
        with report.group("step") as group:
            group.ok("first")
            raise Failure("x", "y", "z")
        self.assertEqual(report.finish(), 1)

    def test_attempt(self):
        report = Report(out=io.StringIO())

        def fails():
            raise Failure("x", "y", "z")

        with report.group("step") as group:
            self.assertEqual(group.attempt("good", lambda: 5), 5)
            self.assertIsNone(group.attempt("bad", fails))
        self.assertEqual(dict(report.counts), {"pass": 1, "fail": 1})


class Select(unittest.TestCase):
    PROGRAMS = {name: None for name in ("binder-demo", "binder-test-mmap", "binder-test-basic")}

    def test_patterns(self):
        for pattern, names in (
            ("*", ["binder-test-basic", "binder-test-mmap"]),
            ("", ["binder-test-basic", "binder-test-mmap"]),
            ("mmap", ["binder-test-mmap"]),
            ("b*", ["binder-test-basic"]),
            ("binder-test-m*", ["binder-test-mmap"]),
            ("basic,mmap", ["binder-test-basic", "binder-test-mmap"]),
            ("demo", []),
        ):
            with self.subTest(pattern=pattern):
                self.assertEqual(guest.select(self.PROGRAMS, pattern), names)


class Scripts(unittest.TestCase):
    def test_all_scripts_are_shell(self):
        for file in guest.SCRIPTS.glob("*.sh"):
            done = subprocess.run(["sh", "-n", file], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(shutil.which("busybox"), "busybox is not installed")
    def test_cases_of_a_script_become_tests(self):
        text = guest.script() + 'begin g p\nexpect "good" true\nrefused "bad" true\nskip "later" "why"\nfinish\n'
        run = subprocess.run(["busybox", "sh", "-c", text], capture_output=True, text=True, check=False)
        report = Report(out=io.StringIO())
        collector = guest.Collector(report, lambda mark, program: program)
        for line in run.stdout.splitlines():
            collector.line(line)
        collector.finish()
        found = [(test.name, test.result) for test in collector.seen["g"]]
        self.assertEqual(found, [("good", "pass"), ("bad", "fail"), ("later", "skip")])


if __name__ == "__main__":
    unittest.main()
