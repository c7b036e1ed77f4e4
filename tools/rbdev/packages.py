# SPDX-License-Identifier: GPL-2.0
"""What the machine itself must have: its architecture, root, a few programs."""

from __future__ import annotations

import os
import shutil
from typing import Mapping

from . import command, progress
from .cache import Cache
from .errors import Failure

# Program -> package that has it. The compilers are in the Debian root.
NEEDED = {
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "mmdebstrap": "mmdebstrap",
    "qemu-system-x86_64": "qemu-system-x86",
}
GUEST_ONLY = {"setpriv": "util-linux", "qemu-system-x86_64": "qemu-system-x86"}
# Where programs for root are, although PATH may not say so.
EXTRA_PATH = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")


def extend_path() -> None:
    """Adds the folders of system programs to PATH."""
    parts = os.environ.get("PATH", "").split(":")
    os.environ["PATH"] = ":".join([*parts, *(p for p in EXTRA_PATH if p not in parts)])


def check_architecture() -> None:
    """Fails on a machine whose kernel is not 64-bit x86."""
    machine = os.uname().machine
    if machine != "x86_64":
        raise Failure(
            f"this machine is {machine}", "x86_64, the architecture of the reference kernel",
            "use an x86_64 machine, or build against your own kernel: make KDIR=/lib/modules/$(uname -r)/build")


def check_root() -> None:
    """Fails for a user who may not enter the Debian root with chroot."""
    if os.geteuid() != 0:
        raise Failure(
            "not root", "root, who can make and enter the Debian root with the kernel's toolchain",
            "run it with sudo, or build against your own kernel: make KDIR=/lib/modules/$(uname -r)/build")


def missing(programs: Mapping[str, str]) -> list[str]:
    """The packages whose programs are not on this machine."""
    return sorted({package for program, package in programs.items() if not shutil.which(program)})


def ensure(cache: Cache, programs: Mapping[str, str] | None = None) -> None:
    """Checks the machine and installs missing packages when it may."""
    extend_path()
    check_architecture()
    absent = missing(programs or NEEDED)
    if os.geteuid() != 0:
        if absent:
            raise Failure(
                f"missing on this machine: {' '.join(absent)}", "these packages, or root to install them",
                f"run: sudo apt-get install {' '.join(absent)}; then run this again with sudo")
        check_root()
    if absent:
        install(cache, absent)
        if still := missing(programs or NEEDED):
            raise Failure(
                f"missing on this machine: {' '.join(still)}", "programs in PATH after their installation",
                "install them by hand")


def install(cache: Cache, names: list[str]) -> None:
    """Installs Debian packages on this machine."""
    if not shutil.which("apt-get"):
        raise Failure(
            f"missing on this machine: {' '.join(names)}", "Debian, whose apt-get installs them",
            "install these tools with your own distribution's means")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with progress.step(f"install {' '.join(names)}"):
        command.run(["apt-get", "update", "-q"], log=cache.log("apt-update"), what="apt-get update", env=env)
        command.run(
            ["apt-get", "install", "-y", "-q", "--no-install-recommends", *names],
            log=cache.log("apt-install"), what=f"installing {' '.join(names)}", env=env)
