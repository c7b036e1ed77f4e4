# SPDX-License-Identifier: GPL-2.0
"""The kernels that the module is built for and tested in."""

from __future__ import annotations

import dataclasses
import functools
import os
from pathlib import Path
from typing import Mapping, Sequence

from . import debug as debug_kernel
from . import root, stock as stock_kernel
from .cache import Cache
from .errors import Failure

# Where a kernel's folder, its source and its build tree are inside the root.
INSIDE = "/k"
INSIDE_SOURCE = "/k/src"
INSIDE_BUILD = "/k/o"


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel that is ready to boot and to build modules for.

    `vmlinuz`, `modules`, `source`, `build` and `c_driver` are paths of the
    host; `make` are the variables that every kbuild command needs.
    """

    name: str
    release: str
    vmlinuz: Path
    build: Path
    source: Path
    modules: Path
    c_driver: Path
    make: tuple[str, ...]
    root: Path
    # The folder of the cache that has the build tree.
    folder: Path
    # Variables for building the module, beside `make`.
    module: tuple[str, ...] = ()
    # Kernel parameters that this kernel needs beside the usual ones.
    parameters: str = ""
    # Memory that the guest needs, in MiB.
    memory: int = 1024

    def binds(self) -> dict[Path, str]:
        """What a kbuild command must see inside the root."""
        return {self.folder: INSIDE, self.source: INSIDE_SOURCE}

    def in_root(
        self, cache: Cache, argv: Sequence[str], *, what: str, log: str, binds: Mapping[Path, str] | None = None,
        env: Mapping[str, str] | None = None, cwd: str = "/", before: Sequence[str] = (), show: bool = False,
    ) -> None:
        """Runs a command in the root with this kernel's trees in place."""
        root.run(cache, self.root, argv, what=what, log=log, binds={**self.binds(), **(binds or {})}, env=env, cwd=cwd,
                 before=before, show=show)


@functools.cache
def stock() -> Kernel:
    """The unmodified Debian kernel."""
    cache = Cache()
    base = root.get(cache)
    release = stock_kernel.release(cache, base)
    version = _version(cache, base, release)
    source = stock_kernel.source(cache, base, version)
    folder = stock_kernel.tree(cache, base, source, release, version)
    return Kernel(
        name="stock", release=release, vmlinuz=folder / "vmlinuz", build=folder / "o", source=source,
        modules=folder / "modules", c_driver=folder / "binder_linux.ko",
        make=(*stock_kernel.MAKE, f"KERNELRELEASE={release}"), root=base, folder=folder)


@functools.cache
def debug(name: str = "debug") -> Kernel:
    """Our own build of the same source with KASAN, lockdep and more, or a variant of it."""
    cache = Cache()
    base = root.get(cache)
    version = _version(cache, base, stock_kernel.release(cache, base))
    source = stock_kernel.source(cache, base, version)
    folder = debug_kernel.tree(cache, base, source, version, name)
    build = folder / "o"
    release = (build / "include/config/kernel.release").read_text(encoding="utf-8").strip()
    return Kernel(
        name=name, release=release, vmlinuz=build / debug_kernel.KEPT, build=build, source=source, modules=build,
        c_driver=build / "drivers/android/binder_linux.ko", make=tuple(debug_kernel.MAKE), root=base, folder=folder,
        # The suites run when a check asks for them, not at each load.
        module=("CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST=y",), parameters="kasan_multi_shot kunit.autorun=0", memory=2048)


KERNELS = {"stock": stock} | {name: functools.partial(debug, name) for name in debug_kernel.VARIANTS}


def get(name: str | None = None) -> Kernel:
    """A kernel of the table by its name, by default the one of KERNEL=."""
    name = name or os.environ.get("KERNEL") or "stock"
    if name not in KERNELS:
        raise Failure(f"KERNEL={name}", f"one of {', '.join(KERNELS)}", "choose one of these")
    return KERNELS[name]()


def _version(cache: Cache, base: Path, release: str) -> str:
    """The Debian version of a release, remembered so that it works offline."""
    file = cache.path / "versions" / release
    if not file.exists():
        version = stock_kernel.source_version(cache, base, release)
        file.parent.mkdir(exist_ok=True)
        partial = file.with_name(f"{file.name}.tmp{os.getpid()}")
        partial.write_text(version, encoding="utf-8")
        partial.rename(file)
    return file.read_text(encoding="utf-8")
