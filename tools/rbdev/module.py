# SPDX-License-Identifier: GPL-2.0
"""Builds the module: for a prepared kernel, under clippy, and in a kernel tree."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Sequence

from . import progress, tree
from .cache import Cache, digest
from .command import CommandFailed
from .errors import Failure
from .kernel import INSIDE_BUILD, INSIDE_SOURCE, Kernel

# Where the module's sources are inside the root.
INSIDE = "/w"
IN_TREE = f"{INSIDE_SOURCE}/drivers/android/rust_binder"
# Lines of a compiler's output shown when a build fails.
SHOWN = 200


def jobs() -> str:
    """make's option for all processors."""
    return f"-j{os.cpu_count() or 1}"


def _folder(cache: Cache, kernel: Kernel, use: str) -> Path:
    return tree.build_folder(cache) / f"{use}-{kernel.folder.name}"


def _explain(error: CommandFailed, sources: str) -> None:
    """Shows what the compiler said, with paths as in the checkout."""
    if not progress.verbose():
        text = error.output.replace(f"{sources}/", "")
        sys.stderr.write("\n".join(text.splitlines()[-SHOWN:]) + "\n")


def _kbuild(cache: Cache, kernel: Kernel, folder: Path, arguments: Sequence[str], log: str, what: str) -> str:
    """Runs kbuild over a synchronised copy of the sources; returns its output."""
    with cache.lock(f"build-{digest(str(tree.PROJECT))}"):
        cache.check_space(0.5)
        tree.sync(folder)
        argv = ["make", "-C", INSIDE_SOURCE, f"O={INSIDE_BUILD}", *kernel.make, *kernel.module, f"M={INSIDE}", jobs(), *arguments]
        try:
            kernel.in_root(cache, argv, what=what, log=log, binds={folder: INSIDE})
        except CommandFailed as error:
            _explain(error, INSIDE)
            raise Failure(f"{what} failed", "sources that compile", f"see the messages above ({cache.log(log)})") from None
    return cache.log(log).read_text(encoding="utf-8", errors="replace")


def build(kernel: Kernel) -> Path:
    """Builds `rust_binder.ko` for a kernel and returns its path."""
    cache = Cache()
    folder = _folder(cache, kernel, "module")
    with progress.step(f"build the module for {kernel.release}"):
        _kbuild(cache, kernel, folder, ["modules"], f"module-{kernel.name}", "building the module")
    module = folder / "rust_binder.ko"
    if not module.exists():
        raise Failure("kbuild made no rust_binder.ko", "the module", f"read {cache.log(f'module-{kernel.name}')}")
    return module


def clippy(kernel: Kernel) -> None:
    """Builds the module under clippy; any warning is a failure."""
    cache = Cache()
    log = "clippy"
    with progress.step("look over the module with clippy"):
        output = _kbuild(cache, kernel, _folder(cache, kernel, "clippy"), ["CLIPPY=1", "modules"], log, "clippy")
    lines = output.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith(("warning", "error"))), None)
    if first is not None:
        print("\n".join(lines[first:][:SHOWN]).replace(f"{INSIDE}/", ""), file=sys.stderr)
        # Unchanged sources are not compiled again, and would pass in silence.
        (_folder(cache, kernel, "clippy") / "rust_binder.o").unlink(missing_ok=True)
        raise Failure("clippy has something to say", "no warning", "see the messages above")


def in_tree(kernel: Kernel) -> None:
    """Builds a copy as `drivers/android/rust_binder` of the kernel's source.

    The kernel's own trees stay as they are: the changes go to a layer above
    them that belongs to this checkout.
    """
    cache = Cache()
    folder = _folder(cache, kernel, "in-tree")
    what = "building in a kernel tree"
    with progress.step("build the module as part of a kernel tree"), cache.lock(f"build-{digest(str(tree.PROJECT))}"):
        cache.check_space(2)
        before = []
        for name, lower in (("src", kernel.source), ("o", kernel.build)):
            upper, work = folder / name, folder / f"{name}.work"
            upper.mkdir(parents=True, exist_ok=True)
            work.mkdir(exist_ok=True)
            options = ",".join(f"{key}={value}" for key, value in (("lowerdir", lower), ("upperdir", upper), ("workdir", work)))
            before.append(f"mount -t overlay overlay -o {shlex.quote(options)} {kernel.root}/k/{name}")
        tree.sync(folder / "src/drivers/android/rust_binder")
        script = f"""
cd {INSIDE_SOURCE}
grep -q rust_binder/Kconfig drivers/android/Kconfig ||
	echo 'source "drivers/android/rust_binder/Kconfig"' >> drivers/android/Kconfig
grep -q rust_binder/ drivers/android/Makefile ||
	echo 'obj-$(CONFIG_ANDROID_BINDER_RUST) += rust_binder/' >> drivers/android/Makefile
grep -q ANDROID_BINDER_RUST=m {INSIDE_BUILD}/.config || scripts/config --file {INSIDE_BUILD}/.config -m ANDROID_BINDER_RUST
"$@" olddefconfig
grep ANDROID_BINDER_RUST=m {INSIDE_BUILD}/.config
rm -f {INSIDE_BUILD}/drivers/android/rust_binder/rust_binder.o
"$@" drivers/android/rust_binder/
ls -l {INSIDE_BUILD}/drivers/android/rust_binder/rust_binder.o
"""
        argv = ["make", f"O={INSIDE_BUILD}", *kernel.make, jobs()]
        try:
            kernel.in_root(cache, ["sh", "-ec", script, "sh", *argv], what=what, log="in-tree", before=before)
        except CommandFailed as error:
            _explain(error, IN_TREE)
            raise Failure(f"{what} failed", "sources that compile there", "see the messages above") from None


def install(module: Path, release: str) -> Path:
    """Puts the module among the running kernel's and tells modprobe."""
    folder = Path("/lib/modules") / release / "updates"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / module.name
    partial = target.with_suffix(".tmp")
    try:
        partial.write_bytes(module.read_bytes())
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)
    if subprocess.run(["depmod", release], check=False).returncode != 0:
        raise Failure("depmod failed", "the list of modules to be written", f"run depmod {release} by hand")
    return target
