# SPDX-License-Identifier: GPL-2.0
"""The command line: sub-commands, and failures as one line."""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import signal
import sys
from pathlib import Path

from . import in_tree, kernel, module, packages, progress, root, selftests, tree, vm
from .cache import Cache
from .errors import Failure

# Sub-commands with a file of their own: `add_arguments` and `main`.
APART = {
    "check": "run all tests",
    "demo": "call a service through the module and show the figures",
    "bench": "measure calls, ours beside the C driver",
}


def setup(options: argparse.Namespace) -> int:
    """Makes everything that is kept in the cache."""
    chosen = kernel.get(options.kernel)
    progress.say(f"ready: Linux {chosen.release} in {Cache().path}")
    return 0


def build_module(options: argparse.Namespace) -> int:
    """Builds the module and puts it into the checkout."""
    built = module.build(kernel.get(options.kernel))
    target = tree.PROJECT / built.name
    partial = target.with_suffix(".tmp")
    try:
        shutil.copyfile(built, partial)
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)
    progress.say(f"{target.name} is ready")
    return 0


def build_selftests(_options: argparse.Namespace) -> int:
    """Builds the programs for the guest and says where they are."""
    for path in selftests.build().values():
        print(path)
    return 0


def build_in_tree(options: argparse.Namespace) -> int:
    """Builds the driver as part of a kernel tree."""
    for way in in_tree.WAYS:
        in_tree.build(kernel.get(options.kernel), way)
    return 0


def clippy(options: argparse.Namespace) -> int:
    """Looks over the module with clippy."""
    module.clippy(kernel.get(options.kernel))
    return 0


def guest(options: argparse.Namespace) -> int:
    """Boots a guest with the modules and the test programs, runs a script."""
    chosen = kernel.get(options.kernel)
    files = {vm.C_MODULE: chosen.c_driver}
    if not options.no_module:
        files[vm.OUR_MODULE] = module.build(chosen)
    if options.selftests:
        files.update({f"/bin/{name}": path for name, path in selftests.build().items()})
    for pair in options.file:
        inside, found, host = pair.partition("=")
        if not found:
            raise Failure(f"--file {pair}", "--file PATH-IN-GUEST=PATH-ON-HOST", "correct it")
        files[inside] = Path(host)
    progress.say(f"booting Linux {chosen.release}")
    outcome = vm.run(
        chosen, files, options.script, icount=options.icount, smp=options.smp, memory=options.memory,
        timeout=options.timeout, append=options.append, on_line=lambda line: print(line, flush=True))
    if options.log or outcome.status is None:
        print("\n".join(["--- the guest's kernel log", *outcome.klog]))
    if outcome.status is None:
        raise Failure("the guest did not end", f"its end within {options.timeout:.0f} s", "see its kernel log above")
    progress.say(f"the script ended with status {outcome.status} ({outcome.seconds:.0f} s)")
    return min(outcome.status, 125)


def install(_options: argparse.Namespace) -> int:
    """Builds for the running kernel, installs there."""
    running = os.uname().release
    packages.check_root()
    if "+deb13-amd64" not in running or not running.startswith("7.3."):
        raise Failure(
            f"this machine runs Linux {running}", "Debian's 7.3.x+deb13-amd64 of trixie-backports",
            "install that kernel, or use your own: make KDIR=/lib/modules/$(uname -r)/build install")
    os.environ["KRELEASE"] = running
    target = module.install(module.build(kernel.stock()), running)
    progress.say(f"installed {target}; load it with: modprobe rust_binder devices=binder")
    return 0


def cargo(options: argparse.Namespace) -> int:
    """Runs the root's cargo in selftests."""
    status, lines = selftests.cargo(options.arguments)
    print("\n".join(lines))
    return status


def shell(options: argparse.Namespace) -> int:
    """Runs a command of the root in the checkout."""
    status, lines = root.capture(options.arguments, tree.PROJECT)
    print("\n".join(lines))
    return status


def clean(options: argparse.Namespace) -> int:
    """Removes build results; with --cache also all that was fetched or made."""
    cache = Cache()
    tree.clean(cache)
    if options.cache:
        cache.remove_all()
    return 0


def parser() -> argparse.ArgumentParser:
    """Declares the command line."""
    top = argparse.ArgumentParser(prog="tools/dev", description="Builds and tests Rust Binder.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run, text: str, with_kernel: bool = True) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=text, description=text)
        one.set_defaults(run=run)
        if with_kernel:
            one.add_argument("--kernel", default=None, metavar="NAME", help=f"one of {', '.join(kernel.KERNELS)}")
        return one

    add("setup", setup, "make the environment: the Debian root and a kernel")
    add("module", build_module, "build rust_binder.ko")
    add("selftests", build_selftests, "build the programs for the guest", False)
    add("in-tree", build_in_tree, "build the driver as part of a kernel tree")
    add("clippy", clippy, "look over the module with clippy")
    add("install", install, "install the module on this machine", False)
    add("cargo", cargo, "run cargo in selftests with the reference compiler", False).add_argument(
        "arguments", nargs=argparse.REMAINDER)
    add("root", shell, "run a program of the Debian root in the checkout", False).add_argument(
        "arguments", nargs=argparse.REMAINDER)
    add("clean", clean, "remove build results", False).add_argument(
        "--cache", action="store_true", help="also what was fetched and made")
    _guest_arguments(add("vm", guest, "boot a guest and run a script in it"))
    for name, text in APART.items():
        try:
            part = importlib.import_module(f"rbdev.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"rbdev.{name}":
                raise
            continue
        part.add_arguments(add(name, part.main, text, False))
    return top


def _guest_arguments(one: argparse.ArgumentParser) -> None:
    one.add_argument("--script", required=True, help="shell commands; the modules are /rust_binder.ko and /binder_linux.ko")
    one.add_argument("--file", action="append", default=[], metavar="GUEST=HOST", help="a file to put in; repeatable")
    one.add_argument("--selftests", action="store_true", help="put the test programs into /bin")
    one.add_argument("--no-module", action="store_true", help="do without our module")
    one.add_argument("--icount", action="store_true", help="one processor whose clock counts instructions")
    one.add_argument("--smp", type=int, default=2, metavar="N", help="processors; default 2")
    one.add_argument("--memory", default="1G", help="default 1G")
    one.add_argument("--timeout", type=float, default=600, metavar="SECONDS", help="default 600")
    one.add_argument("--append", default="", help="more kernel parameters")
    one.add_argument("--log", action="store_true", help="show the kernel log at the end")


def main(argv: list[str]) -> int:
    """Runs a sub-command; returns the exit status."""
    # Also when started in the background of a script, which ignores SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        packages.extend_path()
        options = parser().parse_args(argv)
        return options.run(options)
    except Failure as failure:
        sys.stdout.flush()
        print(f"rbdev: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nrbdev: interrupted; what is complete stays, run the command again to go on", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 141
