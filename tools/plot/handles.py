# SPDX-License-Identifier: GPL-2.0
"""Draws the figures of `make bench BENCH=handles`. Needs matplotlib; run by rbdev/plot.py.

    python3 handles.py FIGURES.json OUTPUT.svg
"""

import json
import sys

import matplotlib

matplotlib.use("svg")
# The same figures give the same file.
matplotlib.rcParams["svg.hashsalt"] = "rust-binder"
from matplotlib import pyplot  # noqa: E402

NAMES = {"ours": "this driver", "C": "the C driver"}


def series(figures, driver, mode):
    """Numbers of handles and medians."""
    found = [figure for figure in figures if figure["driver"] == driver and figure["mode"] == mode]
    found.sort(key=lambda figure: figure["variant"])
    return [figure["variant"] for figure in found], [figure["p50"] for figure in found]


def draw(record, target):
    """Two charts: a call with a new node, and the release of a handle."""
    chart, (grow, release) = pyplot.subplots(1, 2, figsize=(10, 4))
    for driver, line in (("ours", "-"), ("C", "--")):
        held, cost = series(record["both"], driver, "grow")
        grow.plot(held, cost, line, label=NAMES[driver])
        for mode in ("release-lifo", "release-fifo", "release-random"):
            held, cost = series(record["both"] + record["million"], driver, mode)
            release.plot(held, cost, line, marker="o", markersize=3, label=f"{NAMES[driver]}, {mode[8:]}")
    held, cost = series(record["million"], "ours", "grow")
    grow.plot(held, cost, "-", label="this driver, to a million")
    grow.set(title="a call with a new node", xlabel="handles held", ylabel="instructions, median", ylim=0, xscale="log")
    release.set(title="release of one handle", xlabel="handles held", ylabel="instructions, median", ylim=0, xscale="log")
    grow.legend()
    release.legend(fontsize="small")
    chart.tight_layout()
    chart.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        draw(json.load(file), sys.argv[2])
