# SPDX-License-Identifier: GPL-2.0
"""The stock kernel: Debian's packages, and the build tree they do not ship.

The headers package has no Rust metadata, so the tree for building modules is
prepared again from the source package with the same compiler.
"""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

from . import progress, root
from .cache import Cache, digest
from .errors import Failure

SERIES = "7.3"
PATTERN = re.compile(r"^linux-headers-(7\.3\.[0-9]+\+deb13-amd64)$")
# Changes when a recipe below does.
RECIPE = "1"
NEEDS_GIGABYTES = 6
# Seconds for which the archive is not asked again which kernel is newest.
FRESH = 7 * 24 * 3600
MAKE = ["CC=x86_64-linux-gnu-gcc-14", "HOSTCC=gcc-14"]
APT = ["-q", "-o", "APT::Sandbox::User=root"]


def version_key(release: str) -> tuple[int, ...]:
    """Sorts releases by their numbers."""
    return tuple(int(number) for number in re.findall(r"[0-9]+", release))


def update(cache: Cache, base: Path) -> None:
    """Reads the archive's lists of packages."""
    with progress.step("read the archive's lists"), cache.lock("apt"):
        root.run(
            cache, base, ["apt-get", *APT, "update", "-o", "APT::Update::Error-Mode=any"],
            what="reading the archive's lists", log="lists")


def newest(base: Path) -> str:
    """The newest kernel release whose headers the archive has."""
    names = root.output(base, ["apt-cache", "search", "--names-only", f"^linux-headers-{SERIES}"], what="searching kernels")
    found = [match[1] for line in names.splitlines() if line and (match := PATTERN.match(line.split()[0]))]
    if not found:
        raise Failure(
            f"the archive has no linux-headers-{SERIES}.x+deb13-amd64", "trixie-backports with a 7.3 kernel",
            "choose the machine's apt archive so that it has trixie-backports")
    return max(found, key=version_key)


def release(cache: Cache, base: Path) -> str:
    """The release to use: KRELEASE, or the newest one that is known."""
    if wanted := os.environ.get("KRELEASE"):
        if not PATTERN.match(f"linux-headers-{wanted}"):
            raise Failure(f"KRELEASE={wanted}", "a release like 7.3.4+deb13-amd64", "correct it or leave it out")
        return wanted
    state = cache.path / "release.json"
    try:
        known = json.loads(state.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    if known.get("release") and time.time() - known.get("asked", 0) < FRESH:
        return known["release"]
    try:
        update(cache, base)
        found = newest(base)
    except Failure as error:
        if not known.get("release"):
            raise
        progress.say(f"going on with {known['release']}: {error.what}")
        return known["release"]
    partial = state.with_suffix(f".tmp{os.getpid()}")
    partial.write_text(json.dumps({"release": found, "asked": time.time()}), encoding="utf-8")
    partial.rename(state)
    return found


def download(cache: Cache, base: Path, folder: Path, names: list[str]) -> None:
    """Fetches packages into a folder, after new lists if the old ones fail."""
    argv = ["apt-get", *APT, "download", *names]
    options = {"what": f"fetching {' '.join(names)}", "log": "fetch", "binds": {folder: "/k"}, "cwd": "/k"}
    try:
        root.run(cache, base, argv, **options)
    except Failure:
        update(cache, base)
        root.run(cache, base, argv, **options)


def source_version(cache: Cache, base: Path, name: str) -> str:
    """The Debian version of the packages of a release."""
    for attempt in range(2):
        text = root.output(base, ["apt-cache", "madison", f"linux-headers-{name}"], what="asking for the kernel's version")
        versions = [line.split("|")[1].strip() for line in text.splitlines() if line.count("|") >= 2]
        if versions:
            return versions[0]
        if attempt == 0:
            update(cache, base)
    raise Failure(
        f"the archive has no kernel {name}", "a release that it still has",
        "leave KRELEASE out to use the newest one")


def source(cache: Cache, base: Path, version: str) -> Path:
    """The folder with the kernel's source."""

    def build(path: Path) -> None:
        with progress.step(f"fetch and unpack the kernel's source {version}"):
            download(cache, base, path, [f"linux-source-{SERIES}={version}"])
            script = (
                f"dpkg -x linux-source-{SERIES}_*.deb x && mkdir src && "
                f"tar -C src --strip-components=1 -xf x/usr/src/linux-source-{SERIES}.tar.xz && rm -r x *.deb")
            root.run(cache, base, ["sh", "-ec", script], what="unpacking the kernel's source", log="source",
                     binds={path: "/k"}, cwd="/k")

    return cache.get("source", digest(RECIPE, version), build, NEEDS_GIGABYTES) / "src"


def tree(cache: Cache, base: Path, src: Path, name: str, version: str) -> Path:
    """The folder with the kernel, its modules and the prepared build tree.

    Inside: `vmlinuz`, `modules/`, `binder_linux.ko` and the build tree `o/`.
    """
    debs = [f"linux-{part}-{name}={version}" for part in ("headers", "modules", "binary-unsigned")]

    def build(path: Path) -> None:
        with progress.step(f"fetch and unpack the kernel {name}"):
            download(cache, base, path, debs)
            script = f"""
for deb in *.deb; do dpkg -x $deb x; done
mv x/usr/lib/modules/{name} modules
if [ -e modules/vmlinuz.unsigned ]; then mv modules/vmlinuz.unsigned vmlinuz; else mv x/boot/vmlinuz-* vmlinuz; fi
xz -dc modules/kernel/drivers/android/binder_linux.ko.xz > binder_linux.ko
mkdir o; cp x/usr/src/linux-headers-{name}/.config x/usr/src/linux-headers-{name}/Module.symvers o/
rm -r x *.deb
"""
            root.run(cache, base, ["sh", "-ec", script], what="unpacking the kernel", log="kernel",
                     binds={path: "/k"}, cwd="/k")
        with progress.step("prepare the tree for building modules (about 2 minutes)"):
            prepare = ["make", "O=/k/o", *MAKE, f"KERNELRELEASE={name}", f"-j{os.cpu_count() or 1}"]
            script = "cp /k/o/Module.symvers /k/symvers; \"$@\"; mv /k/symvers /k/o/Module.symvers"
            root.run(cache, base, ["sh", "-ec", script, "sh", *prepare, "olddefconfig", "prepare", "modules_prepare"],
                     what="preparing the kernel's tree", log="prepare", binds={path: "/k", src: "/k/src"}, cwd="/k/src")

    return cache.get("kernel", digest(RECIPE, name, version, base.parent.name), build, NEEDS_GIGABYTES)
