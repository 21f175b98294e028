"""The settings of the project's instructions."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.setting_entry import entry, whole


@dataclass(frozen=True, kw_only=True)
class InstructionSettings:
    """A part of `Settings`."""

    instructions_characters: int = field(
        default=24_000,
        metadata=entry(
            "instructions.characters",
            whole(0),
            "What a prompt holds of `AGENTS.md` and `CLAUDE.md` together; 0 leaves them out.",
            unit="characters",
        ),
    )
