"""Which checkout a path belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination.errors import TeamError
from workspace.git_directory import NotARepository, locate

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(eq=False)
class WrongCheckout(TeamError):
    """The checks of a tree would test the code of another checkout, so what they say proves nothing."""

    what: str
    remedy: str
    says = "the checks would not test this tree: {what}; {remedy}"


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """The tree that is to be tested."""

    tree: Path
    common: Path  # git directory of its repository

    def other(self, path: Path) -> Path | None:
        """The top of another checkout of any repository that holds the path; None for this tree or none."""
        real = path.resolve()
        if real.is_relative_to(self.tree):
            return None
        return next((place for place in (real, *real.parents) if (place / ".git").exists()), None)

    def twin(self, path: Path) -> Path | None:
        """The same, if it is a checkout of the same repository."""
        top = self.other(path)
        try:
            return top if top and locate(top).common == self.common else None
        except NotARepository:
            return None
