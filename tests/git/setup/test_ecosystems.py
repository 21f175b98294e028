"""Small real projects of each ecosystem: what `init` proposes makes them run, and proves work."""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from harness.settings.settings import load_settings
from orchestrator.first_settings import first_settings, write_settings
from orchestrator.lead.opening import make_team
from tests.git.setup.test_wrong_checkout import BACKEND, PROJECT
from tests.support.repository import Repository
from workspace.checks import Verifier
from workspace.setup.ecosystems import ecosystems
from workspace.setup.tree_setup import TreeSetup

if TYPE_CHECKING:
    from orchestrator.first_settings import FirstSettings

UNITTEST = """\
import unittest
from counting import two
class Two(unittest.TestCase):
    def test_two(self):
        self.assertEqual(two(), 2)
"""
PYTHON = {
    "pyproject.toml": PROJECT,
    "backend.py": BACKEND,
    "src/counting/__init__.py": "def two():\n    return 2\n",
    "tests/test_two.py": UNITTEST,
}
NODE_TEST = "const {two} = require('./two'); if (two() !== 2) process.exit(1)\n"
NODE = {
    "package.json": '{"name": "counting", "version": "1.0.0", "scripts": {"test": "node test.js"}}\n',
    "two.js": "exports.two = () => 2\n",
    "test.js": NODE_TEST,
}
NPM_LOCK = (
    '{"name": "counting", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {"name": "counting"}}}\n'
)
PNPM_LOCK = "lockfileVersion: '9.0'\nimporters:\n  .: {}\n"
CARGO = {
    "Cargo.toml": '[package]\nname = "counting"\nversion = "1.0.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n[[package]]\nname = "counting"\nversion = "1.0.0"\n',
    "src/lib.rs": "pub fn two() -> i32 {\n    2\n}\n#[test]\nfn is_two() {\n    assert_eq!(two(), 2);\n}\n",
}
GO = {
    "go.mod": "module example.org/counting\n\ngo 1.15\n",
    "two.go": "package counting\n\nfunc Two() int { return 2 }\n",
    "two_test.go": (
        'package counting\n\nimport "testing"\n\n'
        "func TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal(Two())\n\t}\n}\n"
    ),
}
MAKE = {
    "Makefile": "setup:\n\techo 2 > expected\ntest:\n\tcmp two.txt expected\nINSTALL := x\n",
    "two.txt": "2\n",
    ".gitignore": "expected\n",
}
# name: files, the one that holds the answer, the programs it takes, the ecosystem
PROJECTS = {
    "pip": (PYTHON, "src/counting/__init__.py", ("python3",), "pip"),
    "uv": ({**PYTHON, "pyproject.toml": f"{PROJECT}[tool.uv]\n"}, "src/counting/__init__.py", ("uv",), "uv"),
    "npm": ({**NODE, "package-lock.json": NPM_LOCK}, "two.js", ("npm", "node"), "npm"),
    "npm without a lock": (NODE, "two.js", ("npm", "node"), "npm"),
    "pnpm": ({**NODE, "pnpm-lock.yaml": PNPM_LOCK}, "two.js", ("pnpm", "node"), "pnpm"),
    "cargo": (CARGO, "src/lib.rs", ("cargo",), "cargo"),
    "go": (GO, "two.go", ("go",), "go"),
    "make": (MAKE, "two.txt", ("make",), "make"),
}


def proposed(root: Path, files: dict[str, str]) -> FirstSettings:
    Repository(root).write(files)
    return first_settings(root)


