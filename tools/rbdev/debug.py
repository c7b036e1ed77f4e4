# SPDX-License-Identifier: GPL-2.0
"""The debug kernels: the same source with every checker that finds our bugs."""

from __future__ import annotations

import os
import re
from pathlib import Path

from . import progress, root
from .cache import Cache, digest
from .errors import Failure

FRAGMENTS = Path(__file__).resolve().parent.parent / "kernels"
# Each kernel's fragments; a later one overrides lines of an earlier one.
VARIANTS = {"debug": ("debug",), "debug-cfi": ("debug", "debug-cfi")}
# Changes when the recipe below does.
RECIPE = "1"
NEEDS_GIGABYTES = 6
# KASAN with Rust needs clang, and rustc's own LLVM.
MAKE = ["LLVM=-19"]
KEPT = "arch/x86/boot/bzImage"


_OPTION = re.compile(r"(?:# )?(CONFIG_\w+)(?:=| is not set$)")


def merged(*fragments: str) -> str:
    """Joins fragments: of several lines for one option the last one stays."""
    lines = {}
    for line in "\n".join(fragments).splitlines():
        if match := _OPTION.match(line):
            lines[match[1]] = line
    return "".join(f"{line}\n" for line in lines.values())


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


def fragment(name: str) -> str:
    """The options of a debug kernel, without comments."""
    texts = []
    for part in VARIANTS[name]:
        file = FRAGMENTS / f"{part}.config"
        if not file.is_file():
            raise Failure(f"there is no {file.name}", f"a complete {FRAGMENTS.name}/", "use a complete checkout, or KERNEL=stock")
        texts.append(file.read_text(encoding="utf-8"))
    return merged(*texts)


def tree(cache: Cache, base: Path, src: Path, version: str, name: str) -> Path:
    """The folder with the build tree `o/` of a debug kernel."""
    options = fragment(name)

    def build(path: Path) -> None:
        (path / "o").mkdir()
        (path / "fragment").write_text(options, encoding="utf-8")
        binds = {path: "/k", src: "/k/src"}
        configure = """
make LLVM=-19 O=/k/o tinyconfig
scripts/kconfig/merge_config.sh -m -O /k/o /k/o/.config /k/fragment
make LLVM=-19 O=/k/o olddefconfig
"""
        with progress.step(f"configure the kernel {name}"):
            root.run(cache, base, ["sh", "-ec", configure], what="configuring the debug kernel", log="debug-config",
                     binds=binds, cwd="/k/src")
        lost = lost_options(options, (path / "o" / ".config").read_text(encoding="utf-8"))
        if lost:
            raise Failure(
                f"the kernel {name} lost {', '.join(lost)}", f"every line of its fragments in {FRAGMENTS.name}/",
                "add what these options depend on")
        with progress.step(f"build the kernel {name} (about 12 minutes on two processors)"):
            jobs = f"-j{os.cpu_count() or 1}"
            for targets in (["bzImage", "modules_prepare"], ["modules"]):
                root.run(cache, base, ["make", *MAKE, "O=/k/o", jobs, *targets], what="building the debug kernel",
                         log="debug-build", binds=binds, cwd="/k/src")

    key = digest(RECIPE, options, version, base.parent.name)
    return cache.get("debug", key, build, NEEDS_GIGABYTES)
