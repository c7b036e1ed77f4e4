# SPDX-License-Identifier: GPL-2.0
"""The debug kernel: the same source with every checker that finds our bugs."""

from __future__ import annotations

import os
import re
from pathlib import Path

from . import progress, root
from .cache import Cache, digest
from .errors import Failure

FRAGMENT = Path(__file__).resolve().parent.parent / "kernels" / "debug.config"
# Changes when the recipe below does.
RECIPE = "1"
NEEDS_GIGABYTES = 6
# KASAN with Rust needs clang, and rustc's own LLVM.
MAKE = ["LLVM=-19"]
KEPT = "arch/x86/boot/bzImage"


def lost_options(fragment: str, config: str) -> list[str]:
    """Lines of a fragment that did not get into the configuration."""
    have = set(config.splitlines())
    lost = []
    for line in fragment.splitlines():
        off = re.match(r"# (CONFIG_\w+) is not set$", line)
        if off and (f"{off[1]}=y" in have or f"{off[1]}=m" in have):
            lost.append(line)
        elif line.startswith("CONFIG_") and line not in have:
            lost.append(line)
    return lost


def tree(cache: Cache, base: Path, src: Path, version: str) -> Path:
    """The folder with the debug kernel's build tree `o/`."""
    if not FRAGMENT.is_file():
        raise Failure(f"there is no {FRAGMENT.name}", "the fragment in tools/kernels", "use KERNEL=stock")
    fragment = FRAGMENT.read_text(encoding="utf-8")

    def build(path: Path) -> None:
        (path / "o").mkdir()
        (path / "fragment").write_text(fragment, encoding="utf-8")
        binds = {path: "/k", src: "/k/src"}
        configure = """
make LLVM=-19 O=/k/o tinyconfig
scripts/kconfig/merge_config.sh -m -O /k/o /k/o/.config /k/fragment
make LLVM=-19 O=/k/o olddefconfig
"""
        with progress.step("configure the debug kernel"):
            root.run(cache, base, ["sh", "-ec", configure], what="configuring the debug kernel", log="debug-config",
                     binds=binds, cwd="/k/src")
        lost = lost_options(fragment, (path / "o" / ".config").read_text(encoding="utf-8"))
        if lost:
            raise Failure(
                f"the debug kernel's configuration lost {', '.join(lost)}", "every line of tools/kernels/debug.config",
                "add what these options depend on")
        with progress.step("build the debug kernel (about 12 minutes on two processors)"):
            jobs = f"-j{os.cpu_count() or 1}"
            for targets in (["bzImage", "modules_prepare"], ["modules"]):
                root.run(cache, base, ["make", *MAKE, "O=/k/o", jobs, *targets], what="building the debug kernel",
                         log="debug-build", binds=binds, cwd="/k/src")

    key = digest(RECIPE, fragment, version, base.parent.name)
    return cache.get("debug", key, build, NEEDS_GIGABYTES)
