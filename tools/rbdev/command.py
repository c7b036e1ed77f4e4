# SPDX-License-Identifier: GPL-2.0
"""Runs programs: logged, ended with us, and with failures one can read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Mapping, Sequence

from . import progress
from .errors import Failure

NETWORK = re.compile(
    r"could not resolve|temporary failure (in name resolution|resolving)|could not connect|connection (failed|refused|timed out)"
    r"|network is unreachable|no route to host|unable to connect|failed to fetch|download of .* failed"
    r"|couldn't connect to server|couldn't resolve host|spurious network error",
    re.IGNORECASE,
)
SPACE = re.compile(r"no space left on device|not enough free space|disk quota exceeded", re.IGNORECASE)
# Characters of a log that are searched for the reason of a failure.
TAIL = 60_000


class CommandFailed(Failure):
    """A program ended badly; `output` has the end of what it wrote."""

    def __init__(self, what: str, expected: str, todo: str, output: str, status: int):
        super().__init__(what, expected, todo)
        self.output, self.status = output, status


def tied(argv: Sequence[str]) -> list[str]:
    """The command that runs argv and is killed when this program dies."""
    return ["setpriv", "--pdeathsig", "KILL", *argv]


def run(
    argv: Sequence[str],
    *,
    log: Path,
    what: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    show: bool = False,
) -> None:
    """Runs a program with its output in `log`, also shown with V=1 or `show`.

    Raises CommandFailed with the likeliest reason. An interrupt ends the
    program before it goes on to the caller.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb", buffering=0) as out:
        process = subprocess.Popen(
            tied(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=env, cwd=cwd, start_new_session=True,
        )
        try:
            loud = show or progress.verbose()
            for line in process.stdout:
                out.write(line)
                if loud:
                    sys.stdout.buffer.write(line)
                    sys.stdout.buffer.flush()
            status = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            process.stdout.close()
    if status != 0:
        raise failure(what, status, log)


def failure(what: str, status: int, log: Path) -> CommandFailed:
    """Says why a program failed, from what it wrote."""
    output = log.read_text(encoding="utf-8", errors="replace")[-TAIL:]
    if SPACE.search(output):
        return CommandFailed(
            f"{what} failed: no space left on the disk", "a few free gigabytes",
            f"free some or set XDG_CACHE_HOME to a larger disk (log: {log})", output, status)
    if NETWORK.search(output):
        return CommandFailed(
            f"{what} failed: no network, or a server does not answer", "the servers of this machine's own configuration",
            f"check the connection and run the command again (log: {log})", output, status)
    return CommandFailed(f"{what} failed with status {status}", "success", f"read {log}", output, status)


def capture(argv: Sequence[str], *, what: str, env: Mapping[str, str] | None = None) -> str:
    """Runs a short program and returns what it wrote to its standard output."""
    try:
        done = subprocess.run(
            tied(argv), stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        raise Failure(f"{what} did not end within 300 s", "an answer", "run the command again") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Failure(f"{what} failed: {last}", "success", f"run by hand: {os.path.basename(argv[0])} ...")
    return done.stdout
