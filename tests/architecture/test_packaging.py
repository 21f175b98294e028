"""What is installed (`pipx install .`) is all that runs here: each package, and each file beside them."""

from __future__ import annotations

import subprocess  # noqa: TID251 - git knows which files there are
import tomllib
from fnmatch import fnmatch
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
SETUP = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
ELSEWHERE: dict[str, str] = SETUP["package-dir"]  # packages that lie under another name
DATA: dict[str, list[str]] = SETUP["package-data"]
TOPS = ("agent_worker", "coordination", "harness", "orchestrator", "workspace", *ELSEWHERE.values())


def files() -> list[str]:
    """Those that git tracks below the packages."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", *TOPS], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    return [name for name in listing.stdout.split("\0") if name]


def is_data(name: str) -> bool:
    """Whether one of the patterns of a package takes the file along."""
    return any(
        fnmatch(name, f"{ELSEWHERE.get(package, package.replace('.', '/'))}/{pattern.replace('**/', '')}")
        for package, patterns in DATA.items()
        for pattern in patterns
    )


def test_each_package_is_named_in_the_setup() -> None:
    modules = [Path(name) for name in files() if name.endswith(".py") and not is_data(name)]
    packages = {".".join(module.parent.parts) for module in modules}
    assert sorted(packages | ELSEWHERE.keys()) == sorted(SETUP["packages"])


def test_each_file_beside_the_modules_is_taken_along() -> None:
    beside = [name for name in files() if not name.endswith(".py") and not is_data(name)]
    assert beside == ["skills/README.md"]  # for those who look into this repository
