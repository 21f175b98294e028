"""The limits of sub-agents."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.setting_entry import entry, whole


@dataclass(frozen=True, kw_only=True)
class SubagentSettings:
    """A part of `harness.settings.Settings`."""

    subagent_max_rounds: int = field(
        default=30,
        metadata=entry(
            "subagent.max_rounds",
            whole(1),
            "Model calls of one sub-agent; then its last text is its report, marked as cut.",
            unit="calls",
        ),
    )
    subagent_parallel: int = field(
        default=4,
        metadata=entry("subagent.parallel", whole(1), "Sub-agents of one agent at the same time."),
    )
