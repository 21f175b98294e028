"""Ask the Pythons that checks use from where they import the project."""

from __future__ import annotations

import json
import shlex
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workspace.setup.check_commands import programs
from workspace.setup.checkout import WrongCheckout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workspace.commands import CommandRunner
    from workspace.setup.check_commands import Program
    from workspace.setup.checkout import Checkout

TIMEOUT_SECONDS = 60.0  # of one question; a cold start of Python on a busy machine
ANSWER_BYTES = 100_000
MOST_NAMES = 50
_NOT_CODE = frozenset(
    {"tests", "test", "docs", "examples", "scripts", "bench", "benchmarks", "conftest", "setup"}
)
REMEDY = (
    "give each tree an environment of its own, as by `worktrees: {setup: [python3 -m venv .venv, "
    ".venv/bin/python -m pip install -e .]}` with checks that start with .venv/bin/python "
    "(`leadhand init` proposes it), or let the check name the code, as by PYTHONPATH=src"
)
_PYTEST = frozenset({"pytest", "py.test"})
_OWN_ENVIRONMENT = frozenset({"uv", "uvx", "poetry", "hatch", "pdm", "pipenv", "tox", "nox", "pixi"})

# Printed after a mark, since a sitecustomize may print as well. Works with any Python 3.
_MARK = "leadhand-probe:"
_QUESTION = f"""
import sys
if sys.path[:1] == ['']:
    del sys.path[0]  # no file of the tree is a module of ours
import importlib.util as u, json
try:
    from importlib import metadata
except ImportError:
    metadata = None
first, names = sys.argv[1:2], sys.argv[2:]
sys.path[:0] = [p for p in first[0].split('\\n') if p]
found = {{}}
for name in names:
    loaded = sys.modules.pop(name, None)  # ours; asked is what a check would import
    try:
        spec = u.find_spec(name)
    except Exception:
        spec = None
    if loaded:
        sys.modules[name] = loaded
    if spec:
        found[name] = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
urls = {{}}
try:
    owners = metadata.packages_distributions()
    for name in found:
        for owner in owners.get(name, ()):
            text = metadata.distribution(owner).read_text('direct_url.json')
            urls[name] = json.loads(text)['url'] if text else ''
except Exception:
    pass
print('{_MARK}' + json.dumps({{'found': found, 'urls': urls, 'python': sys.executable}}))
"""


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """One interpreter and the directories that come first on its path."""

    python: str
    first: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]


def probe_python(
    place: Checkout, checks: Iterable[str], environment: Mapping[str, str], runner: CommandRunner
) -> None:
    """No Python that a check starts imports the project from another checkout. Raises WrongCheckout.

    A tool with an environment of its own for each directory (uv, tox) needs no question.
    """
    names = project_names(place.tree)
    if not names:
        return
    asked = {question for check in checks for question in _questions(place, check, environment)}
    for question in sorted(asked, key=lambda one: (one.python, one.first)):
        _refuse_elsewhere(place, _ask(question, names, place.tree, runner))


def project_names(tree: Path) -> tuple[str, ...]:
    """The packages and modules that the repository would be imported as."""
    found: list[str] = []
    for top in (tree / "src", tree):
        if not top.is_dir():
            continue
        for entry in sorted(top.iterdir()):
            name = entry.stem if entry.suffix == ".py" and entry.is_file() else entry.name
            is_code = entry.suffix == ".py" or (entry / "__init__.py").is_file()
            if is_code and name.isidentifier() and name not in _NOT_CODE:
                found.append(name)
    return tuple(dict.fromkeys(found))[:MOST_NAMES]


def _questions(place: Checkout, check: str, environment: Mapping[str, str]) -> Iterator[_Asked]:
    for program in programs(check, environment, place.tree):
        if program.name in _OWN_ENVIRONMENT:
            continue
        for python, first in _pythons(program, place.tree):
            yield _Asked(
                python=python,
                first=tuple(first),
                environment=tuple(sorted(program.environment.items())),
            )


