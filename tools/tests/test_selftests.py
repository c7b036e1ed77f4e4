# SPDX-License-Identifier: GPL-2.0
"""Tests of how cargo's output is read."""

import json
import unittest
from pathlib import Path

from rbdev import selftests


def artifact(name, **more):
    executable = f"/target/x86_64-unknown-linux-gnu/release/{name}"
    return json.dumps({"reason": "compiler-artifact", "executable": executable} | more, separators=(",", ":"))


class Messages(unittest.TestCase):
    def test_words_and_messages_are_separated(self):
        lines = ["   Compiling x v1", artifact("binder-demo"), '{"reason": broken', '{"reason":broken', "warning: unused"]
        found, words = selftests.messages(lines)
        self.assertEqual([message["reason"] for message in found], ["compiler-artifact"])
        self.assertEqual(words, [lines[0], *lines[2:]])

    def test_programs_are_those_that_cargo_names(self):
        lines = [artifact("binder-test-b"), artifact("binder-test-a"), artifact("helper"), artifact("x", executable=None),
                 '{"reason":"build-finished","success":true}']
        made = selftests.programs(selftests.messages(lines)[0], Path("/cache/target"))
        folder = Path("/cache/target/x86_64-unknown-linux-gnu/release")
        self.assertEqual(list(made.items()), [(name, folder / name) for name in ("binder-test-a", "binder-test-b")])


if __name__ == "__main__":
    unittest.main()
