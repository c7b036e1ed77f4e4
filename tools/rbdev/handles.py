# SPDX-License-Identifier: GPL-2.0
"""`make bench BENCH=handles`: what very many handles cost.

Both drivers to 100,000 in one boot, then ours to a million. `PLOT=1` puts the
figures and a chart of them into `Documentation/data/`.
"""

from __future__ import annotations

import dataclasses
import json

from . import figures, measure, plot, tree
from .figures import OURS, THEIRS, Figure
from .progress import step

BOTH, MILLION = 100_000, 1_000_000
DATA = tree.PROJECT / "Documentation" / "data"


def run(kernel, files: dict, calls: int, on_line) -> tuple[list[Figure], list[Figure]]:
    """Measures both drivers, then ours alone with ten times as many."""
    with step(f"measuring {BOTH:,} handles, both drivers"):
        both = measured(kernel, files, (OURS, THEIRS), BOTH, calls, on_line)
    with step(f"measuring {MILLION:,} handles"):
        million = measured(kernel, files, (OURS,), MILLION, calls, on_line)
    return both, million


def measured(kernel, files: dict, drivers: tuple[str, ...], nodes: int, calls: int, on_line) -> list[Figure]:
    """One guest."""
    script = measure.Script()
    for driver in drivers:
        script.bench(driver, "--nodes", str(nodes), "--calls", str(calls), "handles")
    memory = "8G" if nodes > BOTH else "3G"
    return measure.run(kernel, files, script, icount=True, timeout=7200, memory=memory, on_line=on_line)


def tables(both: list[Figure], million: list[Figure]) -> list[str]:
    """What people read: medians, and how even they are."""
    ours = {(figure.mode, figure.variant): figure for figure in both + million if figure.driver == OURS}
    theirs = {(figure.mode, figure.variant): figure for figure in both if figure.driver == THEIRS}
    rows = []
    for (mode, held), figure in sorted(ours.items()):
        peer = theirs.get((mode, held))
        rows.append([
            f"{mode} {held:,}", figures.number(figure.p50), figures.number(peer.p50) if peer else "-",
            figures.percent(figure.p50, peer.p50) if peer else "-",
        ])
    lines = figures.table(["handles held", "median", "C", "ours to C"], rows)
    lines += ["memory: bytes for a node with its handle; all else: instructions", ""]
    return lines + [evenness(million)]


def evenness(million: list[Figure]) -> str:
    """The last tenth beside the first one."""
    grow = sorted((figure for figure in million if figure.mode == "grow"), key=lambda figure: figure.variant)
    change = figures.percent(grow[-1].p50, grow[0].p50)
    return f"a call with a new node, last tenth of {grow[-1].variant:,} beside the first: {change}"


def publish(both: list[Figure], million: list[Figure], release: str) -> None:
    """Puts figures and chart where the documentation has them."""
    DATA.mkdir(exist_ok=True)
    record = {"release": release} | {
        name: [dataclasses.asdict(figure) for figure in part] for name, part in (("both", both), ("million", million))
    }
    data = DATA / "handles.json"
    data.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    plot.draw("handles", data, DATA / "handles.svg")
    print(f"\nwritten: {data}, {DATA / 'handles.svg'}", flush=True)
