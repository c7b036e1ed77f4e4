# SPDX-License-Identifier: GPL-2.0
"""Boots a guest to measure in: one by the instruction clock, one with two CPUs.

By the instruction clock (`-icount shift=0`, one CPU) a nanosecond of the guest
is one instruction, and figures repeat to a few hundredths of a percent on any
machine. It sees neither cache misses nor two CPUs at once; the second guest has
two CPUs, and its times mean something only beside each other.
"""

from __future__ import annotations

import shlex

from . import figures, guest, klog, vm
from .errors import Failure

OURS_DEVICE, THEIRS_DEVICE = "/dev/rbinder0", "/dev/cbinder0"
# Seconds of the guest until a kernel that has just started is quiet.
SETTLE = 10


class Script:
    """The script of a measuring guest."""

    def __init__(self):
        self.text = guest.script("measure")

    def bench(self, driver: str, *arguments: str) -> "Script":
        """Adds a run of binder-bench on a driver; on no driver with `driver` "none"."""
        device = {figures.OURS: OURS_DEVICE, figures.THEIRS: THEIRS_DEVICE}.get(driver, OURS_DEVICE)
        argv = ["measure", "binder-bench", "--device", device, "--driver", driver, *arguments]
        self.text += shlex.join(argv) + "\n"
        return self


def run(
    kernel, files: dict, script: Script, *, icount: bool, timeout: int, memory: str = "1G", on_line=None
) -> list[figures.Figure]:
    """Boots, runs the script and returns its figures."""
    settle = f"sleep {SETTLE}\n" if icount else ""
    text = script.text.replace("# SETTLE\n", settle)
    smp = 1 if icount else 2
    outcome = vm.run(kernel, files, text, icount=icount, smp=smp, memory=memory, timeout=timeout, on_line=on_line)
    verify(outcome, timeout)
    found = figures.collect(outcome.output)
    if not found:
        raise Failure("the guest printed no figure", "lines of binder-bench", tail(outcome.output))
    return found


def verify(outcome, timeout: int) -> None:
    """Fails where the guest did not end well or its kernel complained."""
    findings = klog.report(outcome.klog)
    if findings:
        raise Failure("the guest's kernel reported a mistake", "a clean kernel log", "see:\n" + "\n".join(findings))
    if outcome.status is None:
        raise Failure("the guest did not end", f"its end within {timeout} s", tail(outcome.output))
    if outcome.status != 0:
        raise Failure("a program in the guest failed", "exit status 0", tail(outcome.output))


def tail(lines: list[str], count: int = 25) -> str:
    """The end of a guest's output, for the end of a message."""
    return "see the end of its output:\n" + "\n".join(f"  | {line}" for line in lines[-count:])
