# SPDX-License-Identifier: GPL-2.0
"""The output of `make check`: KTAP as the tests happen, one line at the end.

Each group of tests (a step, or a test program on one driver) is a subtest of
one KTAP document. The last line of all is `N passed, N failed, N skipped`.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from typing import Callable, Iterator

from . import ktap
from .errors import Failure

# Lines of output shown of a step that failed.
TAIL = 60


class Report:
    """Prints tests and counts them."""

    def __init__(self, out=None, verbose: bool = False):
        self.counts: Counter[str] = Counter()
        self.groups = 0
        self.verbose = verbose
        self._out = out or sys.stdout
        self._print("KTAP version 1")

    @contextlib.contextmanager
    def group(self, name: str) -> Iterator["Group"]:
        """A group; at its end a group without any test is a failure."""
        group = Group(self, name)
        try:
            yield group
        except Failure as failure:
            group.test(ktap.Test("the step", ktap.FAIL, str(failure)))
        except KeyboardInterrupt:
            self._print("# interrupted")
            raise
        group.close()

    def finish(self) -> int:
        """Prints the plan and the last line; returns the exit status."""
        self._print(f"1..{self.groups}")
        passed, failed, skipped = (self.counts[kind] for kind in (ktap.PASS, ktap.FAIL, ktap.SKIP))
        if not passed and not failed:
            self._print("# no test was run: is the pattern in TESTS= right?")
            failed = 1
        self._print(f"{passed} passed, {failed} failed, {skipped} skipped")
        return 1 if failed else 0

    def note(self, text: str) -> None:
        """Prints words for people."""
        self._print(f"# {text}")

    def _print(self, line: str) -> None:
        print(line, file=self._out, flush=True)


class Group:
    """One group of tests."""

    def __init__(self, report: Report, name: str):
        self.name = name
        self.report = report
        self.tests: list[ktap.Test] = []
        self.start = time.monotonic()
        report._print("    KTAP version 1")
        report._print(f"    # Subtest: {name}")

    @property
    def failed(self) -> bool:
        """Whether a test of it has failed."""
        return any(test.failed for test in self.tests)

    def test(self, test: ktap.Test) -> None:
        """Prints a result; of a failure also what the test said about it."""
        self.tests.append(test)
        self.report.counts[test.result] += 1
        if test.failed or self.report.verbose:
            for note in test.notes[-TAIL:]:
                self.note(note)
        if test.result == ktap.PASS and test.reason:
            self.note(f"{test.name} {test.reason}")
        self.report._print("    " + ktap.quote(test, len(self.tests)))

    def ok(self, name: str) -> None:
        """Records a test that passed."""
        self.test(ktap.Test(name, ktap.PASS))

    def fail(self, name: str, reason: str, output: list[str] | None = None) -> None:
        """Records a failure with the output that explains it."""
        self.test(ktap.Test(name, ktap.FAIL, reason, list(output or [])))

    def skip(self, name: str, reason: str) -> None:
        """Records a test that could not be run."""
        self.test(ktap.Test(name, ktap.SKIP, reason))

    def attempt(self, name: str, action: Callable[[], object]) -> object:
        """Runs an action that raises `Failure` if it does not succeed."""
        try:
            value = action()
        except Failure as failure:
            self.fail(name, str(failure).splitlines()[0], str(failure).splitlines()[1:])
            return None
        self.ok(name)
        return value

    def note(self, text: str) -> None:
        """Prints words for people inside the group."""
        self.report._print(f"    # {text}")

    def close(self) -> None:
        """Prints the group's own line."""
        if not self.tests:
            self.fail("there are tests", "this group ran none")
        self.report.groups += 1
        self.report._print(f"    1..{len(self.tests)}")
        word = "not ok" if self.failed else "ok"
        seconds = time.monotonic() - self.start
        self.report._print(f"{word} {self.report.groups} {self.name}")
        self.report._print(f"# {self.name}: {seconds:.0f} s")
