"""The end of a run on record: its state, and no task left that somebody could still claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordination.records import Run
    from coordination.stores import Stores


def end_run(stores: Stores, run_id: str, state: str) -> Run:
    """The run is done, failed or stopped; what was not finished is cancelled, its work kept."""
    for task in stores.tasks.all(run_id):
        if not task.status.is_final:
            stores.tasks.cancel(task.id, f"the run ended as {state}")
    stores.tasks.refresh_views()
    return stores.runs.update(run_id, state=state)
