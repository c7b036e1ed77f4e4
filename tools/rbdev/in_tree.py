# SPDX-License-Identifier: GPL-2.0
"""Builds the driver as a part of a kernel tree, as a module and built in.

The kernel's own trees stay as they are: the changes go to a layer above them
that belongs to this checkout.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from . import command, module, progress, tree
from .cache import Cache, digest
from .command import CommandFailed
from .errors import Failure
from .kernel import INSIDE_BUILD, INSIDE_SOURCE, Kernel

PLACE = "drivers/android/rust_binder"
# Both values of the option that build something.
WAYS = ("m", "y")

SCRIPT = f"""
way=$1
shift
cd {INSIDE_SOURCE}
mkdir -p {PLACE}
rsync -a --delete --exclude {tree.MANIFEST} {module.INSIDE}/ {PLACE}/
grep -q rust_binder/Kconfig drivers/android/Kconfig ||
	echo 'source "{PLACE}/Kconfig"' >> drivers/android/Kconfig
grep -q rust_binder/ drivers/android/Makefile ||
	echo 'obj-$(CONFIG_ANDROID_BINDER_RUST) += rust_binder/' >> drivers/android/Makefile
scripts/config --file {INSIDE_BUILD}/.config --set-val ANDROID_BINDER_RUST $way
"$@" olddefconfig
grep ANDROID_BINDER_RUST=$way {INSIDE_BUILD}/.config
rm -f {INSIDE_BUILD}/{PLACE}/rust_binder_main.o
"$@" {PLACE}/
ls -l {INSIDE_BUILD}/{PLACE}/rust_binder.o
"""


def build(kernel: Kernel, way: str) -> None:
    """Builds a copy of the sources in the kernel's tree; `way`: one of WAYS."""
    cache = Cache()
    folder = module.result_folder(cache, kernel, "in-tree")
    what = f"building in a kernel tree, ={way}"
    with progress.step(f"build the driver in a kernel tree, ={way}"), cache.lock(f"build-{digest(str(tree.PROJECT))}"):
        cache.check_space(2)
        sources = folder / "sources"
        tree.sync(sources)
        argv = ["make", f"O={INSIDE_BUILD}", *kernel.make, module.jobs()]
        try:
            kernel.in_root(
                cache, ["sh", "-ec", SCRIPT, "sh", way, *argv], what=what, log="in-tree", binds={sources: module.INSIDE},
                before=layers(kernel, folder / "layers"))
        except CommandFailed as error:
            module.explain(error, f"{INSIDE_SOURCE}/{PLACE}")
            raise Failure(f"{what} failed", "sources that compile there", "see the messages above") from None


def layers(kernel: Kernel, folder: Path) -> list[str]:
    """The shell lines that put layers in `folder` above the kernel's trees."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    if not can_be_a_layer(folder):
        # Results are lost with the memory, so everything is compiled each time.
        lines.append(f"mount -t tmpfs tmpfs {shlex.quote(str(folder))}")
    for name, lower in (("src", kernel.source), ("o", kernel.build)):
        upper, work = folder / name, folder / f"{name}.work"
        lines.append(f"mkdir -p {shlex.quote(str(upper))} {shlex.quote(str(work))}")
        options = ",".join(f"{key}={value}" for key, value in (("lowerdir", lower), ("upperdir", upper), ("workdir", work)))
        lines.append(f"mount -t overlay overlay -o {shlex.quote(options)} {kernel.root}/k/{name}")
    return lines


def can_be_a_layer(folder: Path) -> bool:
    """Whether a folder's file system can hold the changes of an overlay: another overlay cannot."""
    kind = command.capture(["stat", "--file-system", "--format=%T", str(folder)], what="asking for a file system's type")
    return kind.strip() != "overlayfs"
