# SPDX-License-Identifier: GPL-2.0
"""Figures of binder-bench: reading them, and tables of them for people.

binder-bench prints one JSON object a line. Times are nanoseconds of the guest's
clock; under the instruction clock a nanosecond is one instruction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

OURS, THEIRS = "ours", "C"
# A change below this is noise even of the instruction clock, in percent.
NOTABLE = 1.0


@dataclass(frozen=True)
class Figure:
    """One line of binder-bench."""

    driver: str
    name: str
    mode: str
    variant: int
    mean: float
    p50: int
    p99: int
    client_ioctls: float
    server_ioctls: float
    calls_per_second: float
    cpus: int
    # Of the replies, how many shared their ioctl with the next call.
    share: float = 0.0

    @property
    def key(self) -> str:
        """What it measures, without the driver."""
        return " ".join(part for part in (self.name, self.mode, str(self.variant or "")) if part)

    @property
    def ioctls(self) -> float:
        """ioctls for one call, of both sides."""
        return self.client_ioctls + self.server_ioctls


def parse(line: str) -> Figure | None:
    """A figure, or None where the line is none."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        record = json.loads(line)
        return Figure(**{field: record[field] for field in Figure.__dataclass_fields__ if field in record})
    except (ValueError, KeyError, TypeError):
        return None


def collect(lines: list[str]) -> list[Figure]:
    """All figures among lines of output."""
    return [figure for figure in map(parse, lines) if figure is not None]


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """A table in plain text: the first column to the left, others to the right."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]

    def line(row: list[str]) -> str:
        cells = [
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        ]
        return "  ".join(cells).rstrip()

    return [line(header), line(["-" * width for width in widths]), *map(line, rows)]


def number(value: float) -> str:
    """A whole number with separators."""
    return f"{value:,.0f}"


def percent(new: float, old: float) -> str:
    """How much more `new` is than `old`."""
    return f"{(new / old - 1) * 100:+.2f} %" if old else "-"


def beside(figures: list[Figure], instructions: bool) -> list[str]:
    """Our figures beside the C driver's, one row for each measurement."""
    unit = "instructions" if instructions else "ns"
    drivers: dict[str, dict[str, Figure]] = {}
    for figure in figures:
        drivers.setdefault(figure.key, {})[figure.driver] = figure
    rows = []
    for key, found in drivers.items():
        ours, theirs = found.get(OURS), found.get(THEIRS)
        if ours is None and theirs is None:
            continue
        rows.append(
            [
                key,
                number(ours.mean) if ours else "-",
                number(theirs.mean) if theirs else "-",
                percent(ours.mean, theirs.mean) if ours and theirs else "-",
                f"{ours.ioctls:.2f}" if ours else "-",
                f"{theirs.ioctls:.2f}" if theirs else "-",
                number(ours.calls_per_second) if ours else "-",
                number(theirs.calls_per_second) if theirs else "-",
            ]
        )
    header = ["measurement", f"{unit}/call", "C", "ours to C", "ioctls/call", "C", "calls/s", "C"]
    return table(header, rows)


def boot(figures: list[Figure]) -> list[str]:
    """Which part of the replies shared its ioctl with the next call."""
    rows = [
        [f"{figure.driver}, {figure.mode}", number(figure.variant), f"{figure.share:.1%}", f"{figure.server_ioctls:.2f}"]
        for figure in figures if figure.name == "boot"
    ]
    return table(["boot-like workload", "replies", "shared an ioctl", "server ioctls/call"], rows) if rows else []


def floor(figures: list[Figure]) -> list[str]:
    """What the machine needs without Binder."""
    rows = [[figure.name, number(figure.mean)] for figure in figures if figure.driver not in (OURS, THEIRS)]
    return table(["without Binder", "each"], rows) if rows else []


def compare(new: list[Figure], old: list[Figure]) -> tuple[list[str], list[str]]:
    """Changes since an earlier run: a table, and the words about what got worse."""
    before = {(figure.driver, figure.key): figure for figure in old}
    rows, worse = [], []
    for figure in new:
        earlier = before.get((figure.driver, figure.key))
        if earlier is None or figure.driver != OURS:
            continue
        change = percent(figure.mean, earlier.mean)
        rows.append([figure.key, number(earlier.mean), number(figure.mean), change])
        if figure.mean > earlier.mean * (1 + NOTABLE / 100):
            worse.append(f"{figure.key} is {change} worse than in the run before")
    return (table(["ours", "before", "now", "change"], rows) if rows else []), worse