@pytest.fixture(autouse=True)
def toolchains(monkeypatch: pytest.MonkeyPatch) -> None:
    """A toolchain manager finds its toolchains in the home of the person, which is sealed here."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    for name, place in (("RUSTUP_HOME", home / ".rustup"), ("CARGO_HOME", home / ".cargo")):
        if name not in os.environ and place.is_dir():
            monkeypatch.setenv(name, str(place))


@pytest.mark.parametrize("name", PROJECTS)
def test_what_is_proposed_makes_the_project_run_and_tells_right_from_wrong(name: str, tmp_path: Path) -> None:
    files, answer, programs, ecosystem = PROJECTS[name]
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed here")
    repository = Repository.create(tmp_path / "project", files)
    team, git = make_team(repository.path, None)
    proposal = first_settings(repository.path)
    assert [one.name for one in proposal.found] == [ecosystem]
    assert write_settings(team.root, proposal)
    passed = ("RUSTUP_HOME", "CARGO_HOME")
    settings = load_settings(team.root, {"env.pass": list(passed)}, personal_file=tmp_path / "none")
    environment = {**os.environ}
    verifier = Verifier(
        git,
        team.root / ".worktrees/.verify-a",
        environment,
        setup=TreeSetup(team, git, settings, refresh=True),
    )
    right = verifier.verify("HEAD", settings.checks, 240)
    assert [check.exit_code for check in right] == [0], right
    broken = repository.commit({answer: files[answer].replace("2", "3", 1)}, parent=repository.head())
    wrong = verifier.verify(broken, settings.checks, 240)
    assert [check.exit_code for check in wrong] != [0], wrong


@pytest.mark.parametrize("name", PROJECTS)
def test_the_proposal_is_settings_that_are_accepted(name: str, tmp_path: Path) -> None:
    (tmp_path / "top").mkdir()
    proposal = proposed(tmp_path / "top", PROJECTS[name][0])
    assert write_settings(tmp_path, proposal)
    settings = load_settings(tmp_path, personal_file=tmp_path / "none")
    assert settings.setup == tuple(proposal.settings["worktrees"]["setup"])
    assert set(settings.every_task_checks) == {"tests"} == set(settings.checks)
    personal = tmp_path / "personal.yaml"
    personal.write_text(yaml.safe_dump({"permissions": {"allow": list(proposal.allow)}}))
    assert load_settings(tmp_path, personal_file=personal).allow == proposal.allow


def test_a_file_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "leadhand.yaml").write_text("checks: {}\n")
    assert not write_settings(tmp_path, proposed(tmp_path, GO))
    assert (tmp_path / "leadhand.yaml").read_text() == "checks: {}\n"
    assert [path.name for path in tmp_path.glob(".leadhand*")] == []


def test_two_ecosystems_have_a_check_each_and_make_is_left_out(tmp_path: Path) -> None:
    proposal = proposed(tmp_path, {**GO, **NODE, **MAKE})
    assert list(proposal.settings["checks"]) == ["npm_tests", "go_tests"]
    assert proposal.settings["check"] == {"every_task": ["npm_tests", "go_tests"]}


def test_an_unknown_project_has_no_proposal(tmp_path: Path) -> None:
    assert proposed(tmp_path, {"main.c": "int main() { return 0; }\n"}).settings == {}


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"requirements.txt": "x\n", "test_a.py": ""}, "-r requirements.txt"),
        (
            {"pyproject.toml": '[project]\nname="a"\n[project.optional-dependencies]\ntest=["pytest"]\n'},
            "'.[test]'",
        ),
        ({"setup.py": "", "conftest.py": ""}, "--quiet pytest"),
    ],
)
def test_what_the_tests_of_a_python_project_need_is_installed(
    tmp_path: Path, files: dict[str, str], command: str
) -> None:
    assert any(command in line for line in proposed(tmp_path, files).settings["worktrees"]["setup"])


def test_tests_that_unittest_would_not_find_are_run_by_pytest_which_is_installed_for_them(
    tmp_path: Path,
) -> None:
    Repository(tmp_path).write({"setup.py": "", "test_b.py": UNITTEST})
    assert [one.test for one in ecosystems(tmp_path)] == [".venv/bin/python -m unittest"]
    Repository(tmp_path).write({"test_a.py": "def test_a():\n    assert True\n", "test/keep": ""})
    (found,) = ecosystems(tmp_path)
    assert found.test == ".venv/bin/python -m pytest"
    assert found.setup[-1] == ".venv/bin/python -m pip install --quiet pytest"
    for path in tmp_path.glob("test_*.py"):
        path.write_text("x = 1\n")
    assert [one.test for one in ecosystems(tmp_path)] == [None]


@pytest.mark.parametrize("name", ["GNUmakefile", "makefile", "Makefile"])
def test_make_is_known_by_each_of_its_files(tmp_path: Path, name: str) -> None:
    Repository(tmp_path).write({name: "test:\n\ttrue\n"})
    assert [(one.found, one.test) for one in ecosystems(tmp_path)] == [(name, "make test")]


def test_yarn_is_known_by_its_lock(tmp_path: Path) -> None:
    Repository(tmp_path).write({"package.json": '{"scripts": {"test": "node t.js"}}', "yarn.lock": ""})
    (found,) = ecosystems(tmp_path)
    assert (found.name, found.test) == ("yarn", "yarn test")
    assert found.setup == ("yarn install --frozen-lockfile --silent",)


def test_npm_init_s_placeholder_is_no_test(tmp_path: Path) -> None:
    text = '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'
    Repository(tmp_path).write({"package.json": text})
    assert [one.test for one in ecosystems(tmp_path)] == [None]


def test_broken_manifests_are_no_error(tmp_path: Path) -> None:
    Repository(tmp_path).write({"pyproject.toml": "[", "package.json": "{"})
    assert ecosystems(tmp_path) == ()
