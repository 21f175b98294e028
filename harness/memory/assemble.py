"""The memory of one agent, put together from the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.memory.keeper import MemoryKeeper, MemoryLimits
from harness.memory.store import MemoryStore

if TYPE_CHECKING:
    from coordination.clock import Clock
    from coordination.files import StateDirectory
    from harness.context.compactor import Events
    from harness.memory.keeper import Rememberer
    from harness.models.model import Model
    from harness.settings.settings import Settings


def make_memory(
    who: Rememberer,
    settings: Settings,
    model: Model,
    *,
    directory: StateDirectory,
    clock: Clock,
    events: Events,
) -> MemoryKeeper:
    """What is recalled and kept for the conversations of one agent."""
    limits = MemoryLimits(
        recall_records=settings.memory_recall_records,
        recall_characters=settings.memory_recall_characters,
        extract=settings.memory_extract,
        least_characters=settings.memory_least_characters,
        shown_characters=settings.memory_shown_characters,
        record_characters=settings.memory_record_characters,
        records=settings.memory_records,
        characters=settings.memory_characters,
        consolidate_from=settings.memory_consolidate_from,
    )
    store = MemoryStore(directory)
    return MemoryKeeper(store, model, who, limits=limits, events=events, clock=clock)
