# SPDX-License-Identifier: GPL-2.0
"""`make check`: all tests, each as a KTAP line, and one line at the end.

Steps, in this order; `--steps` chooses some of them by name:

    style   unit tests of the tools, formats, lints, host tests, ABI comparison
    build   the module by plain kbuild, and in a kernel tree
    load    loading alone and beside the C driver
    tests   every test program on our driver, then on the C driver
    cycles  load and unload again and again under load
    debug   KUnit suites, test programs and cycles in the debug kernels

`--kernel` chooses the kernels to boot: the steps before `debug` need the stock
kernel, `debug` runs once for each other kernel that is named.
"""

from __future__ import annotations

import argparse
import os

from . import differences, guest, in_tree, kernel as kernels, ktap, module, progress, selftests, style, tree
from .errors import Failure
from .report import Report

STEPS = ("style", "build", "load", "tests", "cycles", "debug")
# Of these the debug kernels do a part.
CYCLES = 1000
DEBUG_PART = 20
# How much longer things may take in a debug kernel.
PATIENCE = 6
DRIVERS = {"ours": ("rust", "rbinder"), "C": ("c", "cbinder")}
KUNIT = "kunit"
SESSIONS = "sessions"
# Steps of random sessions, and as many seconds as no person waits.
STEPS_OF_SESSIONS = 10_000
ENDLESS = 10_000_000
# Programs for a guest with one processor: they switch events of the kernel on, for which it
# patches its code, and the emulator may run on with the old one on another processor.
ONE_CPU = ("binder-test-trace",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `check`."""
    parser.add_argument(
        "--tests", default="*", metavar="GLOB", help="test programs, such as 'ioctl' or 'm*', or kunit; only these are run then"
    )
    parser.add_argument(
        "--kernel", default="", metavar="A,B", help=f"some of {', '.join(kernels.KERNELS)}; default {','.join(KERNELS)}"
    )
    parser.add_argument(
        "--cycles", default=os.environ.get("CYCLES") or str(CYCLES), metavar="N", help=f"loads and unloads; default {CYCLES}"
    )
    parser.add_argument(
        "--session-steps", default=os.environ.get("SESSION_STEPS") or str(STEPS_OF_SESSIONS), metavar="N",
        help=f"steps of random sessions; default {STEPS_OF_SESSIONS}, 0 without end",
    )
    parser.add_argument(
        "--session-seed", default=os.environ.get("SESSION_SEED") or "", metavar="N", help="the seed of the first session"
    )
    parser.add_argument("--steps", default="", metavar="A,B", help=f"only these of {', '.join(STEPS)}")
    parser.add_argument("--verbose", action="store_true", help="show also what passing tests print")


# The kernels that a check boots unless it is told otherwise.
KERNELS = ("stock", "debug")


def main(options: argparse.Namespace) -> int:
    """Runs the steps; the exit status is 0 if nothing failed."""
    names = kernel_names(options.kernel)
    steps = chosen(options, names)
    options.cycles = count(options.cycles)
    options.session_steps = steps_of_sessions(options.session_steps)
    report = Report(verbose=options.verbose)
    try:
        for number, step in enumerate(steps, 1):
            progress.say(f"step {number} of {len(steps)}: {step}")
            run_step(step, names, report, options)
    except Failure as failure:
        # What a later step needs could not be made: that fails the run, said once.
        with report.group("the run") as group:
            group.fail("everything that the tests need is there", str(failure))
    return report.finish()


def run_step(step: str, names: list[str], report: Report, options: argparse.Namespace) -> None:
    """Runs one step on its kernels."""
    if step == "debug":
        for name in names:
            if name != "stock":
                debug(report, options, kernels.get(name))
        return
    kernel = kernels.stock()
    if step == "style":
        style.tools(report)
        style.driver(report, kernel)
        style.user_space(report, kernel)
        style.miri(report)
    elif step == "build":
        builds(report, kernel)
    else:
        stock(step, report, kernel, options)


def chosen(options: argparse.Namespace, kernels_chosen: list[str]) -> list[str]:
    """The steps to run, in their order: those that are asked for and have a kernel to run on."""
    given = options.steps.replace(",", " ").split()
    for step in given:
        if step not in STEPS:
            raise Failure(f"there is no step {step}", f"one of {', '.join(STEPS)}", "correct STEPS=")
    if not given:
        given = ["tests", "debug"] if options.tests not in ("", "*") else list(STEPS)
    needless = set() if "stock" in kernels_chosen else set(STEPS) - {"debug"}
    if kernels_chosen == ["stock"]:
        needless = {"debug"}
    steps = [step for step in STEPS if step in given and step not in needless]
    if not steps:
        raise Failure(
            f"STEPS={','.join(given)} has nothing for the kernel {','.join(kernels_chosen)}",
            "debug for a debug kernel, other steps for stock", "correct STEPS= or KERNEL=")
    return steps


def kernel_names(given: str) -> list[str]:
    """The kernels to boot: those that are named, or the usual ones."""
    names = given.replace(",", " ").split() or list(KERNELS)
    for name in names:
        if name not in kernels.KERNELS:
            raise Failure(f"KERNEL={name}", f"some of {', '.join(kernels.KERNELS)}", "choose among these")
    return names


def count(given: str) -> int:
    """The number of cycles; fewer than two show nothing."""
    if not given.isdigit() or int(given) < 2:
        raise Failure(f"CYCLES={given}", "a number of at least 2", "correct it")
    return int(given)


def steps_of_sessions(given: str) -> int:
    """The number of steps; 0 is without end."""
    if not given.isdigit():
        raise Failure(f"SESSION_STEPS={given}", "a number; 0 means without end", "correct it")
    return int(given)


def builds(report: Report, kernel) -> None:
    """The module builds in both ways that kbuild knows."""
    with report.group("build: kbuild") as group:
        group.attempt("module_builds_outside_a_kernel_tree", lambda: module.build(kernel))
        for way, name in zip(in_tree.WAYS, ("module", "driver")):
            group.attempt(f"{name}_builds_inside_a_kernel_tree_as_{way}", lambda: in_tree.build(kernel, way))


def stock(step: str, report: Report, kernel, options: argparse.Namespace) -> None:
    """One of the steps on the unmodified kernel."""
    programs = selftests.build()
    files = guest_files(kernel, programs)
    if step == "load":
        for order in ("ours-first", "C-first"):
            scripts = ("load", "beside") if order == "ours-first" else ("beside",)
            text = guest.script(*scripts, variables={"ORDER": order})
            guest.boot(report, kernel, f"load {order}", files, text, title=titles("stock"), timeout=300)
    elif step == "tests":
        if guest.select(programs, options.tests) or not guest.is_chosen(SESSIONS, options.tests):
            run_tests(report, kernel, options.tests, programs, files)
        if guest.is_chosen(SESSIONS, options.tests):
            sessions(report, kernel, files, options)
    else:
        run_cycles(report, kernel, options.cycles, files)


def debug(report: Report, options: argparse.Namespace, kernel) -> None:
    """KUnit suites and the same test programs in a debug kernel."""
    programs = selftests.build()
    files = guest_files(kernel, programs)
    run_tests(report, kernel, options.tests, programs, files, patience=PATIENCE)
    if options.tests in ("", "*"):
        run_cycles(report, kernel, max(2, options.cycles // DEBUG_PART), files)


def run_tests(report: Report, kernel, pattern: str, programs: dict, files: dict, patience: int = 1) -> None:
    """The chosen test programs in a guest, those of ONE_CPU in another, then unloading.

    On the stock kernel they run on both drivers; in a debug kernel on ours, after
    the KUnit suites: it is for mistakes of ours, so its finds must not be the C
    driver's. `patience` multiplies the time limits, for a slow kernel.
    """
    names = guest.select(programs, pattern)
    listed = differences.load(tree.PROJECT / "selftests")
    peer = kernel.name == "stock"
    kunit = not peer and guest.is_chosen(KUNIT, pattern)
    if not names and not kunit:
        if guest.is_chosen(KUNIT if peer else SESSIONS, pattern):
            return
        with report.group(f"{kernel.name}: test programs") as group:
            known = ", ".join(guest.select(programs, "*")) or "none at all"
            group.fail("a test program is chosen", f"none matches {pattern!r}; there are: {known}")
        return
    seen: dict[str, list[ktap.Test]] = {}
    for smp, part in ((2, [name for name in names if name not in ONE_CPU]), (1, [name for name in names if name in ONE_CPU])):
        if part or (kunit and smp == 2):
            ran = run_part(report, kernel, part, files, listed, patience=patience, smp=smp, kunit=kunit and smp == 2)
            for mark, tests in ran.items():
                seen.setdefault(mark, []).extend(tests)
    completeness(report, kernel.name, names, seen, listed)
    if kunit:
        suites(report, kernel.name, seen)


def run_part(
    report: Report, kernel, names: list[str], files: dict, listed, *, patience: int, smp: int, kunit: bool
) -> dict[str, list[ktap.Test]]:
    """Runs programs in one guest; returns the tests by what they ran on."""
    peer = kernel.name == "stock"
    scripts = ["beside"] if peer else ["alone", *([KUNIT] if kunit else [])]
    text = guest.script(*scripts, variables={"ORDER": "C-first", "BINDER_TEST_TIMEOUT": 30 * patience})
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
        smp=smp,
    )
    return collector.seen


def sessions(report: Report, kernel, files: dict, options: argparse.Namespace) -> None:
    """Random sessions on both drivers in one guest, compared step by step."""
    arguments = ["sessions", "--steps", str(options.session_steps)]
    if options.session_seed:
        arguments += ["--seed", options.session_seed]
    # Without an end it is the person at the keyboard who ends it.
    limit = 1 + options.session_steps // 5 if options.session_steps else ENDLESS
    text = guest.script("beside", variables={"ORDER": "C-first"})
    text += guest.run_line(SESSIONS, "binder-diff", *arguments, limit=max(guest.PROGRAM_LIMIT, limit))
    text += guest.script("unload") + "true\n"
    timeout = max(1800, 2 * limit)
    guest.boot(report, kernel, "stock: sessions", files, text, title=titles("stock"), timeout=timeout)


def suites(report: Report, kernel: str, seen: dict[str, list[ktap.Test]]) -> None:
    """Records that KUnit ran tests: without CONFIG_KUNIT=y they are left out in silence."""
    with report.group(f"{kernel}: KUnit suites") as group:
        ran = [test for test in seen.get(KUNIT, []) if test.program.startswith("rust_binder_")]
        if any(test.result == ktap.PASS for test in ran):
            group.ok("KUnit_ran_tests")
        else:
            group.fail("KUnit_ran_tests", "no KUnit test ran: are the module and the kernel built with KUnit?")


def completeness(report: Report, kernel: str, names: list[str], seen: dict[str, list[ktap.Test]], listed) -> None:
    """Records that every program ran on both drivers and that the list is true."""
    with report.group(f"{kernel}: all drivers, all programs") as group:
        marks = ["ours"] + (["C"] if "C" in seen else [])
        for mark in marks:
            ran = {test.program for test in seen.get(mark, [])}
            missing = [name for name in names if name not in ran]
            if missing:
                group.fail(f"every_program_ran_on_{mark}", f"missing: {', '.join(missing)}")
            else:
                group.ok(f"every_program_ran_on_{mark}")
        unseen = listed.unseen(seen.get("C", []))
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
