# SPDX-License-Identifier: GPL-2.0
"""`make check`: all tests, each as a KTAP line, and one line at the end.

Steps, in this order; `--steps` chooses some of them by name:

    style   unit tests of the tools, formats, lints, host tests, ABI comparison
    build   the module by plain kbuild, and in a kernel tree
    load    loading alone and beside the C driver
    tests   every test program on our driver, then on the C driver
    cycles  load and unload again and again under load
    debug   the test programs in the debug kernel (KERNEL=debug; built at the first time)
"""

from __future__ import annotations

import argparse
import os

from . import differences, guest, kernel as kernels, ktap, module, selftests, style, tree
from .errors import Failure
from .report import Report

STEPS = ("style", "build", "load", "tests", "cycles", "debug")
CYCLES = 1000
DRIVERS = {"ours": ("rust", "rbinder"), "C": ("c", "cbinder")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `check`."""
    parser.add_argument(
        "--tests", default="*", metavar="GLOB", help="test programs, such as 'ioctl' or 'm*'; only these are run then"
    )
    parser.add_argument("--kernel", default="", metavar="NAME", help="stock, debug or both as stock,debug; default stock")
    parser.add_argument(
        "--cycles", default=os.environ.get("CYCLES") or str(CYCLES), metavar="N", help=f"loads and unloads; default {CYCLES}"
    )
    parser.add_argument("--steps", default="", metavar="A,B", help=f"only these of {', '.join(STEPS)}")
    parser.add_argument("--verbose", action="store_true", help="show also what passing tests print")


def main(options: argparse.Namespace) -> int:
    """Runs the steps; the exit status is 0 if nothing failed."""
    steps = chosen(options)
    options.cycles = count(options.cycles)
    names = kernel_names(options.kernel)
    if names == ["debug"] and not options.steps:
        steps = ["debug"]
    report = Report(verbose=options.verbose)
    try:
        kernel = kernels.stock()
        if "style" in steps:
            style.tools(report)
            style.driver(report, kernel)
            style.user_space(report, kernel)
        if "build" in steps:
            builds(report, kernel)
        if "stock" in names and {"load", "tests", "cycles"} & set(steps):
            stock(report, kernel, options, steps)
        if "debug" in names and "debug" in steps:
            debug(report, options)
    except Failure as failure:
        # What a later step needs could not be made: that fails the run, said once.
        with report.group("the run") as group:
            group.fail("everything that the tests need is there", str(failure))
    return report.finish()


def chosen(options: argparse.Namespace) -> list[str]:
    """The steps to run."""
    given = options.steps.replace(",", " ").split()
    for step in given:
        if step not in STEPS:
            raise Failure(f"there is no step {step}", f"one of {', '.join(STEPS)}", "correct STEPS=")
    if given:
        return given
    if options.tests not in ("", "*"):
        return ["tests", "debug"]
    return list(STEPS)


def kernel_names(given: str) -> list[str]:
    """The kernels to boot: the stock kernel, or those that are named."""
    return given.replace(",", " ").split() or ["stock"]


def count(given: str) -> int:
    """The number of cycles; fewer than two show nothing."""
    if not given.isdigit() or int(given) < 2:
        raise Failure(f"CYCLES={given}", "a number of at least 2", "correct it")
    return int(given)


def builds(report: Report, kernel) -> None:
    """The module builds in both ways that kbuild knows."""
    with report.group("build: kbuild") as group:
        group.attempt("module_builds_outside_a_kernel_tree", lambda: module.build(kernel))
        group.attempt("module_builds_inside_a_kernel_tree", lambda: module.in_tree(kernel))


def stock(report: Report, kernel, options: argparse.Namespace, steps: list[str]) -> None:
    """Everything on the unmodified kernel."""
    programs = selftests.build()
    files = guest_files(kernel, programs)
    if "load" in steps:
        for order in ("ours-first", "C-first"):
            scripts = ("load", "beside") if order == "ours-first" else ("beside",)
            text = guest.script(*scripts, variables={"ORDER": order})
            guest.boot(report, kernel, f"load {order}", files, text, title=titles("stock"), timeout=300)
    if "tests" in steps:
        run_tests(report, kernel, options.tests, programs, files)
    if "cycles" in steps:
        run_cycles(report, kernel, options.cycles, files)


def debug(report: Report, options: argparse.Namespace) -> None:
    """The same test programs in the debug kernel."""
    kernel = kernels.get("debug")
    programs = selftests.build()
    files = guest_files(kernel, programs)
    run_tests(report, kernel, options.tests, programs, files, patience=6)
    if options.tests in ("", "*"):
        run_cycles(report, kernel, max(2, options.cycles // 20), files)


def run_tests(report: Report, kernel, pattern: str, programs: dict, files: dict, patience: int = 1) -> None:
    """The chosen test programs on both drivers in one guest, then unloading.

    `patience` multiplies the time limits, for a slow kernel.
    """
    names = guest.select(programs, pattern)
    listed = differences.load(tree.PROJECT / "selftests")
    if not names:
        with report.group(f"{kernel.name}: test programs") as group:
            known = ", ".join(guest.select(programs, "*")) or "none at all"
            group.fail("a test program is chosen", f"none matches {pattern!r}; there are: {known}")
        return
    # The debug kernel is for mistakes of ours, so its finds must not be the C driver's.
    peer = kernel.name == "stock"
    text = guest.script(
        "beside" if peer else "alone",
        variables={"ORDER": "C-first", "BINDER_TEST_TIMEOUT": 30 * patience},
    )
    text += "export BINDER_TEST_TIMEOUT\n"
    for driver in ("ours", "C") if peer else ("ours",):
        kind, device = DRIVERS[driver]
        for name in names:
            arguments = ["--driver", kind, "--device", f"/dev/{device}0", "--device2", f"/dev/{device}1"]
            text += guest.run_line(driver, name, *arguments, limit=guest.PROGRAM_LIMIT * patience)
    text += guest.script("unload") + "true\n"

    def judge(driver: str, test: ktap.Test) -> ktap.Test:
        return listed.judge(test) if driver == "C" else test

    collector = guest.boot(
        report,
        kernel,
        f"{kernel.name}: tests",
        files,
        text,
        title=titles(kernel.name),
        judge=judge,
        timeout=1800 * patience,
    )
    completeness(report, kernel.name, names, collector, listed)


def completeness(report: Report, kernel: str, names: list[str], collector, listed) -> None:
    """Records that every program ran on both drivers and that the list is true."""
    with report.group(f"{kernel}: both drivers, all programs") as group:
        marks = ["ours"] + (["C"] if "C" in collector.seen else [])
        for mark in marks:
            ran = {test.program for test in collector.seen.get(mark, [])}
            missing = [name for name in names if name not in ran]
            if missing:
                group.fail(f"every_program_ran_on_{mark}", f"missing: {', '.join(missing)}")
            else:
                group.ok(f"every_program_ran_on_{mark}")
        unseen = listed.unseen(collector.seen.get("C", []))
        for test in unseen:
            group.test(test)
        if not unseen:
            group.ok("every_listed_difference_has_its_test")


def run_cycles(report: Report, kernel, cycles: int, files: dict) -> None:
    """Load and unload under load."""
    burst = "binder-bench --device /dev/rbinder0 --calls 10 --warmup 0 call"
    text = guest.script("cycles", variables={"CYCLES": cycles, "BURST": burst})
    timeout = 300 + cycles * 5
    guest.boot(report, kernel, f"{kernel.name}: cycles", files, text, title=titles(kernel.name), timeout=timeout)


def guest_files(kernel, programs: dict) -> dict:
    """What the guest gets: the modules and all programs."""
    files = {f"/bin/{name}": path for name, path in programs.items()}
    files["/rust_binder.ko"] = module.build(kernel)
    files["/binder_linux.ko"] = kernel.c_driver
    return files


def titles(kernel: str):
    """A function that names the groups of a guest."""
    return lambda mark, program: f"{kernel}: {program} on {mark}" if mark in DRIVERS else f"{kernel}: {mark} {program}"
