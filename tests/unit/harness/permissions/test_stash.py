"""One stash is shared by all worktrees, so no agent touches it."""

from __future__ import annotations

import pytest

from harness.permissions.shell.harm import destructive


@pytest.mark.parametrize(
    "command",
    [
        "git stash",
        "git stash push -m x",
        "git -C sub stash pop",
        "git -c a=b --no-pager stash drop",
        "true && /usr/bin/git stash clear",
        "env A=1 git stash apply",
        "sh -c 'git stash'",
    ],
)
def test_what_changes_the_stash_is_denied(command: str) -> None:
    assert "all worktrees share" in (destructive(command) or "")


@pytest.mark.parametrize(
    "command", ["git stash list", "git stash show -p", "git log stash", "git commit -m 'git stash'", "git"]
)
def test_what_only_looks_is_not(command: str) -> None:
    assert destructive(command) is None
