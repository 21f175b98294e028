"""Only the newest lead of a run moves its branch: each move verifies in one transaction whose term it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination.protocols import TermOver
from workspace.git import GitError, Guard

if TYPE_CHECKING:
    from workspace.git import Git

ATTEMPTS = 5


@dataclass(frozen=True, kw_only=True)
class RunFence:
    """A ref that names the term; a lead that wakes after its successor took it finds another value there."""

    git: Git
    run: str
    term: int

    def take(self) -> Guard:
        """No move guarded for an earlier lead succeeds from here on. Raises TermOver, GitError."""
        ref = f"refs/leadhand/term/{self.run}"
        mark = self.git.run("hash-object", "-w", "--stdin", given=f"{self.term}\n".encode())
        for attempt in range(1, ATTEMPTS + 1):
            present = self.git.run("for-each-ref", "--format=%(objectname)", ref)
            if present and (term := int(self.git.run("cat-file", "blob", present))) > self.term:
                raise TermOver(term=self.term, present=term)
            try:
                self.git.run("update-ref", ref, mark, present or "0" * len(mark))
            except GitError:  # another lead was faster
                if attempt == ATTEMPTS:
                    raise
            else:
                break
        return Guard(ref=ref, value=mark)
