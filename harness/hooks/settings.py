"""The settings of hooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.settings.entry import HOOKS, setting, whole

if TYPE_CHECKING:
    from harness.hooks.configured import Hook


@dataclass(frozen=True, kw_only=True)
class HookSettings:
    """Which hooks there are, and how far they may go."""

    hooks: tuple[Hook, ...] = setting(
        "hooks", HOOKS, "Commands and callables asked at fixed points; docs/hooks.md.", default=()
    )
    max_vetoes: int = setting(
        "hook.max_vetoes",
        whole(1),
        "How often in a row hooks may keep an agent from ending its turn or going idle.",
        default=8,
    )
