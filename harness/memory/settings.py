"""The settings of the team's memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.setting_entry import ON_OR_OFF, TEXT, entry, whole


@dataclass(frozen=True, kw_only=True)
class MemorySettings:
    """A part of `Settings`."""

    memory_recall_records: int = field(
        default=5,
        metadata=entry(
            "memory.recall_records", whole(0), "Records that are recalled with one request; 0 recalls none."
        ),
    )
    memory_recall_characters: int = field(
        default=20_000,
        metadata=entry(
            "memory.recall_characters",
            whole(100),
            "What the records recalled with one request may take together.",
            unit="characters",
        ),
    )
    memory_extract: bool = field(
        default=True,
        metadata=entry(
            "memory.extract",
            ON_OR_OFF,
            "Whether a model is asked at the end of a turn what of it is worth remembering.",
        ),
    )
    memory_model: str | None = field(
        default=None,
        metadata=entry("memory.model", TEXT, "The model that is asked; without it that of the agent."),
    )
    memory_least_characters: int = field(
        default=200,
        metadata=entry(
            "memory.least_characters",
            whole(1),
            "Words of the agent, for the lead also of the person, below which nobody is asked yet.",
            unit="characters",
        ),
    )
    memory_shown_characters: int = field(
        default=8000,
        metadata=entry(
            "memory.shown_characters",
            whole(1000),
            "What the model is shown of those words, the newest first.",
            unit="characters",
        ),
    )
    memory_record_characters: int = field(
        default=2000,
        metadata=entry(
            "memory.record_characters", whole(100), "Length of one record; a longer one is refused."
        ),
    )
    memory_records: int = field(
        default=200,
        metadata=entry("memory.records", whole(1), "Records of the team; beyond it new ones are refused."),
    )
    memory_characters: int = field(
        default=100_000,
        metadata=entry(
            "memory.characters",
            whole(1000),
            "What all records may hold together; beyond it new ones are refused.",
            unit="characters",
        ),
    )
    memory_consolidate_from: int = field(
        default=10,
        metadata=entry(
            "memory.consolidate_from",
            whole(2),
            "New records after which the lead's model is asked to merge what belongs together.",
        ),
    )
