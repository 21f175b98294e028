"""The settings of the project's instructions."""

from __future__ import annotations

from dataclasses import dataclass

from harness.settings.entry import setting, whole


@dataclass(frozen=True, kw_only=True)
class InstructionSettings:
    """A part of `Settings`."""

    instructions_characters: int = setting(
        "instructions.characters",
        whole(0),
        "What a prompt holds of `AGENTS.md` and `CLAUDE.md` together; 0 leaves them out.",
        default=24_000,
        unit="characters",
    )
