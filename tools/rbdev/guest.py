# SPDX-License-Identifier: GPL-2.0
"""Runs test programs in the guest and reads their results as they come.

The scripts in `tools/guest/` print a program's KTAP between two marks; this
file puts a script together, boots it and turns the lines into test results.
"""

from __future__ import annotations

import fnmatch
import shlex
from pathlib import Path
from typing import Callable

from . import klog, ktap, vm
from .report import Group, Report

SCRIPTS = Path(__file__).resolve().parent.parent / "guest"
MARK = "@@ "
TEST = "binder-test-"
# Lines of the guest's output shown around a failure of the guest itself.
SHOWN = 40
# Seconds for one test program: it has its own limit for each case.
PROGRAM_LIMIT = 900


def script(*names: str, variables: dict[str, object] | None = None) -> str:
    """Joins guest scripts, with `lib.sh` first and the variables set."""
    lines = [f"{key}={shlex.quote(str(value))}" for key, value in (variables or {}).items()]
    texts = [(SCRIPTS / f"{name}.sh").read_text(encoding="utf-8") for name in ("lib", *names)]
    return "\n".join([*lines, *texts]) + "\n"


def run_line(group: str, program: str, *arguments: str, limit: int = PROGRAM_LIMIT) -> str:
    """The script's line that runs one program."""
    return shlex.join(["run", group, str(limit), program, *arguments]) + "\n"


def select(programs: dict[str, Path], pattern: str) -> list[str]:
    """Names of the test programs that a pattern of TESTS= chooses.

    `ioctl` and `binder-test-ioctl` are the same; several patterns are
    separated by commas or blanks.
    """
    return [name for name in sorted(programs) if name.startswith(TEST) and is_chosen(name, pattern)]


def is_chosen(name: str, pattern: str) -> bool:
    """Whether a pattern of TESTS= chooses a test program or another part of the tests."""
    wanted = pattern.replace(",", " ").split() or ["*"]
    return any(fnmatch.fnmatch(name.removeprefix(TEST), one.removeprefix(TEST)) for one in wanted)


class Collector:
    """Turns the guest's output into groups of tests.

    `judge` may change a test before it is reported, `title` names a group.
    """

    def __init__(self, report: Report, title: Callable[[str, str], str], judge=None):
        self.report = report
        self.title = title
        self.judge = judge or (lambda group, test: test)
        self.seen: dict[str, list[ktap.Test]] = {}
        self.failed = False
        self._parser: ktap.Parser | None = None
        self._mark = ""
        self._context = None
        self._group: Group | None = None

    def line(self, line: str) -> None:
        """Takes one line of the script's output."""
        line = line.rstrip("\r\n")
        if line.startswith(MARK):
            words = line[len(MARK) :].split()
            if words[:1] == ["begin"] and len(words) == 3:
                self._end(None)
                self._begin(words[1], words[2])
                return
            if words[:1] == ["end"] and len(words) == 4:
                self._end(int(words[3]))
                return
            if words[:1] == ["note"] and self._group:
                self._group.note(" ".join(words[1:]))
                return
        if self._parser:
            self._record(self._parser.feed(line))

    def finish(self) -> None:
        """Ends the output: a program without its end has failed."""
        self._end(None)

    def _begin(self, group: str, program: str) -> None:
        self._mark = group
        self._parser = ktap.Parser(program)
        self._context = self.report.group(self.title(group, program))
        self._group = self._context.__enter__()

    def _end(self, status: int | None) -> None:
        if not self._parser:
            return
        # 137: killed by the time limit of the script.
        self._record(self._parser.finish(None if status == 137 else status))
        self.failed |= self._group.failed
        self._context.__exit__(None, None, None)
        self._parser = self._group = self._context = None

    def _record(self, tests: list[ktap.Test]) -> None:
        for test in tests:
            self.seen.setdefault(self._mark, []).append(test)
            self._group.test(self.judge(self._mark, test))


def boot(
    report: Report,
    kernel,
    name: str,
    files: dict[str, Path],
    text: str,
    *,
    title: Callable[[str, str], str],
    judge=None,
    timeout: int = 900,
    smp: int = 2,
) -> Collector:
    """Boots a guest, reports its tests as they come, then what the kernel log says."""
    collector = Collector(report, title, judge)
    outcome = vm.run(kernel, files, text, smp=smp, timeout=timeout, on_line=collector.line)
    collector.finish()
    with report.group(f"{name}: the guest") as group:
        judge_outcome(group, outcome, timeout, collector)
    return collector


def judge_outcome(group: Group, outcome, timeout: int, collector: Collector | None = None) -> None:
    """Records whether the guest ended well, ran something and its kernel was content."""
    tail = [f"  | {line}" for line in outcome.output[-SHOWN:]]
    if outcome.status is None:
        log = [f"  | {line}" for line in outcome.klog[-SHOWN:]]
        text = ["the end of its output:", *tail, "the end of its kernel log:", *log]
        group.fail("it ends in time", f"it did not power off within {timeout} s, or it crashed", text)
    elif outcome.status != 0:
        group.fail("its script ends well", f"exit status {outcome.status}", tail)
    else:
        group.ok("it ends in time")
    if collector is not None and not collector.seen:
        group.fail("it runs tests", "its script ran no test program", tail)
    words = [line.removeprefix("# ") for line in klog.report(outcome.klog)]
    if words:
        group.fail("the kernel log is clean", words[0], words)
    elif not outcome.klog:
        group.fail("the kernel log is clean", "there is no kernel log to look at")
    else:
        group.ok("the kernel log is clean")
