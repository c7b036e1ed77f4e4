# SPDX-License-Identifier: GPL-2.0
"""Builds the module for a prepared kernel, and under clippy."""

from __future__ import annotations

import os
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
# Lines of a compiler's output shown when a build fails.
SHOWN = 200


def jobs() -> str:
    """make's option for all processors."""
    return f"-j{os.cpu_count() or 1}"


def result_folder(cache: Cache, kernel: Kernel, use: str) -> Path:
    """The folder for what one kind of build makes for a kernel."""
    return tree.build_folder(cache) / f"{use}-{kernel.folder.name}"


def explain(error: CommandFailed, sources: str) -> None:
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
            explain(error, INSIDE)
            raise Failure(f"{what} failed", "sources that compile", f"see the messages above ({cache.log(log)})") from None
    return cache.log(log).read_text(encoding="utf-8", errors="replace")


def build(kernel: Kernel) -> Path:
    """Builds `rust_binder.ko` for a kernel and returns its path."""
    cache = Cache()
    folder = result_folder(cache, kernel, "module")
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
        output = _kbuild(cache, kernel, result_folder(cache, kernel, "clippy"), ["CLIPPY=1", "modules"], log, "clippy")
    lines = output.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith(("warning", "error"))), None)
    if first is not None:
        print("\n".join(lines[first:][:SHOWN]).replace(f"{INSIDE}/", ""), file=sys.stderr)
        # Unchanged sources are not compiled again, and would pass in silence.
        (result_folder(cache, kernel, "clippy") / "rust_binder_main.o").unlink(missing_ok=True)
        raise Failure("clippy has something to say", "no warning", "see the messages above")


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
