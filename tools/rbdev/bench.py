# SPDX-License-Identifier: GPL-2.0
"""`make bench`: measures our driver beside the C driver, and beside the run before.

No figure passes or fails a check: what got more than one percent worse since
the last run of the same kernel is said, and the reader decides.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import time
from pathlib import Path

from . import figures, handles, kernel as kernels, measure, selftests
from .cache import Cache
from .check import guest_files
from .progress import step

SINGLE = ("call", "payload", "nodes", "oneway", "floor")
PARALLEL = ("fanin", "boot")
# Only if it is named: it takes some minutes.
HANDLES = "handles"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `bench`."""
    known = ", ".join((*SINGLE, *PARALLEL, HANDLES))
    parser.add_argument("--kernel", default="stock", metavar="NAME", help="the kernel to boot; default stock")
    parser.add_argument("--benches", default="", metavar="A,B", help=f"only these of {known}")
    parser.add_argument("--calls", type=int, default=2000, metavar="N", help="calls for each figure; default 2000")
    parser.add_argument("--nodes", type=int, default=20000, metavar="N", help="nodes that the server holds at the end")
    parser.add_argument("--plot", action="store_true", help="with handles: put figures and a chart into Documentation/data")
    parser.add_argument("--json", default="", metavar="FILE", help="write the figures to a file, too")


def main(options: argparse.Namespace) -> int:
    """Measures, prints the tables and keeps the figures."""
    kernel = kernels.get(options.kernel or "stock")
    chosen = options.benches.replace(",", " ").split() or [*SINGLE, *PARALLEL]
    files = guest_files(kernel, selftests.build())
    found, parallel = [], []
    single = [bench for bench in SINGLE if bench in chosen]
    if single:
        with step("measuring by the instruction clock"):
            script = instructions(single, options)
            found = measure.run(kernel, files, script, icount=True, timeout=3600, on_line=heartbeat)
    if parallel_chosen := [bench for bench in PARALLEL if bench in chosen]:
        with step("measuring on two CPUs"):
            script = two_cpus(parallel_chosen, options)
            parallel = measure.run(kernel, files, script, icount=False, timeout=1800, on_line=heartbeat)
    if HANDLES in chosen:
        both, million = handles.run(kernel, files, options.calls, heartbeat)
        show(f"Linux {kernel.release}, one CPU", handles.tables(both, million))
        if options.plot:
            handles.publish(both, million, kernel.release)
    if found:
        show(f"Linux {kernel.release}, one CPU, clock: instructions", figures.beside(found, True))
        show("", figures.floor(found))
    if parallel:
        show(f"Linux {kernel.release}, two CPUs, real time: only the relation counts", figures.beside(parallel, False))
        show("two CPUs; in public: 3,441 of 4,297 (80 %) in the start of Cuttlefish", figures.boot(parallel))
    if found or parallel:
        keep(kernel, found, parallel, options)
    return 0


def instructions(benches: list[str], options: argparse.Namespace) -> measure.Script:
    """The script for the instruction clock."""
    script = measure.Script()
    common = ["--calls", str(options.calls), "--nodes", str(options.nodes)]
    for bench in benches:
        if bench == "floor":
            script.bench("none", "--calls", str(options.calls), "floor")
            continue
        modes = {"call": ("separate,joined,deferred", "separate,joined,deferred")}.get(bench, ("joined", "joined"))
        for driver, mode in zip((figures.OURS, figures.THEIRS), modes):
            script.bench(driver, *common, "--server-mode", mode, bench)
    return script


def two_cpus(benches: list[str], options: argparse.Namespace) -> measure.Script:
    """The script for the guest with two CPUs."""
    script = measure.Script()
    for bench in benches:
        modes = "separate,joined,deferred" if bench == "boot" else "joined"
        for driver in (figures.OURS, figures.THEIRS):
            script.bench(driver, "--calls", str(options.calls), "--server-mode", modes, bench)
    return script


def heartbeat(line: str) -> None:
    """Shows that something happens: what runs, and each figure as it comes."""
    if line.startswith("# "):
        print(line, flush=True)
    elif figure := figures.parse(line):
        print(f"    {figure.driver} {figure.key}: {figures.number(figure.mean)}", flush=True)


def show(title: str, lines: list[str]) -> None:
    """Prints a table under a title."""
    if lines:
        print("\n".join(["", *([title] if title else []), *lines]), flush=True)


def folder() -> Path:
    """Where figures of earlier runs are kept."""
    path = Path(Cache().path) / "bench"
    path.mkdir(parents=True, exist_ok=True)
    return path


def keep(kernel, found: list, parallel: list, options: argparse.Namespace) -> None:
    """Compares with the run before, then stores these figures in its place."""
    name = f"{kernel.name}-{kernel.release}"
    last = folder() / f"{name}.json"
    show_changes(found, load(last))
    merged = {(figure.driver, figure.key, figure.cpus): figure for figure in load(last)}
    merged |= {(figure.driver, figure.key, figure.cpus): figure for figure in [*found, *parallel]}
    store(last, kernel, list(merged.values()))
    print(f"\nfigures: {last}", flush=True)
    if options.json:
        store(Path(options.json), kernel, [*found, *parallel])


def show_changes(found: list, before: list) -> None:
    """Says what changed since the run before."""
    old = [figure for figure in before if figure.cpus == 1]
    lines, worse = figures.compare(found, old)
    if not lines:
        print("\nno earlier run of this kernel to compare with")
    show("compared with the run before", lines)
    for text in worse:
        print(f"WARNING: {text}", flush=True)


def load(path: Path) -> list[figures.Figure]:
    """Figures of an earlier run; none where there was none, or its file is of no use."""
    try:
        records = json.loads(path.read_text(encoding="utf-8"))["figures"]
        return [figures.Figure(**record) for record in records]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def store(path: Path, kernel, found: list) -> None:
    """Writes figures, so that an interruption leaves the old ones."""
    record = {
        "release": kernel.release,
        "kernel": kernel.name,
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "figures": [dataclasses.asdict(figure) for figure in found],
    }
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    os.replace(new, path)
