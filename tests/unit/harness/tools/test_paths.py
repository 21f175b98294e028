from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from coordination.files import StateDirectory
from harness.results import ResultFiles
from harness.tools.paths import (
    OutsideWorkingDirectory,
    ProtectedPath,
    as_inside,
    is_hidden,
    readable,
    writable,
)
from tests.support.tools import context

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    directory = tmp_path / "repo" / ".worktrees" / "alice"
    directory.mkdir(parents=True)
    return directory


@pytest.mark.parametrize("path", ["a.py", "src/new/a.py", "./a.py", "src/../a.py", ".github/ci.yml"])
def test_a_path_inside_is_free(cwd: Path, path: str) -> None:
    assert writable(context(cwd), path).path.is_relative_to(cwd)


def test_an_absolute_path_inside_is_named_relative(cwd: Path) -> None:
    assert readable(context(cwd), str(cwd / "src" / "a.py")).shown == "src/a.py"


@pytest.mark.parametrize("path", ["../bob/a.py", "src/../../x", "/etc/passwd", "..", "\0"])
def test_a_path_outside_is_refused(cwd: Path, path: str) -> None:
    for resolve in (readable, writable):
        with pytest.raises(OutsideWorkingDirectory):
            resolve(context(cwd), path)


def test_the_main_checkout_is_outside_a_worktree_within_it(cwd: Path) -> None:
    with pytest.raises(OutsideWorkingDirectory, match="relative"):
        writable(context(cwd), str(cwd.parents[1] / "src" / "a.py"))


def test_a_link_that_leads_out_is_outside(cwd: Path, tmp_path: Path) -> None:
    (cwd / "way").symlink_to(tmp_path)
    (cwd / "loop").symlink_to("loop")
    for path in ("way/x", "loop"):
        with pytest.raises(OutsideWorkingDirectory):
            writable(context(cwd), path)


@pytest.mark.parametrize("path", ["d/secret.txt", "d/e/secret.txt", "new/secret.txt"])
def test_a_link_that_comes_after_the_path_was_judged_leads_nowhere(
    cwd: Path, tmp_path: Path, path: str
) -> None:
    (cwd / "d/e").mkdir(parents=True)
    (cwd / "d/secret.txt").write_text("mine")
    (cwd / "d/e/secret.txt").write_text("mine")
    outside = tmp_path / "outside"
    (outside / "e").mkdir(parents=True)
    places = [readable(context(cwd), path), writable(context(cwd), path)]
    (cwd / "d").rename(cwd / "gone")
    for name in ("d", "new"):
        (cwd / name).symlink_to(outside)
    for place in places:
        with pytest.raises(OSError, match=r"symbolic|directory"), place.parent(make=True):
            pass
        with pytest.raises(OSError, match=r"symbolic|directory"), place.opened():
            pass
    assert [path.name for path in outside.rglob("*")] == ["e"]


def test_a_file_that_became_a_link_after_it_was_judged_is_not_read(cwd: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x")
    (cwd / "a.txt").write_text("mine")
    place = readable(context(cwd), "a.txt")
    (cwd / "a.txt").unlink()
    (cwd / "a.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(OSError, match="symbolic"), place.opened():
        pass


@pytest.mark.parametrize(
    "path",
    [".git", ".git/config", "sub/.git/hooks/x", ".GIT/config", ".team/a", ".tasks/1", "mailboxes/lead.d"],
)
def test_what_belongs_to_git_and_the_team_is_closed(cwd: Path, path: str) -> None:
    for resolve in (readable, writable):
        with pytest.raises(ProtectedPath, match="protected"):
            resolve(context(cwd), path)


def test_a_link_to_a_protected_path_is_closed(cwd: Path) -> None:
    (cwd / "innocent").symlink_to(".git")
    with pytest.raises(ProtectedPath):
        writable(context(cwd), "innocent/config")


@pytest.mark.parametrize("path", ["leadhand.yaml", ".mcp.json", "Leadhand.YAML"])
def test_policy_is_read_and_never_written(cwd: Path, path: str) -> None:
    assert readable(context(cwd), path)
    with pytest.raises(ProtectedPath):
        writable(context(cwd), path)


def test_team_names_are_free_below_the_top(cwd: Path) -> None:
    assert writable(context(cwd), "src/mailboxes/a.py")


def test_the_outputs_of_own_calls_can_be_read_and_not_written(cwd: Path) -> None:
    where = context(cwd)
    path = str(where.outputs.directory / "call_1.txt")
    assert readable(where, path).shown == path
    with pytest.raises(OutsideWorkingDirectory):
        writable(where, path)


def test_so_can_those_of_earlier_processes_of_the_name_and_of_nobody_else(cwd: Path, tmp_path: Path) -> None:
    where = replace(context(cwd), outputs=ResultFiles(StateDirectory(tmp_path), "outputs/alice~8"))
    for readable_one in ("alice~7/call_1.txt", "alice~8/sub-1/call_1.txt"):
        assert readable(where, f"{tmp_path}/outputs/{readable_one}")
    for closed in ("bob~7/a.txt", "alice2~1/a.txt", "alice~7", "alice~7/../bob~7/a.txt", ""):
        with pytest.raises(OutsideWorkingDirectory):
            readable(where, f"{tmp_path}/outputs/{closed}")


@pytest.mark.parametrize("pattern", ["/etc/*", "../*.py", "src/../../*", "~/x"])
def test_a_pattern_outside_is_refused(cwd: Path, pattern: str) -> None:
    with pytest.raises(OutsideWorkingDirectory):
        as_inside(cwd, pattern)


def test_a_pattern_inside_loses_its_directory(cwd: Path) -> None:
    assert as_inside(cwd, f"{cwd}/src/*.py") == "src/*.py"
    assert as_inside(cwd, "./*.py") == "*.py"


def test_hidden_from_searches_is_what_is_protected() -> None:
    assert is_hidden(".git/config")
    assert is_hidden(".env")
    assert is_hidden("deploy/server.pem")
    assert not is_hidden(".env.example")
    assert not is_hidden(".github/x")
    assert not is_hidden("leadhand.yaml")
