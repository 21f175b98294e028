"""What tools leave behind and no task means to hand in, as patterns of a .gitignore."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from workspace.git import GitError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.git import Git

# What any tool makes anew: a tree that holds nothing else beside its commit holds nothing.
DERIVED = """\
__pycache__/
*.py[co]
.venv/
.pytest_cache/
.mypy_cache/
.ruff_cache/
.hypothesis/
.tox/
.nox/
.coverage
.coverage.*
*.egg-info/
node_modules/
.gradle/
.DS_Store
Thumbs.db
.merge_file_*
.leadhand-*.tmp
"""
EXCLUDES = f"""\
{DERIVED}*.swp
*~
.env
"""


@contextmanager
def excluding(git: Git) -> Iterator[dict[str, str]]:
    """Settings of git by which it ignores our patterns too, while the block lasts.

    Git takes one file only, so the person's own patterns come after ours in it.
    """
    with tempfile.TemporaryDirectory() as directory:
        excludes = Path(directory, "excludes")
        excludes.write_text(EXCLUDES + _persons(git), encoding="utf-8")
        yield {"core.excludesFile": str(excludes)}


def _persons(git: Git) -> str:
    try:
        file = git.run("config", "--type=path", "--get", "core.excludesFile")
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except (GitError, OSError):
        return ""
