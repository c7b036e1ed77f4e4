# SPDX-License-Identifier: GPL-2.0
"""Tells what is going on and how long it took."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import Iterator

# Seconds between two signs of life of a long step on a terminal, and in a log.
TERMINAL_BEAT = 1.0
LOG_BEAT = 30.0


def verbose() -> bool:
    """Whether V=1 asks for the output of every command."""
    return os.environ.get("V", "0") not in ("", "0")


def say(text: str) -> None:
    """Prints one line about what the harness does."""
    print(f"==> {text}", flush=True)


@contextlib.contextmanager
def step(text: str) -> Iterator[None]:
    """Prints `==> text ... (12 s)`, with signs of life while it takes long."""
    start = time.monotonic()
    terminal = sys.stdout.isatty() and not verbose()
    done = threading.Event()

    def beat() -> None:
        while not done.wait(TERMINAL_BEAT if terminal else LOG_BEAT):
            seconds = time.monotonic() - start
            if terminal:
                print(f"\r==> {text} ... ({seconds:.0f} s)", end="", flush=True)
            else:
                print(f"    {text}: {seconds:.0f} s so far", flush=True)

    if terminal:
        print(f"==> {text} ...", end="", flush=True)
    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    result = "failed after "
    try:
        yield
        result = ""
    finally:
        done.set()
        thread.join()
        seconds = time.monotonic() - start
        start_of_line = "\r" if terminal else ""
        print(f"{start_of_line}==> {text} ... ({result}{seconds:.0f} s)", flush=True)
