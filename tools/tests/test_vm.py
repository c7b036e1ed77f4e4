# SPDX-License-Identifier: GPL-2.0
"""Tests of booting again: only a guest that crashed before its script began."""

import unittest
from unittest import mock

from rbdev import initramfs, vm


class Boots(unittest.TestCase):
    def run_with(self, *guests: list[str]) -> tuple[vm.Outcome, int]:
        """Runs with guests that write these lines; returns how many were booted."""
        left = iter(guests)

        def boot(_kernel, _files, _script, reader, *_rest):
            reader.feed("".join(line + "\n" for line in next(left)).encode())
            return ["Kernel panic - not syncing: a test"]

        with mock.patch.object(vm, "_boot", side_effect=boot) as booted, mock.patch.object(vm.packages, "ensure"), \
                mock.patch.object(vm.progress, "say"):
            outcome = vm.run(mock.Mock(), {}, "true")
        return outcome, booted.call_count

    def test_a_guest_that_begins_is_booted_once(self):
        outcome, boots = self.run_with([initramfs.START, "a", f"{initramfs.END} 0"])
        self.assertEqual((outcome.status, outcome.output, boots), (0, ["a"], 1))

    def test_a_crash_after_the_beginning_stands(self):
        outcome, boots = self.run_with([initramfs.START, "a"], [initramfs.START, f"{initramfs.END} 0"])
        self.assertEqual((outcome.status, outcome.output, boots), (None, ["a"], 1))

    def test_a_crash_before_it_is_tried_again(self):
        outcome, boots = self.run_with([], [], [initramfs.START, f"{initramfs.END} 3"])
        self.assertEqual((outcome.status, boots), (3, 3))

    def test_it_ends_after_some_tries(self):
        outcome, boots = self.run_with(*[[]] * (vm.BOOTS + 1))
        self.assertEqual((outcome.status, boots), (None, vm.BOOTS))


if __name__ == "__main__":
    unittest.main()
