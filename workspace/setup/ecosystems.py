"""What a repository would need to run in a fresh tree, guessed from the files at its top."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_EXTRAS = ("dev", "test", "tests", "testing")  # where projects put what their tests need
_NO_TEST = "no test specified"  # what `npm init` writes
_MAKE_TARGET = re.compile(r"^(?P<name>[A-Za-z0-9_-]+)\s*:(?!=)", re.MULTILINE)
_PYTEST_STYLE = re.compile(r"^(?:import pytest|from pytest|(?:async )?def test_)", re.MULTILINE)
_MAKE_FILES = ("GNUmakefile", "makefile", "Makefile")  # in the order in which make looks
_MAKE_TESTS = ("test", "tests", "check")
_MAKE_SETUPS = ("setup", "deps", "bootstrap")  # not `install`, which may mean the machine


@dataclass(frozen=True, kw_only=True)
class Ecosystem:
    """One package manager and what it would have run."""

    name: str
    found: str  # the file that it was known by
    setup: tuple[str, ...] = ()
    test: str | None = None
    allow: tuple[str, ...] = ()  # permission rules for the same commands


def ecosystems(top: Path) -> tuple[Ecosystem, ...]:
    """Those that the repository uses; make only where nothing else says how to test."""
    looks: tuple[Callable[[Path], Ecosystem | None], ...] = (_python, _node, _cargo, _go)
    found = [one for look in looks if (one := look(top))]
    if not any(one.test for one in found) and (make := _make(top)):
        found.append(make)
    return tuple(found)


def _python(top: Path) -> Ecosystem | None:
    project = _toml(top / "pyproject.toml")
    if (top / "uv.lock").is_file() or "uv" in project.get("tool", {}):
        return _uv(top, project)
    requirements = sorted(path.name for path in top.glob("requirements*.txt"))
    is_package = "project" in project or any((top / name).is_file() for name in ("setup.py", "setup.cfg"))
    if not is_package and not requirements:
        return None
    install = ".venv/bin/python -m pip install --quiet"
    setup = ["python3 -m venv .venv", *(f"{install} -r {name}" for name in requirements)]
    if is_package:
        extras = [
            name for name in _EXTRAS if name in project.get("project", {}).get("optional-dependencies", {})
        ]
        setup.append(f"{install} -e '.[{','.join(extras)}]'" if extras else f"{install} -e .")
    tests = _python_tests(top, project)
    if tests == "pytest" and not _declares_pytest(top, project, requirements):
        setup.append(f"{install} pytest")
    found = requirements[0] if not is_package else "pyproject.toml" if project else "setup.py"
    return Ecosystem(
        name="pip",
        found=found,
        setup=tuple(setup),
        test=f".venv/bin/python -m {tests}" if tests else None,
        allow=("bash(.venv/bin/python *)",),
    )


def _uv(top: Path, project: dict[str, Any]) -> Ecosystem:
    locked = (top / "uv.lock").is_file()
    tests = _python_tests(top, project)
    return Ecosystem(
        name="uv",
        found="uv.lock" if locked else "pyproject.toml",
        setup=("uv sync --quiet --locked" if locked else "uv sync --quiet",),
        test=f"uv run --quiet python -m {tests}" if tests else None,
        allow=("bash(uv run *)", "bash(uv sync *)"),
    )


def _python_tests(top: Path, project: dict[str, Any]) -> str | None:
    """What runs the tests: pytest where it is configured or declared, unittest where that finds some."""
    is_pytest = "pytest" in project.get("tool", {}) or any(
        (top / name).is_file() for name in ("pytest.ini", "conftest.py", "tests/conftest.py")
    )
    if is_pytest or "pytest" in _text(top / "pyproject.toml"):
        return "pytest"
    for place in (top / "tests", top / "test", top):
        texts = [_text(path) for path in (*place.glob("test*.py"), *place.glob("*_test.py"))]
        if any(_PYTEST_STYLE.search(text) for text in texts):
            return "pytest"
        if any("unittest" in text for text in texts):
            return "unittest" if place == top else _discover(place)
    return None  # unittest would find nothing, and take that for success


def _discover(tests: Path) -> str:
    is_package = (tests / "__init__.py").is_file()
    return f"unittest discover -s {tests.name}" + (" -t ." if is_package else "")


def _declares_pytest(top: Path, project: dict[str, Any], requirements: list[str]) -> bool:
    package = project.get("project", {})
    wanted = [
        package.get("dependencies", []),
        *(package.get("optional-dependencies", {}).get(extra, []) for extra in _EXTRAS),
    ]
    declared = [name for group in wanted for name in group]
    return any("pytest" in text for text in (*declared, *(_text(top / name) for name in requirements)))


def _node(top: Path) -> Ecosystem | None:
    try:
        package = json.loads(_text(top / "package.json"))
    except ValueError:
        return None
    scripts = package.get("scripts", {}) if isinstance(package, dict) else {}
    has_test = isinstance(scripts, dict) and _NO_TEST not in str(scripts.get("test", _NO_TEST))
    name, found, setup = _node_installer(top)
    return Ecosystem(
        name=name,
        found=found,
        setup=(setup,),
        test=f"{name} test" if has_test else None,
        allow=(f"bash({name} test *)", f"bash({name} run *)"),
    )


def _node_installer(top: Path) -> tuple[str, str, str]:
    if (top / "pnpm-lock.yaml").is_file():
        return "pnpm", "pnpm-lock.yaml", "pnpm install --frozen-lockfile --silent"
    if (top / "yarn.lock").is_file():
        return "yarn", "yarn.lock", "yarn install --frozen-lockfile --silent"
    if (top / "package-lock.json").is_file():
        return "npm", "package-lock.json", "npm ci --silent --no-audit --no-fund"
    return "npm", "package.json", "npm install --silent --no-audit --no-fund --no-package-lock"


def _cargo(top: Path) -> Ecosystem | None:
    if not (top / "Cargo.toml").is_file():
        return None
    locked = " --locked" if (top / "Cargo.lock").is_file() else ""
    return Ecosystem(
        name="cargo",
        found="Cargo.toml",
        setup=(f"cargo fetch --quiet{locked}",),
        test=f"cargo test --quiet{locked}",
        allow=("bash(cargo test *)", "bash(cargo build *)", "bash(cargo check *)", "bash(cargo fmt *)"),
    )


def _go(top: Path) -> Ecosystem | None:
    if not (top / "go.mod").is_file():
        return None
    return Ecosystem(
        name="go",
        found="go.mod",
        setup=("go mod download",),
        test="go test ./...",
        allow=("bash(go test *)", "bash(go build *)", "bash(go vet *)", "bash(gofmt *)"),
    )


def _make(top: Path) -> Ecosystem | None:
    file = next(
        (top / name for name in ("GNUmakefile", "makefile", "Makefile") if (top / name).is_file()), None
    )
    targets = _MAKE_TARGET.findall(_text(file)) if file else []
    test = next((name for name in _MAKE_TESTS if name in targets), None)
    setup = next((name for name in _MAKE_SETUPS if name in targets), None)
    if file is None or test is None:
        return None
    return Ecosystem(
        name="make",
        found=file.name,
        setup=(f"make {setup}",) if setup else (),
        test=f"make {test}",
        allow=(f"bash(make {test})",),
    )


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(file))
    except tomllib.TOMLDecodeError:
        return {}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
