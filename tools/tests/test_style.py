# SPDX-License-Identifier: GPL-2.0
"""Tests of reading what unittest and cargo print."""

import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from rbdev import style, tree
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


class PureFiles(unittest.TestCase):
    def test_tests_of_the_driver_run_on_the_host_and_in_kunit(self):
        crate = (tree.PROJECT / "selftests/pure/src/lib.rs").read_text(encoding="utf-8")
        for file in style.driver_sources(tree.PROJECT):
            text = file.read_text(encoding="utf-8")
            if "#[test]" not in text:
                continue
            # Below a folder tests/ is what only the host can run.
            module = file.with_suffix("").relative_to(tree.PROJECT)
            with self.subTest(file=file):
                self.assertTrue(any(f"mod {part};" in crate for part in module.parts), "not in the crate of the host tests")
                if module.parts[-2:-1] != ("tests",):
                    self.assertIn("kernel::macros::kunit_tests(rust_binder_", text)


class Miri(unittest.TestCase):
    def run_miri(self, *answers):
        report, left = Report(out=io.StringIO()), list(answers)
        with mock.patch("rbdev.style.captured", lambda argv, **_: left.pop(0)), \
                mock.patch("shutil.which", return_value="cargo"), mock.patch("rbdev.tree.build_folder", return_value=Path("/b")):
            style.miri(report)
        return dict(report.counts)

    def test_a_machine_without_it_skips(self):
        self.assertEqual(self.run_miri((1, ["error: no such toolchain"])), {"skip": 1})

    def test_results_count(self):
        self.assertEqual(self.run_miri((0, ["miri 0.1.0"]), (0, ["test a ... ok"])), {"pass": 1})
        self.assertEqual(self.run_miri((0, ["miri 0.1.0"]), (1, ["error: Undefined Behavior: x"])), {"fail": 1})

    def test_its_time_is_bounded(self):
        with mock.patch("rbdev.style.MIRI_LIMIT", 0.2):
            status, lines = style.captured(["sh", "-c", "echo begun; sleep 60"])
        self.assertEqual((status, lines[0]), (124, "begun"))


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
