# SPDX-License-Identifier: GPL-2.0
"""The Debian root with the very toolchain that built the reference kernel.

A plain folder entered with chroot. Everything bound into it is mounted in a
mount namespace of the command's own, so nothing stays mounted whatever ends
the command.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Mapping, Sequence

from . import command, packages, progress
from .cache import Cache, digest
from .errors import Failure

SUITES = ("trixie", "trixie-backports")
INCLUDED = (
    "gcc-14 gcc make rustc cargo rust-src rust-clippy rustfmt bindgen flex bison bc libelf-dev libssl-dev "
    "libdw-dev kmod xz-utils zstd cpio python3 perl pahole clang-19 lld-19 llvm-19 ca-certificates rsync "
    "busybox-static"
).split()
# Changes when the recipe below does.
RECIPE = "1"
NEEDS_GIGABYTES = 4
# The certificates of the root, replaced by the machine's own while it runs.
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
# Variables that may enter the root: how the machine reaches its servers.
PASSED = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
          "TERM", "KUNIT", "SOURCE_DATE_EPOCH")
# Variables of the machine's cargo that name folders or programs outside.
NOT_PASSED = ("CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "CARGO_HTTP_CAINFO", "CARGO_MANIFEST_DIR")


RELEASES = {"bookworm", "trixie", "forky", "sid", "stable", "testing", "unstable", "trixie-backports", "oldstable"}


def archive() -> str:
    """The address of the Debian archive that this machine uses."""
    sites = command.capture(
        ["apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(RELEASE) $(COMPONENT)", "Created-By: Packages"],
        what="asking apt for its archive").splitlines()
    for line in sites:
        words = line.split()
        # Other vendors' sources may stand first; only Debian's own has these releases.
        if len(words) > 2 and words[-1] == "main" and "security" not in line and set(words[1:-1]) & RELEASES:
            return words[0]
    raise Failure(
        "apt on this machine knows no Debian archive", "a `deb` line in /etc/apt",
        "add one for Debian's main archive and run apt-get update")


def apt_options() -> list[str]:
    """mmdebstrap's options that hand on the machine's proxies for apt."""
    dump = command.capture(["apt-config", "dump"], what="reading apt's configuration")
    lines = [line for line in dump.splitlines() if line.startswith("Acquire::") and "proxy" in line.lower()]
    return [f"--aptopt={line.rstrip(';')}" for line in lines if not line.endswith('"";')]


def get(cache: Cache) -> Path:
    """The folder of the root, made if it is not there."""
    key = digest(RECIPE, *SUITES, *INCLUDED)

    def build(path: Path) -> None:
        packages.ensure(cache)
        site = archive()
        with progress.step("make the Debian root with the kernel's toolchain"):
            argv = [
                "mmdebstrap", "--variant=apt", f"--include={','.join(INCLUDED)}", *apt_options(),
                SUITES[0], str(path / "root"), *(f"deb {site} {suite} main" for suite in SUITES),
            ]
            command.run(
                ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc", *argv],
                log=cache.log("root"), what="making the Debian root")

    entry = cache.entry("root", key)
    if not entry.is_dir():
        packages.ensure(cache)
    return cache.get("root", key, build, NEEDS_GIGABYTES) / "root"


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of commands in the root."""
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    for name, value in os.environ.items():
        if name in PASSED or (name.startswith("CARGO_") and name not in NOT_PASSED):
            env[name] = value
    env["SSL_CERT_FILE"] = CERTIFICATES
    env.update(extra or {})
    return env


def certificates() -> Path | None:
    """The file of the certificates that this machine trusts."""
    for name in (os.environ.get("CARGO_HTTP_CAINFO"), os.environ.get("SSL_CERT_FILE"), CERTIFICATES):
        if name and Path(name).is_file():
            return Path(name)
    return None


def mounts(root: Path, binds: Mapping[Path, str]) -> list[str]:
    """The shell lines that mount what a command in the root sees."""
    lines = ["set -e"]

    def bind(source: Path, target: str, folder: bool) -> None:
        inside = shlex.quote(f"{root}{target}")
        if folder:
            lines.append(f"mkdir -p {inside}")
        else:
            lines.append(f"[ -e {inside} ] || : > {inside}")
        lines.append(f"mount --bind {shlex.quote(str(source))} {inside}")

    lines.append(f"mount -t proc proc {shlex.quote(f'{root}/proc')}")
    bind(Path("/dev"), "/dev", True)
    lines.append(f"mount -t tmpfs tmpfs {shlex.quote(f'{root}/tmp')}")
    for name in ("/etc/resolv.conf", "/etc/hosts"):
        if Path(name).exists():
            lines.append(f"rm -f {shlex.quote(f'{root}{name}')}")
            lines.append(f"cp -L {name} {shlex.quote(f'{root}{name}')}")
    trusted = certificates()
    if trusted:
        bind(trusted, CERTIFICATES, False)
    for source, target in binds.items():
        bind(source, target, Path(source).is_dir())
    return lines


def inside(
    root: Path,
    argv: Sequence[str],
    *,
    binds: Mapping[Path, str] | None = None,
    cwd: str = "/",
    before: Sequence[str] = (),
) -> list[str]:
    """The command line that runs argv in the root.

    `binds`: host path -> path inside; `before`: shell lines run after the
    mounts, outside the root.
    """
    script = "\n".join([
        *mounts(root, binds or {}), *before,
        f"exec chroot {shlex.quote(str(root))} /usr/bin/env -C {shlex.quote(cwd)} \"$@\"",
    ])
    return ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
            "sh", "-c", script, "sh", *argv]


def run(
    cache: Cache,
    root: Path,
    argv: Sequence[str],
    *,
    what: str,
    log: str,
    binds: Mapping[Path, str] | None = None,
    cwd: str = "/",
    env: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    show: bool = False,
) -> None:
    """Runs a command in the root with its output in the log of that name."""
    packages.check_root()
    command.run(
        inside(root, argv, binds=binds, cwd=cwd, before=before), log=cache.log(log), what=what,
        env=environment(env), show=show)


def output(root: Path, argv: Sequence[str], *, what: str, binds: Mapping[Path, str] | None = None) -> str:
    """What a short command in the root prints."""
    packages.check_root()
    return command.capture(inside(root, argv, binds=binds), what=what, env=environment())


def capture(argv: Sequence[str], cwd: Path) -> tuple[int, list[str]]:
    """Runs a program of the root in a folder of the host.

    Returns its exit status and the lines it wrote; raises Failure only if
    there is no root.
    """
    cache = Cache()
    base = get(cache)
    try:
        run(cache, base, argv, what=argv[0], log=f"capture-{Path(argv[0]).name}", binds={cwd: "/w"}, cwd="/w")
        status = 0
    except command.CommandFailed as error:
        status = error.status
    log = cache.log(f"capture-{Path(argv[0]).name}")
    return status, log.read_text(encoding="utf-8", errors="replace").splitlines()
