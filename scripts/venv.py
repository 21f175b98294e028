"""Make the project's own virtual environment; needs Python 3.11+ and git, nothing else."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
PROJECT = Path(__file__).resolve().parent.parent


def fail(line: str) -> None:
    """End with one line that says what to do."""
    sys.exit(f"set-up: {line}")


def newer_python() -> str | None:
    """Another interpreter on PATH that is new enough."""
    for minor in range(20, OLDEST[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        if found:
            return found
    return None


def require_tools() -> None:
    """The interpreter is new enough and the outside tools are there, or the process ends."""
    if sys.version_info < OLDEST:
        other = newer_python()
        if other is None:
            fail("Python 3.11 or newer is needed; install it, then run make again")
        os.execv(str(other), [str(other), *sys.argv])
    if shutil.which("git") is None:
        fail("git is needed; install it (Debian: apt install git), then run make again")
    try:
        import ensurepip  # noqa: F401, PLC0415 - Debian ships Python without it
        import venv  # noqa: F401, PLC0415
    except ImportError:
        version = f"python3.{sys.version_info[1]}-venv"
        fail(f"this Python cannot make virtual environments; install {version}, then run make again")


def run(*command: str) -> None:
    """Run one step of the set-up; its failure ends the set-up with its own words above ours."""
    if subprocess.run(command, cwd=PROJECT, check=False).returncode:
        fail(f"this step failed: {' '.join(command)}; the lines above say why")


def main() -> None:
    """The virtual environment exists and holds leadhand, with the development tools if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--dev", action="store_true", help="also what `make check` and `make test` need")
    arguments = parser.parse_args()
    require_tools()
    python = arguments.directory / "bin" / "python"
    if not python.exists():
        print("set-up: making a virtual environment …", flush=True)
        run(sys.executable, "-m", "venv", str(arguments.directory))
    print("set-up: installing leadhand and what it needs …", flush=True)
    what = ".[dev]" if arguments.dev else "."
    pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--editable", what)
    (arguments.directory / (".dev" if arguments.dev else ".run")).touch()
    if arguments.dev:
        (arguments.directory / ".run").touch()


if __name__ == "__main__":
    main()
