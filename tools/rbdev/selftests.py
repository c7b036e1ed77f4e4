# SPDX-License-Identifier: GPL-2.0
"""Builds the programs of `selftests/` with the root's cargo."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Mapping, Sequence

from . import progress, root, tree
from .cache import Cache, digest
from .command import NETWORK, SPACE, CommandFailed, failure
from .errors import Failure

# Inside the root: the checkout, cargo's own folder, and its results.
CHECKOUT = "/w"
CARGO_HOME = "/cargo"
TARGET = "/target"
TRIPLE = "x86_64-unknown-linux-gnu"
PREFIX = "binder-"
# Lines of cargo's output shown when a build fails.
SHOWN = 200


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
    binds = {tree.PROJECT: CHECKOUT, home: CARGO_HOME, target: TARGET}
    if config := _machine_config():
        binds[config] = f"{CARGO_HOME}/config.toml"
    return binds


def cargo(
    args: Sequence[str],
    cwd: Path | None = None,
    *,
    env: Mapping[str, str | Path] | None = None,
    log: str = "cargo",
) -> tuple[int, list[str]]:
    """Runs the root's cargo in a folder of the checkout, by default selftests.

    Returns its exit status and the lines it wrote. A path in `env` is made
    visible in the root and the variable has the path there.
    """
    cache = Cache()
    base = root.get(cache)
    inside = Path(CHECKOUT) / os.path.relpath(cwd or tree.PROJECT / "selftests", tree.PROJECT)
    binds = _binds(cache)
    variables = {
        "CARGO_HOME": CARGO_HOME, "CARGO_TARGET_DIR": TARGET, "CARGO_TERM_PROGRESS_WHEN": "never", "CARGO_NET_RETRY": "3"}
    for name, value in (env or {}).items():
        if isinstance(value, Path):
            binds[value] = f"/mnt/{name}"
            value = binds[value]
        variables[name] = value
    status = 0
    with cache.lock(f"cargo-{digest(str(tree.PROJECT))}"):
        cache.check_space(1)
        try:
            root.run(cache, base, ["cargo", *args], what=f"cargo {args[0]}", log=log, binds=binds, cwd=str(inside),
                     env=variables)
        except CommandFailed as error:
            status = error.status
    return status, cache.log(log).read_text(encoding="utf-8", errors="replace").splitlines()


def _why(status: int, lines: list[str], log: Path) -> Failure:
    """The failure of a build, after showing what cargo said about sources."""
    error = failure("building the programs for the guest", status, log)
    if NETWORK.search(error.output) or SPACE.search(error.output):
        return error
    if not progress.verbose():
        sys.stderr.write("\n".join(lines[-SHOWN:]) + "\n")
    return Failure("building the programs for the guest failed", "sources that compile", f"see the messages above ({log})")


def messages(lines: Sequence[str]) -> tuple[list[dict], list[str]]:
    """Separates cargo's messages for programs from its words for people."""
    found, words = [], []
    for line in lines:
        try:
            message = json.loads(line) if line.startswith('{"reason":') else None
        except ValueError:
            message = None
        if message is None:
            words.append(line)
        else:
            found.append(message)
    return found, words


def programs(found: Sequence[dict], target: Path) -> dict[str, Path]:
    """The guest's programs among what cargo says it has made: name -> path.

    What else lies in cargo's folder was made by an earlier state of the sources.
    """
    made = {}
    for message in found:
        executable = message.get("executable") or ""
        if message.get("reason") == "compiler-artifact" and Path(executable).name.startswith(PREFIX):
            made[Path(executable).name] = target / Path(executable).relative_to(TARGET)
    return dict(sorted(made.items()))


def build() -> dict[str, Path]:
    """Builds the static programs for the guest: name -> path."""
    if not (tree.PROJECT / "selftests" / "Cargo.toml").is_file():
        raise Failure("there is no selftests/Cargo.toml", "the programs of the tests", "use a complete checkout")
    cache = Cache()
    with progress.step("build the programs for the guest"):
        argv = ["build", "--release", "--locked", "--workspace", "--bins", "--message-format=json-render-diagnostics"]
        status, lines = cargo(argv, log="selftests")
        found, words = messages(lines)
        if status != 0:
            raise _why(status, words, cache.log("selftests"))
    made = programs(found, tree.build_folder(cache) / "target")
    if not made:
        raise Failure(f"cargo made no program {PREFIX}*", "programs for the guest", f"read {cache.log('selftests')}")
    return made
