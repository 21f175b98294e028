"""Settings of worktrees: where they lie, and what makes a project run in them."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.setting_entry import LINES, TEXT, Reach, choice, entry, number_above


@dataclass(frozen=True, kw_only=True)
class TreeSettings:
    """The part of the settings that `workspace` is given."""

    trees_directory: str | None = field(
        default=None,
        metadata=entry(
            "worktrees.dir",
            TEXT,
            "Directory for worktrees outside the repository; each team gets a directory of its own in it. "
            "Without it they lie in `.worktrees/` of the team root.",
            reach=Reach.PERSON,
        ),
    )
    setup: tuple[str, ...] = field(
        default=(),
        metadata=entry(
            "worktrees.setup",
            LINES,
            "Commands that make the project run in a fresh tree, each in its top directory. When one fails, "
            "the task goes back to the board and no attempt is counted.",
        ),
    )
    setup_timeout_seconds: float = field(
        default=900.0,
        metadata=entry(
            "worktrees.setup_timeout_seconds", number_above(0), "Time limit of one of these.", unit="s"
        ),
    )
    wrong_checkout: str = field(
        default="refuse",
        metadata=entry(
            "worktrees.wrong_checkout",
            choice("refuse", "ignore"),
            "What happens when the checks of a tree would test the code of another checkout, as after "
            "`pip install -e .` in the main one.",
        ),
    )
