# SPDX-License-Identifier: GPL-2.0
"""Tests of reading, showing and comparing figures."""

import json
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

from rbdev import bench, figures

RECORD = {
    "driver": "ours",
    "device": "/dev/rbinder0",
    "name": "call",
    "mode": "joined",
    "variant": 64,
    "calls": 10,
    "mean": 28000.0,
    "min": 1,
    "p50": 28000,
    "p90": 2,
    "p99": 29000,
    "max": 3,
    "client_ioctls": 1.0,
    "server_ioctls": 2.0,
    "calls_per_second": 35714.3,
    "cpus": 1,
}


def figure(**changes):
    return figures.parse(json.dumps(RECORD | changes))


class Parse(unittest.TestCase):
    def test_line_of_json(self):
        self.assertEqual(figure().key, "call joined 64")
        self.assertEqual(figure().ioctls, 3.0)

    def test_other_lines_are_none(self):
        for line in ("", "# measure", "{}", "{not json", '{"driver": 1}', "[1]"):
            self.assertIsNone(figures.parse(line), line)

    def test_collect(self):
        self.assertEqual(len(figures.collect(["# x", json.dumps(RECORD), "@@ started"])), 1)


class Tables(unittest.TestCase):
    def test_columns_are_aligned(self):
        lines = figures.table(["a", "bb"], [["long", "1"], ["x", "22"]])
        self.assertEqual(lines, ["a     bb", "----  --", "long   1", "x     22"])

    def test_ours_beside_theirs(self):
        text = "\n".join(figures.beside([figure(), figure(driver="C", mean=25000.0)], True))
        self.assertIn("+12.00 %", text)
        self.assertIn("28,000", text)

    def test_one_driver_alone(self):
        self.assertIn(" - ", "\n".join(figures.beside([figure()], True)))

    def test_floor_has_no_driver(self):
        self.assertEqual(figures.floor([figure()]), [])
        self.assertIn("eventfd", "\n".join(figures.floor([figure(driver="none", name="eventfd")])))


    def test_share_of_replies_is_shown_for_the_boot_alone(self):
        self.assertEqual(figures.boot([figure()]), [])
        line = figures.boot([figure(name="boot", mode="deferred", variant=4000, share=0.8564)])[-1]
        self.assertIn("85.6%", line)
        self.assertIn("4,000", line)


class Compare(unittest.TestCase):
    def test_worse_is_said_and_noise_is_not(self):
        _, worse = figures.compare([figure(mean=28400.0)], [figure()])
        self.assertEqual(len(worse), 1)
        table, worse = figures.compare([figure(mean=28100.0)], [figure()])
        self.assertEqual(worse, [])
        self.assertTrue(table)

    def test_the_C_driver_and_new_figures_are_left_out(self):
        self.assertEqual(figures.compare([figure(driver="C")], [figure(driver="C")]), ([], []))
        self.assertEqual(figures.compare([figure()], []), ([], []))

    def test_figures_are_kept(self):
        kernel = SimpleNamespace(release="r", name="stock")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "f.json")
            self.assertEqual(bench.load(path), [])
            bench.store(path, kernel, [figure()])
            self.assertEqual(bench.load(path), [figure()])
            path.write_text("{broken")
            self.assertEqual(bench.load(path), [])


if __name__ == "__main__":
    unittest.main()
