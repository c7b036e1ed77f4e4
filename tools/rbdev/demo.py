# SPDX-License-Identifier: GPL-2.0
"""`make demo`: a client calls a service through the module, then the figures.

Two guests with the unmodified kernel: in the first a service manager, services
and clients run as processes and say what they do; the second counts
instructions, for our driver beside the C driver.
"""

from __future__ import annotations

import argparse

from . import figures, guest, kernel as kernels, measure, module, selftests, vm
from .check import guest_files
from .errors import Failure
from .progress import step


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `demo`."""
    parser.add_argument("--no-figures", action="store_true", help="end after the demo itself")
    parser.add_argument("--calls", type=int, default=2000, metavar="N", help="calls for each figure; default 2000")


def main(options: argparse.Namespace) -> int:
    """Runs the demo; the exit status is 0 if all of it worked."""
    kernel = kernels.stock()
    module.build(kernel)
    files = guest_files(kernel, selftests.build())
    with step(f"booting Linux {kernel.release} with the module"):
        show(kernel, files)
    if options.no_figures:
        return 0
    with step("counting instructions, here and in the C driver"):
        found = count(kernel, files, options.calls)
    print("\n".join(words(found, kernel.release)))
    return 0


def show(kernel, files: dict) -> None:
    """Boots and shows the demo's words as they come."""
    text = guest.script("demo", variables={"RELEASE": kernel.release})
    outcome = vm.run(kernel, files, text, timeout=300, on_line=lambda line: print(line, flush=True))
    measure.verify(outcome, 300)
    if not any("The demo worked." in line for line in outcome.output):
        raise Failure("the demo did not end well", "the line `The demo worked.`", measure.tail(outcome.output))


def count(kernel, files: dict, calls: int) -> list[figures.Figure]:
    """Boots with the instruction clock and measures 64-byte calls."""
    options = ["--calls", str(calls)]
    script = measure.Script()
    script.bench(figures.OURS, *options, "--server-mode", "joined,deferred", "call")
    script.bench(figures.THEIRS, *options, "--server-mode", "joined", "call")
    script.bench("none", *options, "floor")
    return measure.run(kernel, files, script, icount=True, timeout=600)


def words(found: list[figures.Figure], release: str) -> list[str]:
    """The table of the demo."""
    calls = [figure for figure in found if figure.name == "call"]
    rows = [
        [
            "this driver" if figure.driver == figures.OURS else "the C driver",
            "reply and next read in one ioctl" if figure.mode == "joined" else "the same, completion deferred",
            figures.number(figure.calls_per_second),
            figures.number(figure.mean),
            f"{figure.client_ioctls:.2f}",
            f"{figure.server_ioctls:.2f}",
        ]
        for figure in calls
    ]
    header = ["64-byte calls", "server", "calls/s", "instructions/call", "client ioctls", "server ioctls"]
    text = ["", *figures.table(header, rows), "", *figures.floor(found), ""]
    text.append(f"Linux {release}, one CPU, clock: instructions (calls/s at one instruction a nanosecond).")
    theirs = next((figure for figure in calls if figure.driver == figures.THEIRS), None)
    for figure in calls:
        if figure.driver == figures.OURS and theirs:
            change = figures.percent(figure.mean, theirs.mean)
            text.append(f"This driver, {figure.mode}: {change} instructions beside the C driver.")
    return text
