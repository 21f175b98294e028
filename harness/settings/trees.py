"""Settings of worktrees: where they lie, and what makes a project run in them."""

from __future__ import annotations

from dataclasses import dataclass

from harness.settings.entry import LINES, TEXT, Reach, choice, number_above, setting


@dataclass(frozen=True, kw_only=True)
class TreeSettings:
    """The part of the settings that `workspace` is given."""

    trees_directory: str | None = setting(
        "worktrees.dir",
        TEXT,
        "Directory for worktrees outside the repository; each team gets a directory of its own in it. "
        "Without it they lie in `.worktrees/` of the team root.",
        default=None,
        reach=Reach.PERSON,
    )
    setup: tuple[str, ...] = setting(
        "worktrees.setup",
        LINES,
        "Commands that make the project run in a fresh tree, each in its top directory. When one fails, "
        "the task goes back to the board and no attempt is counted.",
        default=(),
    )
    setup_timeout_seconds: float = setting(
        "worktrees.setup_timeout_seconds",
        number_above(0),
        "Time limit of one of these.",
        default=900.0,
        unit="s",
    )
    wrong_checkout: str = setting(
        "worktrees.wrong_checkout",
        choice("refuse", "ignore"),
        "What happens when the checks of a tree would test the code of another checkout, as after "
        "`pip install -e .` in the main one.",
        default="refuse",
    )
