"""Trees are released when their work is brought back; what holds more stays, with the reason on record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.errors import TeamError

if TYPE_CHECKING:
    from collections.abc import Callable

    from workspace.clearing.inventory import Tree
    from workspace.clearing.removal import Removal

_NOT_YET = frozenset({"leased", "running"})  # asked again later


class Tidying:
    """What the lead removes on its own: only trees whose work is over and that hold nothing else."""

    def __init__(self, removal: Removal, record: Callable[..., object]) -> None:
        self._removal = removal
        self._record = record
        self._kept: set[str] = set()

    def step(self) -> None:
        """Each tree that is no longer needed is gone, or it is on record why it stays."""
        try:
            self._removal.sweep()
            trees = self._removal.inventory().all()
        except (TeamError, OSError) as error:  # git cannot be asked now: a run does not end over that
            self._record("tidying_failed", error=str(error))
            return
        for tree in trees:
            if not tree.is_runtimes and tree.name not in self._kept and self._removal.is_over(tree):
                self._release(tree)

    def _release(self, tree: Tree) -> None:
        try:
            refusal: TeamError | None = self._removal.refusal(tree)
            if refusal is None:
                self._removal.remove(tree.name)
        except TeamError as error:
            refusal = error
        if refusal is None:
            self._record("tree_removed", tree=tree.name, task=tree.task.id if tree.task else None)
        elif refusal.reason not in _NOT_YET:
            self._kept.add(tree.name)
            self._record("tree_kept", tree=tree.name, why=str(refusal), code=refusal.reason)
