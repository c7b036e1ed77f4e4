# SPDX-License-Identifier: GPL-2.0
"""The checkout, and copies of its module sources for building elsewhere.

Only what changed is written into a copy, so make rebuilds only that, and the
checkout stays free of build results.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import time
from pathlib import Path

from . import progress
from .cache import Cache, digest, remove

PROJECT = Path(__file__).resolve().parents[2]
# Folders at the top that the module is not built from.
APART = ("selftests", "tools", "Documentation", "target")
# Results of kbuild, should somebody have built inside the checkout.
RESULTS = ("*.o", "*.ko", "*.mod", "*.mod.c", "*.cmd", "*.a", "*.d", "*_bindings.rs", "Module.symvers", "modules.order", "*.rmeta")
MANIFEST = ".sources"
# In a folder with build results: whose they are.
OWNER = "checkout"
# Days after which build results that nobody used are removed.
UNUSED_DAYS = 30


def is_result(name: str) -> bool:
    """Whether a file's name is that of a build result."""
    return any(fnmatch.fnmatch(name, pattern) for pattern in RESULTS)


def sources(checkout: Path = PROJECT) -> list[str]:
    """Relative names of the files that the module is built from."""
    found = []
    for folder, folders, files in os.walk(checkout):
        relative = os.path.relpath(folder, checkout)
        top = relative == "."
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and not (top and name in APART) and name != "__pycache__")
        found += [
            os.path.normpath(os.path.join(relative, name)) for name in sorted(files)
            if not name.startswith(".") and not is_result(name)
        ]
    return found


def sync(target: Path, checkout: Path = PROJECT) -> None:
    """Makes `target` have the sources as they are now, touching only changes."""
    target.mkdir(parents=True, exist_ok=True)
    manifest = target / MANIFEST
    before = set(manifest.read_text(encoding="utf-8").splitlines()) if manifest.exists() else set()
    names = sources(checkout)
    for name in before - set(names):
        (target / name).unlink(missing_ok=True)
    # Written first: what an interrupt leaves behind is then still known.
    manifest.write_text("\n".join(sorted(before | set(names))), encoding="utf-8")
    for name in names:
        content = (checkout / name).read_bytes()
        copy = target / name
        if copy.exists() and copy.read_bytes() == content:
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
    manifest.write_text("\n".join(names), encoding="utf-8")


def build_folder(cache: Cache, checkout: Path = PROJECT) -> Path:
    """The folder of the cache for this checkout's build results."""
    folder = cache.path / "build" / digest(str(checkout))
    folder.mkdir(parents=True, exist_ok=True)
    # Its time is that of the last use.
    (folder / OWNER).write_text(str(checkout), encoding="utf-8")
    _prune_once(cache.path)
    return folder


def prune(cache: Cache) -> list[Path]:
    """Removes build results of checkouts that are gone or that nobody used for long.

    Returns the folders that went; what another run uses stays.
    """
    gone = []
    for folder in sorted((cache.path / "build").glob("*")):
        if _is_needed(folder):
            continue
        with cache.lock_now(f"build-{folder.name}") as built, cache.lock_now(f"cargo-{folder.name}") as compiled:
            if built and compiled:
                remove(folder)
                gone.append(folder)
    return gone


def _is_needed(folder: Path) -> bool:
    owner = folder / OWNER
    known = owner.exists()
    used = (owner if known else folder).stat().st_mtime
    is_there = not known or Path(owner.read_text(encoding="utf-8")).is_dir()
    return is_there and time.time() - used < UNUSED_DAYS * 24 * 3600


@functools.cache
def _prune_once(_cache_path: Path) -> None:
    for folder in prune(Cache()):
        progress.say(f"removed build results that no checkout needs any more: {folder}")


def clean(cache: Cache, checkout: Path = PROJECT) -> None:
    """Removes build results, in the cache and in the checkout."""
    with cache.lock(f"build-{digest(str(checkout))}"):
        remove(build_folder(cache, checkout))
    for folder, folders, files in os.walk(checkout):
        folders[:] = [name for name in folders if name not in (".git", "target")]
        for name in files:
            if is_result(name):
                (Path(folder) / name).unlink()
    for target in (checkout / "selftests").glob("**/target"):
        remove(target)
