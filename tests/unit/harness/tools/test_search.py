from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from harness.tool import ToolFailure
from harness.tools.paths import readable
from harness.tools.search import Query, SearchLimits, grep_tool, in_python
from tests.support.clock import FakeClock
from tests.support.tools import call, context, pool, run, settle

if TYPE_CHECKING:
    from pathlib import Path

    from harness.tool import ToolContext

GREP = grep_tool(SearchLimits(matches=4, timeout_seconds=20))


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    directory = tmp_path / "tree"
    for name, text in {
        "a.py": "import os\nprint('Needle')\n",
        "src/b.py": "needle = 1\n",
        "src/notes.md": "a needle\n",
        "build/out.py": "needle\n",
        ".gitignore": "build/\n",
        ".github/ci.yml": "needle: yes\n",
        ".git/config": "needle\n",
        ".team/x": "needle\n",
        ".env": "needle\n",
    }.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    (directory / "src/binary").write_bytes(b"\0needle\n")
    (directory / "way").symlink_to(tmp_path)
    return directory


@pytest.fixture(params=["ripgrep", "python"])
def where(request: pytest.FixtureRequest, cwd: Path) -> ToolContext:
    """The same rules hold for both ways to search."""
    if request.param == "python":
        return context(cwd, PATH="/nowhere")
    if shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    return context(cwd)


def test_matches_are_found_where_git_would_look(where: ToolContext) -> None:
    assert sorted(run(GREP, where, pattern="needle").split("\n")) == [
        ".github/ci.yml:1:needle: yes",
        "src/b.py:1:needle = 1",
        "src/notes.md:1:a needle",
    ]


def test_case_can_be_ignored(where: ToolContext) -> None:
    assert "a.py:2:print('Needle')" in run(GREP, where, pattern="NEEDLE", ignore_case=True)


@pytest.mark.parametrize(
    ("narrowed", "found"),
    [
        ({"glob": "*.py"}, "src/b.py:1:needle = 1"),
        ({"glob": "src/*.md"}, "src/notes.md:1:a needle"),
        ({"glob": "*.{md,rst}"}, "src/notes.md:1:a needle"),
        ({"path": "src", "glob": "*.py"}, "src/b.py:1:needle = 1"),
        ({"path": "src/b.py"}, "src/b.py:1:needle = 1"),
        ({"path": "build"}, "build/out.py:1:needle"),
        ({"glob": "*.rs"}, "(no matches)"),
        ({"glob": "**/config"}, "(no matches)"),
    ],
)
def test_a_search_can_be_narrowed(where: ToolContext, narrowed: dict[str, str], found: str) -> None:
    assert run(GREP, where, pattern="needle", **narrowed) == found


def test_a_result_is_bounded(where: ToolContext, cwd: Path) -> None:
    (cwd / "many").write_text("needle\n" * 50)
    lines = run(GREP, where, pattern="needle", path="many").split("\n")
    assert lines[3:] == ["many:4:needle", "... (more than 4 matches; narrow the pattern, path or glob)"]


def test_a_pattern_that_begins_with_a_dash_is_a_pattern(where: ToolContext, cwd: Path) -> None:
    (cwd / "options").write_text("use --force\n")
    assert run(GREP, where, pattern="--force") == "options:1:use --force"


def test_an_own_output_can_be_searched(where: ToolContext) -> None:
    path = where.outputs.write("call_1", "long\nneedle\n")
    assert run(GREP, where, pattern="needle", path=str(path)) == f"{path}:2:needle"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"pattern": "("}, "[semantic/bad_pattern]"),
        ({"pattern": "x", "path": "nothing"}, "[run/no_such_file]"),
        ({"pattern": "x", "path": "../.."}, "[run/outside_working_directory]"),
        ({"pattern": "x", "path": ".git"}, "[run/protected_path]"),
        ({"pattern": "x", "glob": "/etc/*"}, "[run/outside_working_directory]"),
    ],
)
def test_a_refused_search_says_why(cwd: Path, arguments: dict[str, str], says: str) -> None:
    [result] = settle(pool([GREP], cwd), call("grep", **arguments))
    assert result["content"].startswith(says)


def test_a_program_that_the_tree_brought_along_is_not_run(cwd: Path) -> None:
    (cwd / "bin").mkdir()
    (cwd / "bin/rg").write_text("#!/bin/sh\ntouch owned\n")
    (cwd / "bin/rg").chmod(0o755)
    run(GREP, context(cwd, PATH=f"{cwd}/bin{os.pathsep}/bin"), pattern="needle")
    assert not (cwd / "owned").exists()


def test_a_search_in_python_ends_at_its_time_limit(cwd: Path) -> None:
    class Hurrying(FakeClock):
        def monotonic(self) -> float:
            self.advance(1)
            return super().monotonic()

    query = Query(pattern="x", glob=None, ignore_case=False)
    place = readable(context(cwd), ".")
    with pytest.raises(ToolFailure, match="nothing after 2 s"):
        in_python(query, place, cwd, limits=SearchLimits(matches=4, timeout_seconds=2), clock=Hurrying())
