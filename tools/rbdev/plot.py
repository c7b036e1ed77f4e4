# SPDX-License-Identifier: GPL-2.0
"""Draws charts of figures for the documentation, with matplotlib in a place of its own."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from . import progress, tree
from .cache import Cache
from .errors import Failure

SCRIPTS = tree.PROJECT / "tools" / "plot"
NEEDS = "matplotlib==3.9.*"
NEEDS_GIGABYTES = 1


def python(cache: Cache) -> Path:
    """A Python that has matplotlib."""

    def build(path: Path) -> None:
        venv.create(path / "venv", with_pip=True, symlinks=True)
        pip = [str(path / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", NEEDS]
        if subprocess.run(pip, check=False).returncode != 0:
            raise Failure(f"{NEEDS} cannot be installed", "pip and a network that has it", "see pip's message above")

    with progress.step("get matplotlib"):
        return cache.get("plot", NEEDS.translate(str.maketrans("=*.", "---")), build, NEEDS_GIGABYTES) / "venv/bin/python"


def draw(name: str, data: Path, target: Path) -> None:
    """Runs `tools/plot/NAME.py` on a file of figures."""
    command = [str(python(Cache())), str(SCRIPTS / f"{name}.py"), str(data), str(target)]
    if subprocess.run(command, check=False, stderr=sys.stderr).returncode != 0:
        raise Failure(f"drawing {target.name} failed", "a chart of the figures", "see the messages above")
