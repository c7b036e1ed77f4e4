# SPDX-License-Identifier: GPL-2.0
"""Checks that need no guest: style, and tests that run on the host."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from . import command, module, root, selftests, tree
from .cache import Cache
from .report import Group, Report

_CARGO = re.compile(r"^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)(?:, (.*))?$")
_UNIT = re.compile(r"^(\w+) \(([\w.]+)\).*?\.\.\. (ok|FAIL|ERROR|skipped.*)$")
_RAN = re.compile(r"^Ran (\d+) tests?\b")
# Seconds for all of Miri.
MIRI_LIMIT = 1200


def tools(report: Report) -> None:
    """The unit tests of these tools."""
    with report.group("tools: unit tests") as group:
        argv = [sys.executable, "-m", "unittest", "discover", "-v", "-s", "tools/tests", "-t", "tools"]
        run = subprocess.run(argv, cwd=tree.PROJECT, capture_output=True, text=True, timeout=300, check=False)
        unit_results(group, run.stderr.splitlines(), run.returncode)


def unit_results(group: Group, lines: list[str], status: int) -> None:
    """Records the tests of a verbose run of unittest."""
    ran = 0
    for line in lines:
        if match := _RAN.match(line):
            ran = int(match[1])
        if not (match := _UNIT.match(line)):
            continue
        name = f"{match[2].removeprefix('tests.').removesuffix('.' + match[1])}.{match[1]}"
        if match[3] == "ok":
            group.ok(name)
        elif match[3].startswith("skipped"):
            group.skip(name, match[3])
        else:
            group.fail(name, match[3].lower(), lines)
    if ran == 0:
        group.fail("unit tests are found", "unittest ran none", lines)
    elif status != 0 and not group.failed:
        group.fail("unittest ends well", f"exit status {status}", lines)


def driver(report: Report, kernel) -> None:
    """Format and lints of the driver."""
    with report.group("driver: style") as group:
        sources = [str(file.relative_to(tree.PROJECT)) for file in driver_sources(tree.PROJECT)]
        if not sources:
            group.fail("driver sources are found", f"no *.rs file in {tree.PROJECT}")
            return
        formatted(group, "rustfmt_changes_nothing", sources)
        group.attempt("clippy_has_nothing_to_say", lambda: module.clippy(kernel))


def formatted(group: Group, name: str, sources: list[str]) -> None:
    """Records whether rustfmt would leave the files as they are."""
    argv = ["rustfmt", "--check", "--edition", "2021", *sources]
    status, lines = root.capture(argv, cwd=tree.PROJECT)
    if status == 0:
        group.ok(name)
    else:
        group.fail(name, "run rustfmt on the files below", lines)


def driver_sources(project: Path) -> list[Path]:
    """The driver's Rust files: the root's, and folders that have no part of their own."""
    skipped = {"selftests", "tools", "target", "Documentation", "kunit"}
    files = list(project.glob("*.rs"))
    for folder in project.iterdir():
        if folder.is_dir() and folder.name not in skipped and not folder.name.startswith("."):
            files += folder.rglob("*.rs")
    return sorted(file for file in files if not file.name.endswith("_bindings.rs"))


def user_space(report: Report, kernel) -> None:
    """Format, lints and host tests of the selftests and of the driver's pure files."""
    workspace = tree.PROJECT / "selftests"
    with report.group("selftests: style") as group:
        cargo_step(group, "cargo_fmt_changes_nothing", ["fmt", "--all", "--check"], workspace)
        lint = ["clippy", "--locked", "--all-targets", "--", "-D", "warnings"]
        cargo_step(group, "clippy_has_nothing_to_say", lint, workspace)
    with report.group("selftests: host tests") as group:
        # One at a time: tests of the frame fork, and a child must not inherit a lock that
        # another thread of the process holds at that moment.
        cargo_tests(group, ["test", "--locked", "--", "--test-threads=1"], workspace)
    with report.group("driver: pure files on the host, ABI") as group:
        cargo_tests(group, ["test", "--release", "--locked"], workspace / "pure", {"KERNEL_SRC": kernel.source})
    with report.group("driver: sleeping and waking under loom") as group:
        cargo_step(group, "cargo_fmt_changes_nothing", ["fmt", "--all", "--check"], workspace / "loom")
        cargo_tests(group, ["test", "--release", "--locked"], workspace / "loom")
        planted = ["test", "--release", "--locked", "--features", "planted", "--test", "defer", "planted"]
        cargo_tests(group, planted, workspace / "loom")


def miri(report: Report) -> None:
    """The host tests of the pure files under Miri, where the machine has it.

    Miri needs a nightly compiler, which the Debian root has not.
    """
    argv = ["cargo", "+nightly", "miri"]
    with report.group("driver: pure files under Miri") as group:
        if not shutil.which("cargo") or captured([*argv, "--version"])[0] != 0:
            group.skip("undefined_behaviour", "this machine has no nightly cargo with Miri")
            return
        target = tree.build_folder(Cache()) / "miri"
        status, lines = captured(
            [*argv, "test", "--lib", "--locked"], cwd=tree.PROJECT / "selftests/pure", env={"CARGO_TARGET_DIR": str(target)})
        cargo_results(group, lines, status)


def captured(argv: list[str], cwd: Path | None = None, env: dict | None = None) -> tuple[int, list[str]]:
    """Exit status and output of a program of the machine, with a time limit."""
    try:
        run = subprocess.run(
            command.tied(argv), cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=MIRI_LIMIT, check=False)
    except subprocess.TimeoutExpired as late:
        said = late.stdout or ""
        said = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
        return 124, [*said.splitlines(), f"it did not end within {MIRI_LIMIT} s"]
    return run.returncode, run.stdout.splitlines()


def cargo_step(group: Group, name: str, args: list[str], folder: Path) -> None:
    """Records whether a cargo command succeeds."""
    status, lines = selftests.cargo(args, folder)
    if status == 0:
        group.ok(name)
    else:
        group.fail(name, f"cargo {args[0]}: exit status {status}", lines)


def cargo_tests(group: Group, args: list[str], folder: Path, env: dict | None = None) -> None:
    """Runs `cargo test` and records each test of it."""
    status, lines = selftests.cargo(args, folder, env=env or {})
    cargo_results(group, lines, status)


def cargo_results(group: Group, lines: list[str], status: int) -> None:
    """Records the tests in the output of `cargo test`."""
    seen: dict[str, int] = {}
    for line in lines:
        if not (match := _CARGO.match(line.strip())):
            continue
        name = match[1].replace(" ", "_")
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name = f"{name}_{seen[name]}"
        if match[2] == "ok":
            group.ok(name)
        elif match[2] == "ignored":
            group.skip(name, match[3] or "ignored")
        else:
            group.fail(name, "failed", panic_of(match[1], lines))
    if not seen:
        group.fail("cargo runs tests", f"it ran none; exit status {status}", lines)
    elif status != 0 and not group.failed:
        group.fail("cargo test ends well", f"exit status {status}", lines)


def panic_of(test: str, lines: list[str]) -> list[str]:
    """What a failed test printed, out of the output of `cargo test`."""
    start = f"---- {test} stdout ----"
    if start not in lines:
        return lines
    rest = lines[lines.index(start) + 1 :]
    ends = [index for index, line in enumerate(rest) if line.startswith("---- ") or line == "failures:"]
    return rest[: ends[0]] if ends else rest
