"""Checks that would test another checkout than their tree: reproduced, recognised, refused, solved."""

from __future__ import annotations

import os
import shlex
import subprocess  # noqa: TID251 - a person's pip
import sys
import sysconfig
from typing import TYPE_CHECKING

import pytest

from workspace.checks import Verifier
from workspace.setup.checkout import WrongCheckout

if TYPE_CHECKING:
    from pathlib import Path

    from tests.git.setup.conftest import Ground

PROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "counting"
version = "1"
"""
BACKEND = """\
import pathlib, zipfile

def build_editable(place, config_settings=None, metadata_directory=None):
    return make(place, {"counting.pth": f"{pathlib.Path('src').resolve()}\\n"})

def build_wheel(place, config_settings=None, metadata_directory=None):
    name = "counting/__init__.py"
    return make(place, {name: pathlib.Path("src", name).read_text()})

def make(place, files):
    files["counting-1.dist-info/METADATA"] = "Metadata-Version: 2.1\\nName: counting\\nVersion: 1\\n"
    files["counting-1.dist-info/WHEEL"] = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    files["counting-1.dist-info/RECORD"] = "".join(f"{name},,\\n" for name in files)
    wheel = "counting-1-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(place, wheel), "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel
"""  # what setuptools and others do, without a network
BROKEN, FIXED = "def two():\n    return 1\n", "def two():\n    return 2\n"
TEST = "from counting import two\nassert two() == 2, two()\n"
SITE = sysconfig.get_paths()["purelib"]
INSTALL = f"PYTHONPATH={shlex.quote(SITE)} {{}} -m pip install --quiet --no-index --no-build-isolation {{}} ."


def make_environment(place: Path) -> Path:
    """The Python of a fresh environment."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    return place / "bin/python"


@pytest.fixture
def project(ground: Ground) -> Ground:
    """A broken package in `src/`, with a test that it fails."""
    ground.repository.git("rm", "--quiet", "add.py")
    files = {
        "pyproject.toml": PROJECT,
        "backend.py": BACKEND,
        "src/counting/__init__.py": BROKEN,
        "checks/two.py": TEST,
    }
    ground.repository.write(files | {".gitignore": ".venv/\n*.egg-info/\n__pycache__/\n"})
    ground.repository.git("add", "--all")
    ground.repository.git("commit", "--quiet", "--message", "Count")
    ground.repository.remember()
    return ground


@pytest.fixture
def python(project: Ground, tmp_path: Path) -> Path:
    """A Python into which the person installed the project by `pip install -e .` from the main checkout."""
    found = make_environment(tmp_path / "environment")
    subprocess.run(INSTALL.format(found, "-e"), shell=True, check=True, cwd=project.repository.path)
    project.repository.remember()
    return found


def commit_of(project: Ground, source: str) -> str:
    return project.repository.commit({"src/counting/__init__.py": source}, parent=project.repository.head())


def verify(project: Ground, commit: str, check: str, *commands: str, wrong_checkout: str = "refuse") -> bool:
    """Whether the check passes on the commit, in a tree of its own."""
    setup = project.setup(*commands, wrong_checkout=wrong_checkout, refresh=True)
    tree = project.repository.path / ".worktrees/.verify-a"
    (result,) = Verifier(project.git, tree, dict(os.environ), setup=setup).verify(commit, {"two": check}, 60)
    return result.exit_code == 0


def test_an_editable_install_fails_the_right_fix_and_passes_the_wrong_one(
    project: Ground, python: Path
) -> None:
    check = f"{python} checks/two.py"
    right = commit_of(project, FIXED)
    assert not verify(project, right, check, wrong_checkout="ignore")
    project.repository.write({"src/counting/__init__.py": FIXED})
    project.repository.remember()
    wrong = commit_of(project, "def two():\n    return 3\n")
    assert verify(project, wrong, check, wrong_checkout="ignore")


def test_it_is_recognised_before_the_first_check_and_refused_with_the_remedy(
    project: Ground, python: Path
) -> None:
    (python.parent / "tool").write_text(f"#!{python}\nimport counting\n")
    (python.parent / "tool").chmod(0o755)
    (python.parent / "activate").touch()
    for check in (
        f"touch ran; {python} checks/two.py",
        f"touch ran; cd checks && {python} -m two",
        f"touch ran; {python} -I -c 'import counting'",
        f"touch ran; {python.parent}/tool",
        f"touch ran; PATH={python.parent}:$PATH make",
        f". {python.parent}/activate; touch ran; python checks/two.py",
    ):
        with pytest.raises(WrongCheckout, match=r"imports counting from .*/project/src/counting") as raised:
            verify(project, commit_of(project, FIXED), check)
        assert "worktrees: {setup: [python3 -m venv .venv" in str(raised.value)
    assert not (project.repository.path / ".worktrees/.verify-a/ran").exists()


def test_a_copy_that_was_installed_from_the_main_checkout_is_refused_too(
    project: Ground, tmp_path: Path
) -> None:
    python = make_environment(tmp_path / "environment")
    subprocess.run(INSTALL.format(python, ""), shell=True, check=True, cwd=project.repository.path)
    project.repository.remember()
    with pytest.raises(WrongCheckout, match="site-packages"):
        verify(project, commit_of(project, FIXED), f"{python} checks/two.py")


