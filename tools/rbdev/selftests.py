# SPDX-License-Identifier: GPL-2.0
"""Builds the programs of `selftests/` with the root's cargo."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Sequence

from . import progress, root, tree
from .cache import Cache, digest
from .command import CommandFailed
from .errors import Failure

# Inside the root: the checkout, cargo's own folder, and its results.
CHECKOUT = "/w"
CARGO_HOME = "/cargo"
TARGET = "/target"
TRIPLE = "x86_64-unknown-linux-gnu"
PREFIX = "binder-"


def _machine_config() -> Path | None:
    """The machine's configuration of cargo, which says where crates are."""
    home = Path(os.environ.get("CARGO_HOME") or os.path.expanduser("~/.cargo"))
    for name in ("config.toml", "config"):
        if (home / name).is_file():
            return home / name
    return None


def _binds(cache: Cache) -> dict[Path, str]:
    home = cache.path / "cargo"
    target = tree.build_folder(cache) / "target"
    for folder in (home, target):
        folder.mkdir(parents=True, exist_ok=True)
    binds = {tree.CHECKOUT: CHECKOUT, home: CARGO_HOME, target: TARGET}
    if config := _machine_config():
        binds[config] = f"{CARGO_HOME}/config.toml"
    return binds


def cargo(args: Sequence[str], cwd: Path | str = "selftests", *, log: str = "cargo", show: bool = False) -> str:
    """Runs the root's cargo in a folder of the checkout; returns its output.

    Raises CommandFailed, after showing what cargo wrote.
    """
    cache = Cache()
    base = root.get(cache)
    inside = Path(CHECKOUT) / os.path.relpath(tree.CHECKOUT / cwd, tree.CHECKOUT)
    env = {"CARGO_HOME": CARGO_HOME, "CARGO_TARGET_DIR": TARGET, "CARGO_TERM_PROGRESS_WHEN": "never", "CARGO_NET_RETRY": "3"}
    with cache.lock(f"cargo-{digest(str(tree.CHECKOUT))}"):
        try:
            root.run(cache, base, ["cargo", *args], what=f"cargo {args[0]}", log=log, binds=_binds(cache), cwd=str(inside),
                     env=env, show=show)
        except CommandFailed as error:
            if not (show or progress.verbose()):
                sys.stderr.write(error.output)
            raise
    return cache.log(log).read_text(encoding="utf-8", errors="replace")


def build() -> dict[str, Path]:
    """Builds the static programs for the guest: name -> path."""
    if not (tree.CHECKOUT / "selftests" / "Cargo.toml").is_file():
        raise Failure("there is no selftests/Cargo.toml", "the programs of the tests", "use a complete checkout")
    cache = Cache()
    with progress.step("build the programs for the guest"):
        cargo(["build", "--release", "--locked", "--workspace", "--bins"], log="selftests")
    folder = tree.build_folder(cache) / "target" / TRIPLE / "release"
    found = {
        path.name: path for path in sorted(folder.glob(f"{PREFIX}*"))
        if path.is_file() and path.suffix == "" and os.access(path, os.X_OK)
    }
    if not found:
        raise Failure(f"cargo made no program {PREFIX}*", f"programs in {folder}", f"read {cache.log('selftests')}")
    return found
