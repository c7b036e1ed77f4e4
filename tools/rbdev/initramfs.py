# SPDX-License-Identifier: GPL-2.0
"""Puts together the guest's file system: busybox, programs, modules, a script."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import BinaryIO, Mapping

from .errors import Failure

FOLDERS = ("bin", "dev", "etc", "proc", "root", "sys", "tmp")
# Written to the second serial line after the script's own output.
END = "RBDEV-EXIT"
# Written there before it: the kernel is up and nothing of ours has run yet.
START = "RBDEV-START"

# Seconds after which the kernel says that a task hangs.
HUNG = 20

# The kernel patches its code when it takes its last clock, in its second second, and the emulator
# may run the old code meanwhile: that has to be over before what is ours begins.
CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
CLOCK_TRIES = 50

INIT = f"""#!/bin/sh
export PATH=/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
[ ! -d /sys/kernel/debug ] || mount -t debugfs debugfs /sys/kernel/debug
ifconfig lo up 2> /dev/null
# No test lasts long enough for the usual two minutes.
[ ! -e /proc/sys/kernel/hung_task_timeout_secs ] || echo {HUNG} > /proc/sys/kernel/hung_task_timeout_secs
tries=0
while grep -q early {CLOCK} && [ $tries -lt {CLOCK_TRIES} ]; do
	tries=$((tries + 1))
	sleep 0.1
done
echo "{START}" > /dev/ttyS1
sh /script > /dev/ttyS1 2>&1 < /dev/null
echo "{END} $?" > /dev/ttyS1
poweroff -f
"""


class Archive:
    """Writes a cpio archive of the kind that kernels unpack ("newc")."""

    def __init__(self, out: BinaryIO):
        self.out = out
        self.count = 0
        self.known: set[str] = set()

    def add(self, name: str, mode: int, content: bytes = b"") -> None:
        """Adds one file; the folders it is in must be there."""
        self.count += 1
        encoded = name.encode() + b"\0"
        fields = (self.count, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields)
        self._padded(header + encoded)
        self._padded(content)

    def folder(self, name: str) -> None:
        """Adds a folder and those it is in, once."""
        if name in ("", ".") or name in self.known:
            return
        self.folder(os.path.dirname(name))
        self.known.add(name)
        self.add(name, stat.S_IFDIR | 0o755)

    def file(self, name: str, content: bytes, mode: int = 0o755) -> None:
        """Adds a file and the folders it is in."""
        self.folder(os.path.dirname(name))
        self.add(name, stat.S_IFREG | mode, content)

    def link(self, name: str, target: str) -> None:
        """Adds a symbolic link."""
        self.add(name, stat.S_IFLNK | 0o777, target.encode())

    def end(self) -> None:
        """Ends the archive."""
        self.add("TRAILER!!!", 0)

    def _padded(self, data: bytes) -> None:
        self.out.write(data + b"\0" * (-len(data) % 4))


def write(path: Path, busybox: Path, files: Mapping[str, Path], script: str) -> None:
    """Writes the guest's file system; `files`: path in the guest -> on the host."""
    applets = subprocess.run(
        [str(busybox), "--list"], capture_output=True, text=True, check=True, timeout=60).stdout.split()
    given = {name.lstrip("/") for name in files}
    with open(path, "wb") as out:
        archive = Archive(out)
        for folder in FOLDERS:
            archive.folder(folder)
        archive.file("bin/busybox", busybox.read_bytes())
        for applet in applets:
            if applet != "busybox" and f"bin/{applet}" not in given:
                archive.link(f"bin/{applet}", "busybox")
        archive.file("etc/passwd", b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n", 0o644)
        archive.file("etc/group", b"root:x:0:\nnogroup:x:65534:\n", 0o644)
        archive.file("init", INIT.encode())
        archive.file("script", script.encode())
        for name, source in files.items():
            try:
                archive.file(name.lstrip("/"), Path(source).read_bytes())
            except OSError as error:
                raise Failure(f"cannot read {source}: {error.strerror}", "a file for the guest", "build it first") from None
        archive.end()