def test_a_set_up_of_the_tree_s_own_solves_it(project: Ground, python: Path) -> None:
    assert python.exists()
    setup = (
        f"{sys.executable} -m venv --without-pip .venv",
        INSTALL.format(".venv/bin/python", "-e"),
    )
    right, wrong = commit_of(project, FIXED), commit_of(project, "def two():\n    return 3\n")
    assert verify(project, right, ".venv/bin/python checks/two.py", *setup)
    assert not verify(project, wrong, ".venv/bin/python checks/two.py", *setup)


def test_a_check_that_names_the_code_of_its_tree_is_right(project: Ground, python: Path) -> None:
    for check in (
        f"PYTHONPATH=src {python} checks/two.py",
        f"PYTHONPATH=$PWD/src {python} checks/two.py",
        f"export PYTHONPATH=src; {python} checks/two.py",
        f"cd src && {python} -m counting; true",
    ):
        assert verify(project, commit_of(project, FIXED), check)


def test_pytest_told_where_the_code_is_is_right(project: Ground, python: Path) -> None:
    text = f'{PROJECT}[tool.pytest.ini_options]\npythonpath = ["src"]\n'
    told = project.repository.commit({"pyproject.toml": text}, parent=project.repository.head())
    assert verify(project, told, f"{python} -m pytest --version || true")
    with pytest.raises(WrongCheckout):
        verify(project, project.repository.head(), f"{python} -m pytest --version || true")


def test_a_package_at_the_top_is_found_in_the_tree_by_its_python(project: Ground) -> None:
    repository = project.repository
    top = repository.commit({"counting/__init__.py": FIXED}, parent=repository.head())
    assert verify(project, top, f"{sys.executable} -c 'import counting'")


def test_a_check_without_python_needs_no_answer(project: Ground) -> None:
    assert verify(project, project.repository.head(), "true && [ -e pyproject.toml ]")


# Node, Go, Cargo


def commit_files(ground: Ground, **files: str) -> None:
    names = {"package": "package.json", "go": "go.mod", "cargo": "Cargo.toml", "work": "go.work"}
    ground.repository.write({names[name]: text for name, text in files.items()})
    ground.repository.git("add", "--all")
    ground.repository.git("commit", "--quiet", "--message", "Describe")
    ground.repository.remember()


def refusal(ground: Ground, check: str = "true") -> str:
    with pytest.raises(WrongCheckout) as raised:
        ground.ready(ground.setup(), ground.tree(), check=check)
    return str(raised.value)


def leave(ground: Ground, files: dict[str, str]) -> None:
    """Files of the person that git ignores."""
    exclude = ground.repository.path / ".git/info/exclude"
    exclude.write_text(exclude.read_text() + "".join(f"/{name}\n" for name in files))
    ground.repository.write(files)
    ground.repository.remember()


@pytest.mark.parametrize("where", ["node_modules", "node_modules/@team"])
def test_a_package_of_a_workspace_in_the_main_checkout_is_not_the_tree_s(ground: Ground, where: str) -> None:
    commit_files(ground, package='{"workspaces": ["lib"]}')
    leave(ground, {f"{where}/other/index.js": "", "lib/index.js": ""})
    (ground.repository.path / where / "lib").symlink_to(ground.repository.path / "lib")
    ground.repository.remember()
    assert "Node finds lib" in refusal(ground)


def test_a_link_by_npm_in_the_tree_itself_is_found(ground: Ground) -> None:
    commit_files(ground, package="{}")
    tree = ground.tree()
    (tree / "node_modules").mkdir()
    (tree / "node_modules/project").symlink_to(ground.repository.path)
    with pytest.raises(WrongCheckout, match="npm ci"):
        ground.ready(ground.setup(), tree)


def test_links_within_a_tree_are_right(ground: Ground) -> None:
    commit_files(ground, package="{}")
    tree = ground.tree()
    ground.ready(ground.setup("mkdir -p node_modules lib; ln -s ../lib node_modules/lib"), tree)
    assert (tree / "node_modules/lib").is_symlink()


def test_a_go_workspace_above_the_tree_is_refused_unless_it_is_off(ground: Ground) -> None:
    commit_files(ground, go="module example.org/a\n")
    leave(ground, {"go.work": "go 1.22\nuse .\n"})
    assert "GOWORK=off" in refusal(ground, "go test ./...")
    ground.ready(ground.setup(), ground.tree("second"), check="GOWORK=off go test ./...")


def test_a_go_module_replaced_by_the_main_checkout_is_refused(ground: Ground) -> None:
    commit_files(ground, go=f"module a\nreplace example.org/b => {ground.repository.path}/b\n")
    assert "go.mod names" in refusal(ground)


def test_a_go_module_replaced_within_the_repository_is_right(ground: Ground) -> None:
    commit_files(
        ground, go="module a\nreplace example.org/b => ./b\n", work="go 1.22\nuse (\n\t.\n\t./b\n)\n"
    )
    ground.ready(ground.setup(), ground.tree())


def test_a_path_override_of_cargo_above_the_tree_is_refused(ground: Ground) -> None:
    commit_files(ground, cargo='[package]\nname = "a"\n')
    leave(ground, {".cargo/config.toml": 'paths = ["b"]\n', "b/Cargo.toml": ""})
    assert ".cargo/config.toml overrides a crate by b" in refusal(ground)


def test_a_dependency_of_cargo_in_the_main_checkout_is_refused(ground: Ground) -> None:
    text = f'[package]\nname = "a"\n[dependencies]\nb = {{path = "{ground.repository.path}/b"}}\nc = "1"\n'
    commit_files(ground, cargo=text)
    assert "Cargo.toml overrides a crate" in refusal(ground)
