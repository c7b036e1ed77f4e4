# SPDX-License-Identifier: GPL-2.0
"""The folder outside the checkout that keeps what is slow to make.

An entry is named by what it is made of and never changes. It is built in a
sibling folder that gets the entry's name when it is complete, so an
interrupted build leaves nothing that could be taken for an entry.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Callable, Iterator

from . import progress
from .errors import Failure

GIGABYTE = 1 << 30


def digest(*parts: str) -> str:
    """A short name for a content: equal parts, equal name."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def remove(path: Path) -> None:
    """Removes a folder, but never anything mounted below it."""
    if path.exists():
        subprocess.run(["rm", "-rf", "--one-file-system", "--", str(path)], check=False)


def settle(path: Path) -> None:
    """Writes the file system of a path to its disk.

    A machine that loses its power may else keep the name of a folder without all of
    its contents, which then would be taken for a complete entry.
    """
    if subprocess.run(["sync", "--file-system", "--", str(path)], check=False).returncode != 0:
        raise OSError(errno.EIO, f"cannot write {path} to the disk")


class Cache:
    """Entries, logs and build folders below `$XDG_CACHE_HOME/rust-binder`."""

    def __init__(self) -> None:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self.path = Path(base).absolute() / "rust-binder"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Failure(
                f"cannot make the cache folder {self.path}: {error.strerror}", "a folder that can be written",
                "set XDG_CACHE_HOME to another place") from None

    def log(self, name: str) -> Path:
        """The file for the output of one kind of command."""
        return self.path / "logs" / f"{name}.log"

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Holds a lock against other runs; says so when it has to wait."""
        folder = self.path / "locks"
        folder.mkdir(exist_ok=True)
        with open(folder / name, "w", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                progress.say(f"waiting for another run that holds {name}")
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def lock_now(self, name: str) -> Iterator[bool]:
        """Tries to get a lock without waiting; says whether it is held."""
        folder = self.path / "locks"
        folder.mkdir(exist_ok=True)
        with open(folder / name, "w", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    def check_space(self, needs: float) -> None:
        """Fails unless `needs` gigabytes are free."""
        free = shutil.disk_usage(self.path).free / GIGABYTE
        if free < needs:
            raise Failure(
                f"no disk space: {free:.1f} GB free in {self.path}", f"{needs:.0f} GB",
                "free some or set XDG_CACHE_HOME to a larger disk")

    def entry(self, kind: str, key: str) -> Path:
        """Where an entry is once it is complete."""
        return self.path / kind / key

    def get(self, kind: str, key: str, build: Callable[[Path], None], needs: float = 1) -> Path:
        """The folder of an entry; `build` fills it if it is not there yet.

        `needs`: the gigabytes that building takes.
        """
        final = self.entry(kind, key)
        if final.is_dir():
            return final
        with self.lock(f"{kind}-{key}"):
            if final.is_dir():
                return final
            final.parent.mkdir(exist_ok=True)
            for stale in final.parent.glob(f"{key}.tmp*"):
                remove(stale)
            self.check_space(needs)
            partial = final.parent / f"{key}.tmp{os.getpid()}"
            partial.mkdir()
            try:
                build(partial)
                settle(partial)
                os.rename(partial, final)
                settle(final.parent)
            except OSError as error:
                raise Failure(
                    f"cannot fill {final}: {error.strerror or error}", "a disk that can be written",
                    "check the disk or set XDG_CACHE_HOME to another one") from error
            finally:
                remove(partial)
        return final

    def remove_all(self) -> None:
        """Removes everything, for `make distclean`."""
        remove(self.path)