def _pythons(program: Program, tree: Path) -> Iterator[tuple[str, list[str]]]:
    """The interpreters that the program may start, with what they put first on the path."""
    path = program.environment.get("PATH")
    found = program.found()
    if program.name.startswith("python"):
        if found:
            yield str(found), _first_of_interpreter(program, tree)
        return
    interpreter = _shebang(found) if found else None
    if interpreter:
        puts_first = [str(program.cwd)] if program.name == "coverage" else []
        yield interpreter, [*puts_first, *_pytest_paths(program.name, tree)]
        return
    for name in ("python3", "python"):  # make, npm, a script: what they start is not known
        if python := shutil.which(name, path=path):
            yield python, [str(program.cwd), *_pytest_paths("pytest", tree)]


def _first_of_interpreter(program: Program, tree: Path) -> list[str]:
    """What `python …` puts before all else: the directory, or that of the script, unless it is isolated."""
    options = list(program.arguments)
    while options and options[0].startswith("-") and options[0] not in {"-m", "-c"}:
        option = options.pop(0)
        if not option.startswith("--") and set(option[1:]) & {"I", "P"}:
            return []
        if option in {"-X", "-W"} and options:
            options.pop(0)
    if not options or options[0] in {"-c", "-"}:
        return [str(program.cwd)]
    if options[0] == "-m":
        module = options[1] if len(options) > 1 else ""
        return [str(program.cwd), *_pytest_paths(module, tree)]
    return [str((program.cwd / options[0]).parent)]


def _pytest_paths(name: str, tree: Path) -> list[str]:
    """What pytest is configured to put on the path."""
    if name not in _PYTEST:
        return []
    try:
        document = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    options = document.get("tool", {}).get("pytest", {})
    paths = (options.get("ini_options") or options).get("pythonpath", []) if isinstance(options, dict) else []
    paths = paths.split() if isinstance(paths, str) else paths
    return [str(tree / path) for path in paths if isinstance(path, str)]


def _shebang(script: Path) -> str | None:
    """The Python that a script names in its first line."""
    try:
        with script.open("rb") as file:
            line = file.readline(500).decode("utf-8", "replace")
    except OSError:
        return None
    if not line.startswith("#!") or "python" not in line:
        return None
    words = line[2:].split()
    if words and Path(words[0]).name == "env":
        return shutil.which(words[-1])
    return words[0] if words else None


def _ask(question: _Asked, names: tuple[str, ...], tree: Path, runner: CommandRunner) -> dict[str, Any]:
    words = [question.python, "-c", _QUESTION, "\n".join(question.first), *names]
    ran = runner.run(
        shlex.join(words),
        cwd=tree,
        environment=dict(question.environment),
        timeout_seconds=TIMEOUT_SECONDS,
        kept=ANSWER_BYTES,
    )
    answer = ran.output.rpartition(_MARK)[2]
    try:
        found = json.loads(answer.splitlines()[0]) if _MARK in ran.output else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _refuse_elsewhere(place: Checkout, answer: dict[str, Any]) -> None:
    """Raise WrongCheckout where a name of the project leads out of the tree."""
    for name, origins in answer.get("found", {}).items():
        source = str(answer.get("urls", {}).get(name, ""))
        for origin in map(Path, origins):
            if origin.is_absolute() and _is_elsewhere(place, origin, source):
                raise WrongCheckout(
                    what=f"{answer.get('python')} imports {name} from {origin}", remedy=REMEDY
                )


def _is_elsewhere(place: Checkout, origin: Path, source: str) -> bool:
    """Whether the code lies in another checkout, or was copied from a twin of the tree."""
    if not {"site-packages", "dist-packages"} & set(origin.parts):
        return place.other(origin) is not None
    return source.startswith("file://") and place.twin(Path(source.removeprefix("file://"))) is not None
