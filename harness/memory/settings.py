"""The settings of the team's memory."""

from __future__ import annotations

from dataclasses import dataclass

from harness.settings.entry import ON_OR_OFF, TEXT, setting, whole


@dataclass(frozen=True, kw_only=True)
class MemorySettings:
    """A part of `Settings`."""

    memory_recall_records: int = setting(
        "memory.recall_records",
        whole(0),
        "Records that are recalled with one request; 0 recalls none.",
        default=5,
    )
    memory_recall_characters: int = setting(
        "memory.recall_characters",
        whole(100),
        "What the records recalled with one request may take together.",
        default=20_000,
        unit="characters",
    )
    memory_extract: bool = setting(
        "memory.extract",
        ON_OR_OFF,
        "Whether a model is asked at the end of a turn what of it is worth remembering.",
        default=True,
    )
    memory_model: str | None = setting(
        "memory.model", TEXT, "The model that is asked; without it that of the agent.", default=None
    )
    memory_least_characters: int = setting(
        "memory.least_characters",
        whole(1),
        "Words of the agent, for the lead also of the person, below which nobody is asked yet.",
        default=200,
        unit="characters",
    )
    memory_shown_characters: int = setting(
        "memory.shown_characters",
        whole(1000),
        "What the model is shown of those words, the newest first.",
        default=8000,
        unit="characters",
    )
    memory_record_characters: int = setting(
        "memory.record_characters", whole(100), "Length of one record; a longer one is refused.", default=2000
    )
    memory_records: int = setting(
        "memory.records", whole(1), "Records of the team; beyond it new ones are refused.", default=200
    )
    memory_characters: int = setting(
        "memory.characters",
        whole(1000),
        "What all records may hold together; beyond it new ones are refused.",
        default=100_000,
        unit="characters",
    )
    memory_consolidate_from: int = setting(
        "memory.consolidate_from",
        whole(2),
        "New records after which the lead's model is asked to merge what belongs together.",
        default=10,
    )
