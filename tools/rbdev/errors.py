# SPDX-License-Identifier: GPL-2.0
"""Failures that a person can do something about."""

from __future__ import annotations


class Failure(Exception):
    """What happened, what was expected instead, and what to do about it.

    Printed as one line by `tools/dev`, which then exits with status 1.
    """

    def __init__(self, what: str, expected: str, todo: str):
        super().__init__(f"{what}; expected {expected}; {todo}")
        self.what, self.expected, self.todo = what, expected, todo
