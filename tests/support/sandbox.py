"""Whether this machine has a sandbox, and commands in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coordination.child import tool_environment
from harness.permissions.protected import is_secret
from harness.settings.settings import Settings
from workspace.commands import CommandRunner
from workspace.sandbox.program import SandboxMissing, find_bubblewrap
from workspace.sandbox.sandbox import Sandbox, Sight

if TYPE_CHECKING:
    from coordination.child import Confine
    from coordination.team_root import Team
    from workspace.commands import Ran
    from workspace.git import Git


def _why_not() -> str:
    try:
        find_bubblewrap(Path("/nowhere"))
    except SandboxMissing as missing:
        return missing.why
    return ""


WHY_NOT = _why_not()
needs_sandbox = pytest.mark.skipif(bool(WHY_NOT), reason=f"no sandbox here: {WHY_NOT}")


def a_sandbox(team: Team, git: Git, *, shown: tuple[str, ...] = (), network: str = "all") -> Sandbox:
    """The sandbox of a team whose trees lie where they usually do."""
    configured = Settings(sandbox="bwrap", sandbox_network=network)
    trees = team.root / ".worktrees"
    return Sandbox(team, git, trees, configured, Sight(shown=shown, is_secret=is_secret))


def run(confine: Confine, tree: Path, command: str) -> Ran:
    """The command as an agent's, run to its end in the tree."""
    runner = CommandRunner(confine=confine)
    environment = tool_environment()
    return runner.run(command, cwd=tree, environment=environment, timeout_seconds=60, kept=100_000)
