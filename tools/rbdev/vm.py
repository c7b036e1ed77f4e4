# SPDX-License-Identifier: GPL-2.0
"""Boots a kernel with a script in a virtual machine and reports what happened.

The first serial line is the kernel's log, the second one the script's output.
"""

from __future__ import annotations

import dataclasses
import os
import selectors
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Callable, Mapping

from . import command, initramfs, packages, progress
from .cache import Cache
from .errors import Failure
from .kernel import Kernel

PARAMETERS = "console=ttyS0 panic=-1 oops=panic loglevel=7"
BUSYBOX = "usr/bin/busybox"
# Where the modules are in the guest.
OUR_MODULE = "/rust_binder.ko"
C_MODULE = "/binder_linux.ko"
# Seconds for the machine to be gone after the script's last line.
POWER_OFF = 60
# How often a guest is booted whose kernel crashes before the script begins.
BOOTS = 3


@dataclasses.dataclass
class Outcome:
    """What a guest did.

    `status` is the script's exit status, None if the guest crashed or was
    stopped after its time. `seconds` is wall-clock time.
    """

    status: int | None
    output: list[str]
    klog: list[str]
    seconds: float


def _megabytes(memory: str) -> int:
    """Reads "512M" or "2G"."""
    units = {"M": 1, "G": 1024}
    if memory[-1:].upper() not in units or not memory[:-1].isdigit():
        raise Failure(f"memory {memory}", "a number with M or G", "correct it")
    return int(memory[:-1]) * units[memory[-1].upper()]


def _argv(kernel: Kernel, folder: Path, icount: bool, smp: int, memory: str, append: str) -> list[str]:
    if icount:
        # Of the largest model: it copies with one instruction a byte, as real ones
        # may, so that figures of large payloads say how many bytes were copied.
        machine = ["-accel", "tcg", "-icount", "shift=0", "-smp", "1", "-cpu", "max"]
    else:
        machine = ["-accel", "tcg,thread=multi", "-smp", str(smp)]
    parameters = " ".join(part for part in (PARAMETERS, kernel.parameters, append) if part)
    return [
        "qemu-system-x86_64", *machine, "-m", f"{max(_megabytes(memory), kernel.memory)}M", "-display", "none",
        "-nodefaults", "-no-reboot", "-kernel", str(kernel.vmlinuz), "-initrd", str(folder / "initramfs"),
        "-append", parameters, "-serial", f"file:{folder / 'klog'}", "-chardev", "stdio,id=out,signal=off",
        "-serial", "chardev:out", "-monitor", "none",
    ]


class _Reader:
    """Cuts the script's output into lines and finds its end."""

    def __init__(self, on_line: Callable[[str], None] | None):
        self.on_line = on_line
        self.lines: list[str] = []
        self.started = False
        self.status: int | None = None
        self.rest = b""

    def feed(self, data: bytes) -> None:
        """Takes what arrived."""
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self._line(line.decode("utf-8", "replace").rstrip("\r"))

    def finish(self) -> None:
        """Takes a last line without its end."""
        if self.rest:
            self.feed(b"\n")

    def _line(self, line: str) -> None:
        if not self.started and line == initramfs.START:
            self.started = True
            return
        text, end, number = line.rpartition(initramfs.END + " ")
        if end and number.strip().isdigit():
            self.status = int(number)
            if not text:
                return
            line = text
        self.lines.append(line)
        if self.on_line:
            self.on_line(line)


def _follow(process: subprocess.Popen, reader: _Reader, deadline: float) -> bool:
    """Reads until the machine is off; False when its time is over."""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        ended = False
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return reader.status is not None
            if not selector.select(left):
                continue
            data = os.read(process.stdout.fileno(), 1 << 16)
            if not data:
                return True
            reader.feed(data)
            if reader.status is not None and not ended:
                ended = True
                deadline = min(deadline, time.monotonic() + POWER_OFF)


def _kernel_log(path: Path, copy: Path) -> list[str]:
    """Reads the kernel's log and leaves a copy among the logs of the cache."""
    if not path.exists():
        return []
    content = path.read_bytes().replace(b"\r", b"")
    copy.parent.mkdir(exist_ok=True)
    copy.write_bytes(content)
    return content.decode("utf-8", "replace").splitlines()


def run(
    kernel: Kernel,
    files: Mapping[str, Path],
    script: str,
    *,
    icount: bool = False,
    smp: int = 2,
    memory: str = "1G",
    timeout: float = 600,
    on_line: Callable[[str], None] | None = None,
    append: str = "",
) -> Outcome:
    """Boots the kernel, runs the script with busybox's shell, powers off.

    `files`: path in the guest -> on the host; `icount`: the guest's clock
    counts instructions and there is one processor; `timeout`: seconds, after
    which the guest is stopped and the status is None; `on_line` gets each
    line of output as it comes.

    A kernel that crashes before the script begins, which happens now and then
    because the emulator runs instructions that were just replaced, has run nothing of
    ours: it is said, and the guest is booted again, up to BOOTS times in all.
    """
    packages.ensure(Cache(), packages.GUEST_ONLY)
    for boot in range(1, BOOTS + 1):
        begun = time.monotonic()
        reader = _Reader(on_line)
        klog = _boot(kernel, files, script, reader, begun + timeout, (icount, smp, memory, append))
        seconds = time.monotonic() - begun
        if reader.started or boot == BOOTS or seconds >= timeout:
            break
        panic = next((line for line in klog if "Kernel panic" in line), "it said nothing")
        progress.say(f"the kernel crashed before the script began, booting it again: {panic}")
    return Outcome(reader.status, reader.lines, klog, seconds)


def _boot(
    kernel: Kernel, files: Mapping[str, Path], script: str, reader: _Reader, deadline: float, machine: tuple[bool, int, str, str],
) -> list[str]:
    """Runs a guest until it is off or its time is over; returns its kernel log."""
    with tempfile.TemporaryDirectory(prefix="rbdev-") as name:
        folder = Path(name)
        initramfs.write(folder / "initramfs", kernel.root / BUSYBOX, files, script)
        with open(folder / "errors", "wb") as errors:
            process = subprocess.Popen(
                command.tied(_argv(kernel, folder, *machine)), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
        try:
            in_time = _follow(process, reader, deadline)
            if in_time:
                process.wait(POWER_OFF)
        except subprocess.TimeoutExpired:
            pass
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        reader.finish()
        klog = _kernel_log(folder / "klog", Cache().log("guest"))
        said = (folder / "errors").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        if not klog and process.returncode not in (0, -9):
            raise Failure(f"qemu ended with status {process.returncode}: {said[-1] if said else 'no message'}",
                          "a running guest", "check qemu-system-x86_64 and the free memory")
    return klog
