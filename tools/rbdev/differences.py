# SPDX-License-Identifier: GPL-2.0
"""What the C driver is known to do differently.

The tests describe our driver. The same programs run on the C driver, and where
it behaves differently a test fails there. Each such test is listed, with its
reason, in `selftests/differences.txt` or a file in `selftests/differences.d/`:

    program test_name : reason

The list is held true in both directions: a failure that is not listed is one
more difference that somebody has to look at, a listed test that passes on the
C driver is a line that has to go.

The C driver releases a closed file later, from a work queue. A case that could meet what
the case before left behind waits until that is gone, by an event that it can see.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from . import ktap
from .errors import Failure

_LINE = re.compile(r"^(\S+)\s+(\S.*?)\s+:\s+(\S.*)$")


@dataclass(frozen=True)
class Difference:
    """One listed test: program and test, the reason, and where it is listed."""

    program: str
    test: str
    reason: str
    place: str


class Differences:
    """All listed differences."""

    def __init__(self, listed: list[Difference]):
        self.listed: dict[tuple[str, str], Difference] = {}
        for entry in listed:
            key = (entry.program, entry.test)
            if key in self.listed:
                raise Failure(
                    f"{entry.place} lists {entry.program} {entry.test} again",
                    f"one line for each test; the other is {self.listed[key].place}",
                    "remove one of them",
                )
            self.listed[key] = entry

    def __len__(self) -> int:
        return len(self.listed)

    def judge(self, test: ktap.Test) -> ktap.Test:
        """Turns a result on the C driver into a verdict about the list."""
        entry = self.listed.get((test.program, test.name))
        if entry is None:
            if test.failed:
                reason = f"the C driver differs and no list says so: {test.reason or 'it failed'}"
                return ktap.Test(test.name, ktap.FAIL, reason, test.notes, test.program)
            return test
        if test.failed:
            # It fails as the list says: that is what was to be shown.
            return ktap.Test(test.name, ktap.PASS, f"differs: {entry.reason}", [], test.program)
        if test.result == ktap.PASS:
            reason = f"passes on the C driver: remove the line {entry.place}"
            return ktap.Test(test.name, ktap.FAIL, reason, test.notes, test.program)
        return test

    def unseen(self, tests: list[ktap.Test]) -> list[ktap.Test]:
        """Failures for listed tests that do not exist, of the programs that were run."""
        programs = {test.program for test in tests}
        names = {(test.program, test.name) for test in tests}
        gone = [
            entry
            for key, entry in self.listed.items()
            if entry.program in programs and key not in names
        ]
        reason = "there is no such test any more: remove the line"
        return [
            ktap.Test(entry.test, ktap.FAIL, f"{reason} {entry.place}", [], entry.program)
            for entry in gone
        ]


def parse(text: str, name: str) -> list[Difference]:
    """Reads one list; `name` says in messages where it is."""
    listed = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.match(line)
        if not match:
            raise Failure(
                f"{name}:{number} is no difference: {line}",
                "a line `program test_name : reason`",
                "correct the line",
            )
        listed.append(Difference(match[1], match[2], match[3], f"{name}:{number}"))
    return listed


def load(selftests: Path) -> Differences:
    """Reads the lists below the folder `selftests`."""
    files = [selftests / "differences.txt", *sorted(selftests.glob("differences.d/*.txt"))]
    listed = []
    for file in files:
        if file.exists():
            listed += parse(file.read_text(encoding="utf-8"), str(file.relative_to(selftests.parent)))
    return Differences(listed)
