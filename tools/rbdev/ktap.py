# SPDX-License-Identifier: GPL-2.0
"""Reads KTAP, the test output of the kernel, line by line.

A stream has groups, one for each test program, and each group is one KTAP
document. What a document promises and does not keep is a failure: a plan with
more tests than results, a result line out of order, a document without any
test, no document at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

PASS, FAIL, SKIP = "pass", "fail", "skip"

_VERSION = re.compile(r"^\s*(?:K?TAP version) \d+\s*$", re.I)
_PLAN = re.compile(r"^(\s*)1\.\.(\d+)(?:\s*#\s*(?:SKIP)?\s*(.*))?$", re.I)
_RESULT = re.compile(r"^(\s*)(not )?ok\b\s*(\d+)?\s*(?:-\s*)?(.*)$")
_DIRECTIVE = re.compile(r"\s+#\s*(SKIP|TODO|XFAIL|TIMEOUT|ERROR)\b\s*(.*)$", re.I)
_COMMENT = re.compile(r"^\s*#\s?(.*)$")
_BAIL = re.compile(r"^\s*Bail out!\s*(.*)$")


@dataclass
class Test:
    """One result: its full name (parents joined by dots), what became of it and why."""

    name: str
    result: str
    reason: str = ""
    notes: list[str] = field(default_factory=list)
    program: str = ""

    @property
    def failed(self) -> bool:
        """Whether it counts as a failure."""
        return self.result == FAIL


@dataclass
class _Level:
    indent: int
    planned: int | None = None
    seen: int = 0
    names: set[str] = field(default_factory=set)
    tests: list[Test] = field(default_factory=list)


class Parser:
    """Parses one program's document; feed it lines, then call `finish`."""

    def __init__(self, program: str):
        self.program = program
        self.tests: list[Test] = []
        self._returned = 0
        self._levels: list[_Level] = []
        self._notes: list[str] = []
        self._finished = False

    def feed(self, line: str) -> list[Test]:
        """Takes one line and returns the tests that it completes.

        Parts of a test are returned together with it: only its own line, which
        comes after them, tells its name.
        """
        line = line.rstrip("\r\n")
        if _VERSION.match(line):
            self._level(_indent(line))
        elif match := _PLAN.match(line):
            self._plan(match)
        elif match := _RESULT.match(line):
            self._result(match)
        elif match := _BAIL.match(line):
            self._add("the program", FAIL, f"it gave up: {match[1]}")
        else:
            match = _COMMENT.match(line)
            text = match[1] if match else line
            if text.strip():
                self._notes.append(text)
        return self._new() if len(self._levels) <= 1 else []

    def finish(self, status: int | None = 0) -> list[Test]:
        """Ends the document and returns the failures that only the end shows.

        `status` is the program's exit status, None where it never ended.
        """
        if self._finished:
            return []
        self._finished = True
        while self._levels:
            self._close(self._levels.pop())
        if status is None:
            self._add("the program ends", FAIL, "it did not end in time")
        elif status != 0 and not any(test.failed for test in self.tests):
            self._add("the program ends well", FAIL, f"exit status {status}, but no test failed")
        if not self.tests:
            self._add("the program has tests", FAIL, "it printed no test")
        return self._new()

    def _new(self) -> list[Test]:
        new = self.tests[self._returned :]
        self._returned = len(self.tests)
        return new

    def _level(self, indent: int) -> _Level:
        if not self._levels or indent > self._levels[-1].indent:
            self._levels.append(_Level(indent))
        return self._levels[-1]

    def _plan(self, match: re.Match) -> None:
        indent = len(match[1].expandtabs())
        self._leave(indent)
        level = self._level(indent)
        if level.planned is not None:
            self._add("the plan", FAIL, "a second plan in one document", level)
            return
        level.planned = int(match[2])
        if level.planned == 0 and match[3] is not None:
            self._add("the program", SKIP, match[3].strip(), level)

    def _result(self, match: re.Match) -> None:
        indent = len(match[1].expandtabs())
        children = self._leave(indent)
        level = self._level(indent)
        level.seen += 1
        result, name, reason = _outcome(bool(match[2]), match[4].strip())
        name = name or f"test {match[3] or level.seen}"
        if match[3] and int(match[3]) != level.seen:
            text = f"number {match[3]} where {level.seen} was expected"
            self._add(name, FAIL, text, level)
            level.seen = int(match[3])
        if name in level.names:
            self._add(name, FAIL, "a second result of this name", level)
        level.names.add(name)
        if not children:
            self._add(name, result, reason, level)
            return
        # A parent only repeats what its parts say, unless it disagrees.
        for test in children:
            test.name = f"{name}.{test.name}"
        level.tests += children
        if result == FAIL and not any(test.failed for test in children):
            self._add(name, FAIL, reason or "failed, though each part of it passed", level)

    def _leave(self, indent: int) -> list[Test]:
        """Closes the levels deeper than `indent` and returns their tests."""
        tests = []
        while self._levels and self._levels[-1].indent > indent:
            level = self._levels.pop()
            self._close(level)
            tests += level.tests
        return tests

    def _close(self, level: _Level) -> None:
        if level.planned is None:
            if level.seen:
                self._add("the plan", FAIL, "no plan was printed", level)
            return
        if level.seen > level.planned:
            text = f"{level.planned} tests were planned, {level.seen} came"
            self._add("the plan", FAIL, text, level)
        for number in range(level.seen + 1, level.planned + 1):
            self._add(f"test {number}", FAIL, "planned, but no result came", level)

    def _add(self, name: str, result: str, reason: str = "", level: _Level | None = None) -> None:
        test = Test(name, result, reason, self._notes, self.program)
        self._notes = []
        self.tests.append(test)
        if level is not None:
            level.tests.append(test)


def _indent(line: str) -> int:
    line = line.expandtabs()
    return len(line) - len(line.lstrip())


def _outcome(failed: bool, text: str) -> tuple[str, str, str]:
    """Result, name and reason of a result line's text."""
    reason, directive = "", ""
    if match := _DIRECTIVE.search(" " + text):
        text = (" " + text)[: match.start()].strip()
        directive, reason = match[1].upper(), match[2].strip()
    text = text.removeprefix("# ").strip() if text.startswith("# ") else text
    if directive == "SKIP" and not failed:
        return SKIP, text, reason
    if directive in ("TODO", "XFAIL"):
        # A test that is known to fail may; that it passes now has to be noticed.
        if failed:
            return SKIP, text, reason or "known to fail"
        if directive == "TODO":
            return FAIL, text, "marked TODO, but it passes: remove the mark"
        return PASS, text, reason
    if failed or directive in ("TIMEOUT", "ERROR"):
        return FAIL, text, reason or directive.lower()
    return PASS, text, reason


def quote(test: Test, number: int) -> str:
    """The KTAP line of a test."""
    start = "not ok" if test.failed else "ok"
    end = ""
    if test.result == SKIP:
        end = f" # SKIP {test.reason}".rstrip()
    elif test.failed and test.reason:
        end = f" # {test.reason}"
    return f"{start} {number} {test.name}{end}"
