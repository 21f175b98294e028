"""Install the MCP servers that the tests in tests/real connect to; needs npm for two of them."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

LISTS = Path(__file__).resolve().parent.parent / "tests" / "real"


def run(*command: str, cwd: Path) -> None:
    """Run one step; its failure ends the set-up with its own words above ours."""
    if subprocess.run(command, cwd=cwd, check=False).returncode:
        sys.exit(f"real servers: this step failed: {' '.join(command)}; the lines above say why")


def main() -> None:
    """The servers are in the directory; those of npm only where there is npm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    place = parser.parse_args().directory.resolve()
    place.mkdir(parents=True, exist_ok=True)
    print("real servers: installing those of PyPI …", flush=True)
    run(sys.executable, "-m", "venv", "venv", cwd=place)
    pip = (str(place / "venv" / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--requirement", str(LISTS / "requirements.txt"), cwd=place)
    if shutil.which("npm"):
        print("real servers: installing those of npm …", flush=True)
        shutil.copy(LISTS / "package.json", place)
        run("npm", "install", "--no-fund", "--no-audit", "--silent", cwd=place)
    else:
        print("real servers: there is no npm; the tests of its servers will be skipped", flush=True)
    (place / ".done").touch()


if __name__ == "__main__":
    main()
