"""The limits of sub-agents."""

from __future__ import annotations

from dataclasses import dataclass

from harness.settings.entry import setting, whole


@dataclass(frozen=True, kw_only=True)
class SubagentSettings:
    """A part of `harness.settings.settings.Settings`."""

    subagent_max_rounds: int = setting(
        "subagent.max_rounds",
        whole(1),
        "Model calls of one sub-agent; then its last text is its report, marked as cut.",
        default=30,
        unit="calls",
    )
    subagent_parallel: int = setting(
        "subagent.parallel", whole(1), "Sub-agents of one agent at the same time.", default=4
    )
